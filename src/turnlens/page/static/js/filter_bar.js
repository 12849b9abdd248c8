/* The filters: what is shown, as chips that can be taken away, and a panel to add more. */
"use strict";

turnlens.filterBar = (() => {
  const {element, button, choice, fill, shortened, whenComplete, whilePressed, announce} = turnlens.dom;
  const {integer, plural, tally} = turnlens.numbers;
  let isOpen = false,
    redraw = () => {};

  function show(holder, selection) {
    const {filter} = turnlens.route.current();
    const {counts} = turnlens.report;
    const total = (level) => `${integer(selection.count[level])} of ${integer(counts[level])} ${level}s`;
    const focused = holder.contains(document.activeElement) && document.activeElement.id;
    fill(
      holder,
      element(
        "div",
        {class: "filter-line"},
        button(isOpen ? "Close filters" : "Filter", () => setOpen(!isOpen), {
          id: "filter-toggle",
          "aria-expanded": String(isOpen),
          "aria-controls": "filter-panel",
        }),
        chips(filter),
        element(
          "span",
          {id: "passing", class: "muted"},
          selection.filtered ? `${total("message")}, ${total("conversation")}` : "everything is shown",
        ),
        exporting(selection),
      ),
      element("div", {id: "filter-panel", hidden: !isOpen}, isOpen && panel(filter)),
    );
    if (focused) (document.getElementById(focused) || document.getElementById("filter-toggle")).focus();
    redraw = () => show(holder, selection);
  }

  function setOpen(wanted) {
    isOpen = wanted;
    redraw();
    document.querySelector(isOpen ? "#filter-panel input" : "#filter-toggle").focus();
  }

  /** Closes what is open: the panel of filters or the menu to save. */
  function close() {
    const menu = document.querySelector("#filters details[open]");
    if (menu) {
      menu.open = false;
      menu.querySelector("summary").focus();
    } else if (isOpen) setOpen(false);
  }

  function chips(filter) {
    const found = Object.entries(filter).flatMap(([name, values]) => values.map((value) => chip(filter, name, value)));
    if (found.length > 1) found.push(button("Clear all", clear, {class: "quiet", id: "clear-filters"}));
    return found;
  }

  function chip(filter, name, value) {
    const text = shortened(describe(name, value), 60);
    return element(
      "span",
      {class: "chip"},
      element("bdi", null, text),
      button("×", () => turnlens.route.setFilter({[name]: filter[name].filter((each) => each !== value)}), {
        id: `remove-${name}-${value}`,
        "aria-label": `Remove the filter ${text}`,
      }),
    );
  }

  function describe(name, value) {
    const groups = turnlens.report.groups;
    const named = (level) => (value === "none" ? "none" : groups[level].name(Number(value)));
    if (name === "text") return `text: ${value}`;
    if (name === "group") return `group: ${named("message")}`;
    if (name === "topic") return `topic: ${named("conversation")}`;
    if (name === "lasso") return `drawn on the map of ${value.split(":")[0]}s`;
    return `${name.replace(/^[mc]\./, "")}: ${value}`;
  }

  function clear() {
    const {filter} = turnlens.route.current();
    turnlens.route.setFilter(Object.fromEntries(Object.keys(filter).map((name) => [name, []])));
  }

  function panel(filter) {
    const {summary, groups} = turnlens.report;
    const groupValues = (level) => [
      ...groups[level].coarse.flatMap((group) => [
        {id: group.id, value: String(group.id), name: group.name},
        ...groups[level]
          .children(group.id)
          .map((each) => ({id: each.id, value: String(each.id), name: `– ${each.name}`})),
      ]),
      {id: -1, value: "none", name: "in no group"},
    ];
    const named = (names) => names.map((name, id) => ({id, value: name, name}));
    const labels = (level, prefix) =>
      Object.entries(summary.labels[level]).map(([name, values]) =>
        adding(filter, prefix + name, `${name} (${level})`, named(values), (selection) =>
          tally(turnlens.report[`${level}s`][`label:${name}`], selection[level]),
        ),
      );
    const ofGroups = (name, label, level) =>
      adding(filter, name, label, groupValues(level), (selection) => turnlens.parts.counts(level, selection));
    return [
      words(filter),
      adding(filter, "role", "Role", named(summary.roles), (selection) =>
        tally(turnlens.report.messages.role, selection.message),
      ),
      ofGroups("group", "Group of messages", "message"),
      ofGroups("topic", "Topic of conversations", "conversation"),
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
    ];
  }

  /**
   * A list of values that can be added to the filter, each with how many messages or conversations that would show.
   * @param values `{id, value, name}`: what the column holds, what the address says, what is shown.
   * @param count From a selection to counts by id.
   */
  function adding(filter, name, label, values, count) {
    const chosen = filter[name] || [];
    const counts = count(turnlens.filters.without(filter, name));
    const options = values
      .filter(({id, value}) => counts.get(id) && !chosen.includes(value))
      .map(({id, value, name: text}) => [value, `${shortened(text, 60)} (${integer(counts.get(id))})`]);
    if (options.length === 0) return null;
    const list = choice(label, [["", "add …"], ...options], "", () => {}, {id: `filter-${name}`});
    const select = list.querySelector("select");
    whenComplete(select, () => select.value !== "" && turnlens.route.setFilter({[name]: [...chosen, select.value]}));
    return list;
  }

  /** Instead of a view that nothing would be in: which filter to take away. */
  function showNothing(main, filter) {
    const ways = Object.keys(filter)
      .map((name) => ({name, count: turnlens.filters.without(filter, name).count.message}))
      .filter(({count}) => count > 0);
    turnlens.dom.add(
      main,
      element("h1", null, "Nothing passes these filters"),
      element(
        "div",
        {class: "tools"},
        ways.map(({name, count}) =>
          button(
            `Without ${filter[name].map((value) => shortened(describe(name, value), 60)).join(", ")}: ${plural(count, "message")}`,
            () => turnlens.route.setFilter({[name]: []}),
          ),
        ),
        button("Show everything", clear),
      ),
    );
  }

  function words(filter) {
    const input = element("input", {
      type: "search",
      id: "filter-text",
      value: (filter.text || []).join(" "),
      placeholder: "all of these words",
    });
    const apply = () => turnlens.route.setFilter({text: input.value.trim() ? [input.value.trim()] : []});
    input.addEventListener("change", apply);
    return element("label", {class: "field"}, element("span", null, "Text"), input);
  }

  function day(filter, name, label, {first, last}) {
    const bounds = {min: turnlens.numbers.day(first), max: turnlens.numbers.day(last)};
    const input = element("input", {type: "date", id: `filter-${name}`, value: filter[name]?.[0] || "", ...bounds});
    whenComplete(input, () => {
      const set = turnlens.route.current().filter[name]?.[0] || "";
      if (input.value !== set) turnlens.route.setFilter({[name]: input.value ? [input.value] : []});
    });
    return element("label", {class: "field"}, element("span", null, label), input);
  }

  /** The buttons that save what is shown. */
  function exporting(selection) {
    const {download} = turnlens;
    const saving = (what, kind, file, write) => {
      const save = ({currentTarget}) =>
        whilePressed(currentTarget, async () => {
          download.save(await write(selection), file);
          announce(`Saved ${file}`);
        });
      return button(`${what} as ${kind}`, save, {id: `save-${file.replace(".", "-")}`});
    };
    const messages = plural(selection.count.message, "message"),
      conversations = plural(selection.count.conversation, "conversation");
    const tables = [
      ["Requests and other groups", "groups", download.groupTable],
      [messages, "messages", download.messageTable],
      [conversations, "conversations", download.conversationTable],
    ];
    const leave = ({currentTarget, relatedTarget}) => {
      if (relatedTarget && !currentTarget.contains(relatedTarget)) currentTarget.open = false;
    };
    return element(
      "details",
      {class: "menu", on: {focusout: leave}},
      element("summary", {id: "save"}, "Save"),
      element(
        "div",
        null,
        tables.map(([what, file, write]) => saving(what, "CSV", `${file}.csv`, write)),
        saving("Requests for the next export", "TOML", "requests.toml", turnlens.download.seeds),
        saving(messages, "JSONL", "messages.jsonl", download.messages),
        saving(conversations, "JSONL", "conversations.jsonl", download.conversations),
      ),
    );
  }

  return {show, showNothing, clear, toggle: () => setOpen(!isOpen), close};
})();
