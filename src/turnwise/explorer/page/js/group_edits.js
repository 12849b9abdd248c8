/* Renaming, merging and splitting groups, where a server keeps it. */
"use strict";

turnwise.groupEdits = (() => {
  const {element, button, announce, shortened} = turnwise.dom;

  /** Runs an edit, says how it went, and shows the changed report. */
  async function run(holder, action, level, ids, name) {
    holder.disabled = true;
    const status = holder.querySelector(".status");
    status.textContent = "Working …";
    try {
      const groups = await turnwise.live.edit(action, level, ids, name);
      turnwise.texts.forget();
      if (action === "split") turnwise.route.go("groups", [], {level, parts: groups.join(",")});
      else await turnwise.app.render(true);
      announce("The groups have been changed");
    } catch (error) {
      status.textContent = error.message;
      holder.disabled = false;
    }
  }

  /** Of one group: its name, and splitting it. */
  function editing(level, group) {
    const name = element("input", {type: "text", value: group.name, maxlength: "200", "aria-label": "Name"});
    const holder = element(
      "fieldset",
      {class: "tools", id: "edit"},
      element("legend", null, "Change this group"),
      name,
      button("Rename", () => name.value.trim() && run(holder, "rename", level, [group.id], name.value.trim())),
      button("Split", () => run(holder, "split", level, [group.id])),
      element("span", {class: "status", role: "status"}),
    );
    return holder;
  }

  /** Of two groups: making one of them. */
  function merging(level, groups) {
    const options = () => groups.map((group) => element("option", {value: group.id}, shortened(group.name, 60)));
    const one = element("select", {"aria-label": "The one"}, options());
    const other = element("select", {"aria-label": "The other"}, options());
    if (groups.length > 1) other.selectedIndex = 1;
    const holder = element(
      "fieldset",
      {class: "tools", id: "merge"},
      element("legend", null, "Merge two groups"),
      one,
      other,
      button(
        "Merge",
        () =>
          one.value !== other.value &&
          run(
            holder,
            "merge",
            level,
            [Number(one.value), Number(other.value)],
            turnwise.report.groups[level].name(Number(one.value)),
          ),
      ),
      element("span", {class: "status", role: "status"}),
    );
    return holder;
  }

  return {editing, merging};
})();
