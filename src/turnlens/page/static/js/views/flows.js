/* Flows from group to group: followers of a group, starts, ends, typical paths. */
"use strict";

turnlens.views.flows = (() => {
  const {add, element, choice} = turnlens.dom;
  const {panel, note, group, table} = turnlens.parts;
  const {integer, percent, percentWithin} = turnlens.numbers;
  const MOST_ENDS = 8,
    MOST_PATHS = 10,
    MOST_ROWS = 30,
    MOST_DIFFERENCES = 15;

  function render(main, route, selection) {
    const {START, END} = turnlens.flows;
    const {groups} = turnlens.report;
    const level = route.options.level === "coarse" ? "coarse" : "fine";
    const codes = turnlens.flows.codes(level === "coarse");
    const rows = turnlens.flows.rows(turnlens.flows.transitions(codes, selection));
    const starts = rows.filter((row) => row.before === START),
      ends = rows.filter((row) => row.after === END);
    const present = presentGroups(codes, selection);
    const asked = Number(route.options.after);
    const after = present.some(({id}) => id === asked) ? asked : commonest(present, level);
    add(
      main,
      element("h1", null, "Flows"),
      note(
        "How messages follow each other in the ",
        turnlens.numbers.plural(selection.count.conversation, "conversation"),
        " shown",
        selection.count.message < turnlens.report.counts.message
          ? "; only messages that pass the filter count, and those between them are passed over."
          : ".",
      ),
      element(
        "div",
        {class: "tools"},
        present.length > 0 &&
          choice(
            "What follows",
            present.map(({id, count}) => [
              id,
              `${turnlens.dom.shortened(groups.message.name(id), 60)} (${integer(count)})`,
            ]),
            after,
            (value) => turnlens.route.setOptions({after: value}),
            {id: "after"},
          ),
        groups.message.list.length > groups.message.coarse.length &&
          choice("Groups", ["fine", "coarse"].map((each) => [each, each]), level, (value) => turnlens.route.setOptions({level: value, after: ""})),
      ),
      after === undefined
        ? note("No messages in groups pass the filter.")
        : whatFollows(codes, selection, after, level),
      element(
        "div",
        {class: "columns"},
        panel(
          "Conversations start with",
          endList(starts, (row) => row.after),
        ),
        panel(
          "Conversations end with",
          endList(ends, (row) => row.before),
        ),
        panel("Typical paths", paths(codes, selection)),
        differences(route, selection, codes),
      ),
      panel("All transitions", transitionTable(rows.filter((row) => row.before !== -1 && row.after !== -1))),
    );
    return {};
  }

  /** Groups with messages that pass, the largest first. */
  function presentGroups(codes, selection) {
    const counts = [...turnlens.numbers.tally(codes, selection.message)].filter(([id]) => id >= 0);
    return counts.map(([id, count]) => ({id, count})).sort((a, b) => b.count - a.count);
  }

  /** The commonest request among groups, or else the largest group. */
  function commonest(present, level) {
    const {top} = turnlens.report.groups.message;
    const requests = new Set(turnlens.groupLists.lists().requests.map(({id}) => (level === "coarse" ? top(id) : id)));
    return (present.find(({id}) => requests.has(id)) ?? present[0])?.id;
  }

  function whatFollows(codes, selection, after, level) {
    const {steps} = turnlens.flowGraph.shape();
    const planned = turnlens.flowGraph.plan(turnlens.flows.following(codes, selection, after, steps));
    return [
      element("div", {class: "graph"}, turnlens.flowGraph.draw(planned, level)),
      element(
        "details",
        {class: "panel same"},
        element("summary", null, "The same as a table"),
        table(
          "What follows, step by step",
          ["step", "after", "comes", "share (95 %)", "count"],
          planned.ribbons
            .slice(0, MOST_ROWS)
            .map(({step, from, to, count}) => [
              String(step + 1),
              place(from.id),
              place(to.id),
              percentWithin(count / from.count, turnlens.numbers.wilson(count, from.count)),
              integer(count),
            ]),
        ),
      ),
    ];
  }

  /** Starts or ends of conversations, the most frequent first. */
  function endList(rows, groupOf) {
    const total = rows.reduce((sum, row) => sum + row.count, 0);
    const most = rows[0]?.count || 1;
    return element(
      "ul",
      {class: "sizes"},
      rows
        .slice(0, MOST_ENDS)
        .map((row) =>
          element(
            "li",
            null,
            element("span", {class: "name"}, place(groupOf(row))),
            turnlens.charts.bar(row.count / most),
            element("span", {class: "number"}, integer(row.count)),
            element("span", {class: "number muted"}, percent(row.count / total)),
          ),
        ),
    );
  }

  function place(id) {
    return id < -1 ? turnlens.flows.name(id) : group("message", id);
  }

  function transitionTable(rows) {
    return [
      table(
        "Transitions",
        ["after", "comes", "share (95 %)", "count"],
        rows
          .slice(0, MOST_ROWS)
          .map((row) => [
            place(row.before),
            place(row.after),
            percentWithin(row.share, row.interval),
            integer(row.count),
          ]),
      ),
      rows.length > MOST_ROWS && note(`and ${integer(rows.length - MOST_ROWS)} less frequent ones`),
    ];
  }

  function paths(codes, selection) {
    const found = turnlens.flows
      .paths(codes, selection)
      .filter((path) => path.count > 1)
      .slice(0, MOST_PATHS);
    if (found.length === 0)
      return note("No two conversations take the same path; choose coarse groups or filter by a topic.");
    return [
      note("From start to end, each group where it comes first; messages in no group are left out."),
      element(
        "ol",
        {class: "paths"},
        found.map((path) =>
          element(
            "li",
            null,
            element(
              "span",
              {class: "muted"},
              `${percentWithin(path.share, path.interval)} of ${integer(path.total)}: `,
            ),
            path.groups.map((id, i) => [i ? " → " : "", group("message", id)]),
            path.cut ? " → …" : "",
          ),
        ),
      ),
    ];
  }

  /** Groups that are more or less frequent where a label has the chosen value. */
  function differences(route, selection, codes) {
    const labels = turnlens.report.summary.labels.conversation;
    const names = Object.keys(labels).filter((name) => labels[name].length > 1);
    if (names.length === 0) return null;
    const pairs = names.flatMap((name) =>
      labels[name].map((value, code) => [`${name}=${code}`, turnlens.dom.shortened(`${name}: ${value}`, 60)]),
    );
    const compare = (pair) => {
      const cut = pair.lastIndexOf("=");
      return turnlens.flows.differences(codes, selection, pair.slice(0, cut), Number(pair.slice(cut + 1)));
    };
    const asked = pairs.find(([pair]) => pair === route.options.label);
    const [chosen] = asked || pairs.find(([pair]) => compare(pair).totals.every((total) => total > 0)) || pairs[0];
    const {totals, rows} = compare(chosen);
    const sure = rows.filter((row) => turnlens.numbers.distanceFromZero(row.interval) > 0);
    const side = (count, total) => (total ? percent(count / total) : "–");
    return panel(
      "What tells a label apart",
      choice("Label", pairs, chosen, (value) => turnlens.route.setOptions({label: value})),
      note(
        `${integer(totals[0])} conversations with it, ${integer(totals[1])} with another value. Shares of conversations in which `,
        "a group occurs; only differences whose 95 % interval excludes none. ",
        `Of ${integer(rows.length)} groups compared, one in twenty would be here by chance alone.`,
      ),
      sure.length === 0
        ? note("No group differs surely.")
        : table(
            "Groups that differ",
            ["group", "with", "without", "interval", "difference (95 %)"],
            sure
              .slice(0, MOST_DIFFERENCES)
              .map((row) => [
                group("message", row.group),
                side(row.count, row.total),
                side(row.otherCount, row.otherTotal),
                turnlens.charts.whisker(row.difference, row.interval),
                percentWithin(row.difference, row.interval),
              ]),
          ),
    );
  }

  return {render};
})();
