/* How conversations move from one group to the next: a graph, typical paths, and what labels go with. */
"use strict";

turnwise.views.flows = (() => {
  const {add, element, choice, fill} = turnwise.dom;
  const {panel, note, group, table} = turnwise.parts;
  const {integer, percent, percentWithin} = turnwise.numbers;
  const MOST_NODES = 14,
    MOST_PATHS = 10,
    MOST_ROWS = 30,
    MOST_DIFFERENCES = 15;

  function render(main, route, selection) {
    const {groups} = turnwise.report;
    const fine = route.options.level === "fine";
    const least = Math.min(0.9, Math.max(0, Number(route.options.share ?? 0.15) || 0));
    const codes = turnwise.flows.codes(!fine);
    const found = turnwise.flows.transitions(codes, selection);
    const rows = turnwise.flows.rows(found);
    const graph = element("div", {class: "graph"}),
      listed = element("div");
    const draw = (share) => {
      fill(graph, turnwise.flowGraph.draw(found, rows, share, MOST_NODES));
      fill(listed, transitionTable(rows.filter((row) => row.share >= share && row.before !== -1 && row.after !== -1)));
    };
    add(
      main,
      element("h1", null, "Flows"),
      note(
        "After a message of one group, which group comes next? Arrows show shares of what follows, from groups that come ",
        "early in conversations to those that come late. Of the ",
        turnwise.numbers.plural(selection.count.conversation, "conversation"),
        " that pass the filter.",
      ),
      element(
        "div",
        {class: "tools"},
        choice("Topic", topics(), (route.filter.topic || [""])[0], (value) =>
          turnwise.route.setFilter({topic: value === "" ? [] : [value]}),
        ),
        groups.message.list.length > groups.message.coarse.length &&
          choice(
            "Groups",
            [
              ["coarse", "coarse"],
              ["fine", "fine"],
            ],
            fine ? "fine" : "coarse",
            (value) => turnwise.route.setOptions({level: value}),
          ),
        slider(least, draw),
      ),
      graph,
      element(
        "div",
        {class: "columns"},
        panel("Typical paths", paths(codes, selection)),
        differences(route, selection, codes),
        panel("Transitions", listed),
      ),
    );
    draw(least);
    return {};
  }

  function topics() {
    const {coarse} = turnwise.report.groups.conversation;
    return [["", "all"], ...coarse.map((each) => [each.id, turnwise.dom.shortened(each.name, 50)])];
  }

  function slider(least, draw) {
    const shown = element("output", null, percent(least, 0));
    const input = element("input", {
      type: "range",
      min: "0",
      max: "0.6",
      step: "0.01",
      value: String(least),
      id: "least-share",
    });
    input.addEventListener("input", () => {
      shown.textContent = percent(Number(input.value), 0);
      draw(Number(input.value));
    });
    input.addEventListener("change", () => turnwise.route.setOptions({share: input.value}));
    return element("label", {class: "field"}, element("span", null, "Share of at least"), input, shown);
  }

  function place(id) {
    return id < -1 ? turnwise.flows.name(id) : group("message", id);
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
    const found = turnwise.flows
      .paths(codes, selection)
      .filter((path) => path.count > 1)
      .slice(0, MOST_PATHS);
    if (found.length === 0) return note("No two conversations take the same path; choose coarse groups or a topic.");
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

  /** Which groups occur more or less often where a label has the chosen value. */
  function differences(route, selection, codes) {
    const labels = turnwise.report.summary.labels.conversation;
    const names = Object.keys(labels).filter((name) => labels[name].length > 1);
    if (names.length === 0) return null;
    const pairs = names.flatMap((name) =>
      labels[name].map((value, code) => [`${name}=${code}`, turnwise.dom.shortened(`${name}: ${value}`, 60)]),
    );
    const compare = (pair) => {
      const cut = pair.lastIndexOf("=");
      return turnwise.differences.between(codes, selection, pair.slice(0, cut), Number(pair.slice(cut + 1)));
    };
    const asked = pairs.find(([pair]) => pair === route.options.label);
    const [chosen] = asked || pairs.find(([pair]) => compare(pair).totals.every((total) => total > 0)) || pairs[0];
    const {totals, rows} = compare(chosen);
    const sure = rows.filter((row) => turnwise.differences.distance(row.interval) > 0);
    const side = (count, total) => (total ? percent(count / total) : "–");
    return panel(
      "What tells a label apart",
      choice("Label", pairs, chosen, (value) => turnwise.route.setOptions({label: value})),
      note(
        `${integer(totals[0])} conversations with it, ${integer(totals[1])} with another value. Shares of conversations in which `,
        "a group occurs; only differences whose 95 % interval excludes none. ",
        `Of ${integer(rows.length)} groups compared, one in twenty would be here by chance alone.`,
      ),
      sure.length === 0
        ? note("No group differs surely.")
        : table(
            "Groups that differ",
            ["group", "with", "without", "", "difference (95 %)"],
            sure
              .slice(0, MOST_DIFFERENCES)
              .map((row) => [
                group("message", row.group),
                side(row.count, row.total),
                side(row.otherCount, row.otherTotal),
                turnwise.charts.whisker(row.difference, row.interval),
                percentWithin(row.difference, row.interval),
              ]),
          ),
    );
  }

  return {render};
})();
