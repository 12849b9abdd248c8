/* Services of a running server: search by meaning, next replies, changes of groups. */
"use strict";

turnlens.live = (() => {
  const {element, button, announce, shortened} = turnlens.dom;
  let live = false;

  /** Finds out whether a server stands behind the page; a report in a folder has none. */
  async function detect() {
    if (!location.protocol.startsWith("http")) return;
    try {
      live = (await get("session")).live === true;
    } catch {
      live = false; // a report on somebody's web server
    }
  }

  async function get(name, query = {}) {
    return answer(await fetch(`api/${name}?${new URLSearchParams(query)}`));
  }

  async function answer(response) {
    const value = await response.json().catch(() => ({}));
    if (!response.ok) throw new Error(value.detail || `the server answered ${response.status}`);
    return value;
  }

  function search(query, mode, limit) {
    return get("search", {q: query, mode, limit});
  }

  function next(conversation, turn) {
    return get("next", {conversation, turn});
  }

  /** Renames, merges or splits groups, then reads the changed report; returns the ids of what there is now. */
  async function edit(action, level, ids, name = null) {
    const headers = {"Content-Type": "application/json"};
    const body = JSON.stringify({action, level, ids, name});
    const groups = await answer(await fetch("api/groups", {method: "POST", headers, body}));
    await turnlens.data.reload();
    return groups;
  }

  /** Runs an edit, says how it went, and shows the changed report. */
  async function run(holder, action, level, ids, name) {
    if (holder.ariaBusy === "true") return;
    holder.ariaBusy = "true"; // not disabled, which would take the focus away
    const status = holder.querySelector(".status");
    status.textContent = "Working …";
    try {
      const groups = await edit(action, level, ids, name);
      turnlens.texts.forget();
      if (action === "split") turnlens.route.go("groups", [], {level, parts: groups.join(",")});
      else await turnlens.app.render(true);
      announce("The groups have been changed");
    } catch (error) {
      status.textContent = error.message;
      holder.ariaBusy = null;
    }
  }

  /** The form that renames a group, splits it, or merges it with another of the same level and role. */
  function editing(level, group) {
    const rename = () => name.value.trim() && run(holder, "rename", level, [group.id], name.value.trim());
    const name = element("input", {
      type: "text",
      id: "edit-name",
      value: group.name,
      maxlength: "200",
      "aria-label": "Name",
      on: {keydown: (event) => event.key === "Enter" && rename()},
    });
    const others = turnlens.report.groups[level].list
      .filter((each) => each.id !== group.id && each.level === group.level && each.role === group.role)
      .sort((a, b) => b.size - a.size);
    const other = element(
      "select",
      {"aria-label": "Another group", id: "merge-with"},
      others.map((each) => element("option", {value: each.id}, shortened(each.name, 60))),
    );
    const holder = element(
      "fieldset",
      {class: "tools", id: "edit"},
      element("legend", null, "Change this group"),
      name,
      button("Rename", rename, {id: "edit-rename"}),
      button("Split", () => run(holder, "split", level, [group.id]), {id: "edit-split"}),
      others.length > 0 && [
        other,
        button("Merge with it", () => run(holder, "merge", level, [group.id, Number(other.value)], group.name), {id: "edit-merge"}),
      ],
      button("Undo", () => run(holder, "undo", level, [group.id]), {id: "edit-undo", title: "Take back the last change of any group"}),
      element("span", {class: "status", role: "status"}),
    );
    return holder;
  }

  return {detect, search, next, edit, editing, isLive: () => live};
})();
