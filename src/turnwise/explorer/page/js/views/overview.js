/* The first view: how much there is, what it is about, what is new. */
"use strict";

turnwise.views.overview = (() => {
  const {add, element} = turnwise.dom;
  const {integer, percent, percentWithin, day} = turnwise.numbers;
  const {panel, note, sizes, group, table, NOUNS} = turnwise.parts;
  const LARGEST = 12;

  function render(main, route, selection) {
    const {groups} = turnwise.report;
    add(
      main,
      element("h1", null, "Overview"),
      note(
        "What people talk about, found without labels: messages that mean much the same form a group, whole ",
        "conversations a topic. Every name leads to its examples.",
      ),
      tiles(selection),
      element(
        "div",
        {class: "columns"},
        ["message", "conversation"].map((level) => groups[level].list.length > 0 && largest(level, selection)),
        fresh(),
        changes(selection),
      ),
    );
    return {};
  }

  function tiles(selection) {
    const {summary, counts, groups} = turnwise.report;
    const {first, last} = summary.times;
    const tile = (value, label, more) =>
      element(
        "div",
        {class: "tile"},
        element("strong", null, value),
        element("span", null, label),
        more && element("small", null, more),
      );
    const of = (level) => selection.filtered && `of ${integer(counts[level])}`;
    return element(
      "div",
      {class: "tiles"},
      tile(integer(selection.count.conversation), "conversations", of("conversation")),
      tile(integer(selection.count.message), "messages", of("message")),
      tile(
        integer(summary.counts.speakers),
        summary.counts.speakers === 1 ? "speaker" : "speakers",
        summary.roles.length <= 4 && turnwise.dom.shortened(summary.roles.join(", "), 60),
      ),
      tile(integer(groups.message.coarse.length), "groups of messages", within("message")),
      tile(integer(groups.conversation.coarse.length), "topics", within("conversation")),
      first !== null && tile(day(first), "first day", `last: ${day(last)}`),
    );
  }

  function within(level) {
    const {list, coarse} = turnwise.report.groups[level];
    return list.length > coarse.length && `with ${integer(list.length - coarse.length)} finer ones`;
  }

  function largest(level, selection) {
    const {groups, summary} = turnwise.report;
    const counts = turnwise.parts.counts(level, selection),
      total = selection.count[level];
    const list = [...groups[level].coarse].sort((a, b) => (counts.get(b.id) || 0) - (counts.get(a.id) || 0));
    const left = total ? (counts.get(-1) || 0) / total : 0;
    return panel(
      level === "message" ? "What messages say" : "What conversations are about",
      sizes(level, list.slice(0, LARGEST), counts, total),
      list.length > LARGEST &&
        element(
          "p",
          null,
          element(
            "a",
            {href: turnwise.route.link("groups", [], {level})},
            `All ${integer(list.length)} ${NOUNS[level][1]}`,
          ),
        ),
      note(
        `${percent(left)} of the ${level}s ${selection.filtered ? "shown " : ""}are in no group: nothing is forced into one`,
        selection.filtered ? ` (of all: ${percent(summary.outliers[level])}).` : ".",
      ),
    );
  }

  /** Groups that were not there when the data were last looked at. */
  function fresh() {
    const {groups} = turnwise.report;
    const rows = ["message", "conversation"].flatMap((level) =>
      groups[level].list
        .filter((each) => each.new)
        .map((each) => [group(level, each.id), level === "message" ? "group" : "topic", integer(each.size)]),
    );
    if (rows.length === 0) return null;
    return panel("New since last time", table("New groups", ["name", "kind", "size"], rows));
  }

  /** What grew and declined most surely between the earlier and the later half of the time. */
  function changes(selection) {
    const {messages, groups} = turnwise.report;
    const rows = groups.message.coarse
      .map((each) => {
        const ids = turnwise.filters.groupIds(groups.message, [each.id]);
        return {
          id: each.id,
          change: turnwise.timeline.series("message", selection, (m) => ids.has(messages.group[m]))?.change,
        };
      })
      .filter(({change}) => change && turnwise.differences.distance(change.interval) > 0);
    if (rows.length === 0) return null;
    rows.sort(
      (a, b) => turnwise.differences.distance(b.change.interval) - turnwise.differences.distance(a.change.interval),
    );
    return panel(
      "Growing and declining",
      table(
        "Groups whose share changed",
        ["group", "earlier half", "later half", "difference (95 %)"],
        rows
          .slice(0, 8)
          .map(({id, change}) => [
            group("message", id),
            percent(change.before),
            percent(change.after),
            percentWithin(change.difference, change.interval),
          ]),
      ),
      note("Shares of messages in the two halves of the time; only groups whose interval excludes no change."),
    );
  }

  return {render};
})();
