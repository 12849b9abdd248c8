/* The filters: what is shown, as chips that can be taken away, and a panel to add more. */
"use strict";

turnwise.filterBar = (() => {
  const {element, button, choice, fill, shortened} = turnwise.dom;
  const {integer} = turnwise.numbers;
  let open = false;

  function show(holder, selection) {
    const {filter} = turnwise.route.current();
    const {counts} = turnwise.report;
    const total = (level) => `${integer(selection.count[level])} of ${integer(counts[level])} ${level}s`;
    const toggle = button(
      open ? "Close filters" : "Filter",
      () => {
        open = !open;
        show(holder, selection);
        holder.querySelector(open ? "input, select" : "#filter-toggle")?.focus();
      },
      {id: "filter-toggle", "aria-expanded": String(open), "aria-controls": "filter-panel"},
    );
    const state = element(
      "span",
      {id: "passing", class: "muted"},
      selection.filtered ? `${total("message")}, ${total("conversation")}` : "everything is shown",
    );
    fill(
      holder,
      element("div", {class: "filter-line"}, toggle, chips(filter), state, exporting(selection)),
      open && panel(filter),
    );
  }

  function chips(filter) {
    const found = Object.entries(filter).flatMap(([name, values]) => values.map((value) => chip(filter, name, value)));
    if (found.length > 1) found.push(button("Clear all", () => clear(filter), {class: "quiet"}));
    return found;
  }

  function chip(filter, name, value) {
    const text = shortened(describe(name, value), 60);
    return element(
      "span",
      {class: "chip"},
      element("bdi", null, text),
      button("×", () => turnwise.route.setFilter({[name]: filter[name].filter((each) => each !== value)}), {
        "aria-label": `Remove the filter ${text}`,
      }),
    );
  }

  function describe(name, value) {
    const groups = turnwise.report.groups;
    const named = (level) => (value === "none" ? "none" : groups[level].name(Number(value)));
    if (name === "text") return `text: ${value}`;
    if (name === "group") return `group: ${named("message")}`;
    if (name === "topic") return `topic: ${named("conversation")}`;
    if (name === "lasso") return `drawn on the map of ${value.split(":")[0]}s`;
    return `${name.replace(/^[mc]\./, "")}: ${value}`;
  }

  function clear(filter) {
    turnwise.route.setFilter(Object.fromEntries(Object.keys(filter).map((name) => [name, []])));
  }

  function panel(filter) {
    const {summary, groups} = turnwise.report;
    const add = (name, label, options) =>
      choice(label, [["", "add …"], ...options], "", (value) => {
        if (value !== "") turnwise.route.setFilter({[name]: [...new Set([...(filter[name] || []), value])]});
      });
    const named = (level) => [
      ...groups[level].coarse.flatMap((group) => [
        [group.id, shortened(group.name, 60)],
        ...groups[level].children(group.id).map((each) => [each.id, `– ${shortened(each.name, 60)}`]),
      ]),
      ["none", "in no group"],
    ];
    const labels = (level, prefix) =>
      Object.entries(summary.labels[level]).map(([name, values]) =>
        add(
          prefix + name,
          `${name} (${level})`,
          values.map((value) => [value, shortened(String(value), 60)]),
        ),
      );
    return element(
      "div",
      {id: "filter-panel"},
      words(filter),
      add(
        "role",
        "Role",
        summary.roles.map((role) => [role, shortened(role, 60)]),
      ),
      groups.message.list.length > 0 && add("group", "Group of messages", named("message")),
      groups.conversation.list.length > 0 && add("topic", "Topic of conversations", named("conversation")),
      labels("message", "m."),
      labels("conversation", "c."),
      summary.times.first !== null && [
        day(filter, "from", "From", summary.times),
        day(filter, "to", "To", summary.times),
      ],
      element(
        "p",
        {class: "note wide"},
        "Filters apply to every view and stand in the address, so that a copied link ",
        "shows the same. Several values of one kind widen the filter, different kinds narrow it.",
      ),
    );
  }

  function words(filter) {
    const input = element("input", {
      type: "search",
      value: (filter.text || []).join(" "),
      placeholder: "all of these words",
    });
    const apply = () => turnwise.route.setFilter({text: input.value.trim() ? [input.value.trim()] : []});
    input.addEventListener("change", apply);
    return element("label", {class: "field"}, element("span", null, "Text"), input);
  }

  function day(filter, name, label, {first, last}) {
    const bounds = {min: turnwise.numbers.day(first), max: turnwise.numbers.day(last)};
    const input = element("input", {type: "date", value: filter[name]?.[0] || "", ...bounds});
    input.addEventListener("change", () => turnwise.route.setFilter({[name]: input.value ? [input.value] : []}));
    return element("label", {class: "field"}, element("span", null, label), input);
  }

  /** The buttons that save what is shown. */
  function exporting(selection) {
    const save = (level) => async (event) => {
      event.target.disabled = true;
      try {
        turnwise.download.save(await turnwise.download[`${level}s`](selection), `${level}s.jsonl`);
      } finally {
        event.target.disabled = false;
      }
    };
    return element(
      "details",
      {class: "menu"},
      element("summary", null, "Save as JSONL"),
      element(
        "div",
        null,
        button(`${integer(selection.count.message)} messages`, save("message"), {id: "save-messages"}),
        button(`${integer(selection.count.conversation)} conversations`, save("conversation"), {
          id: "save-conversations",
        }),
      ),
    );
  }

  function toggle() {
    document.getElementById("filter-toggle")?.click();
  }

  return {show, toggle};
})();
