/* All groups, coarse with the finer ones within; and one of them, from its most typical members to the least. */
"use strict";

turnlens.views.groups = (() => {
  const {add, element, choice} = turnlens.dom;
  const {integer, percent, plural} = turnlens.numbers;
  const {group, badges, sizes, note} = turnlens.parts;
  const EXAMPLES = 3; // of each part of a group that was split

  function render(main, route, selection) {
    const level = route.options.level === "conversation" ? "conversation" : "message";
    const counts = turnlens.parts.counts(level, selection),
      total = selection.count[level];
    const {byId, coarse, children} = turnlens.report.groups[level];
    const size = (each) => counts.get(each.id) || 0;
    const present = (groups) => groups.filter((each) => size(each) > 0).sort((a, b) => size(b) - size(a));
    const parts = (route.options.parts?.split(",") || []).map((id) => byId.get(Number(id))).filter(Boolean);
    const areParts = parts.length > 0;
    const list = present(areParts ? parts : coarse);
    const title = level === "message" ? "Groups of messages" : "Topics of conversations";
    add(
      main,
      element("h1", null, areParts ? `Split into ${plural(parts.length, "group")}` : title),
      element(
        "div",
        {class: "tools"},
        areParts
          ? element("a", {href: turnlens.route.link("groups", [], {level})}, title)
          : choice(
              "Groups of",
              turnlens.parts.LEVELS,
              level,
              (value) => turnlens.route.setOptions({level: value}),
            ),
        turnlens.parts.explanation(title, [
          ["percentages", `of ${level}s${level === "message" ? "; those of the overview are of conversations" : ""}`],
          ["in grey", "phrases that are more frequent in the group than elsewhere"],
        ]),
      ),
      coarse.length === 0 ? note("There are no groups: too few messages are alike.") : null,
      element("div", {class: "panel tree"}, list.map(branch)),
      !areParts && [
        note(
          `${integer(counts.get(-1) || 0)} ${level}s (${percent(total ? (counts.get(-1) || 0) / total : 0)}) are in no group. `,
          element("a", {href: noneLink(level)}, "Look at them"),
        ),
        list.length < coarse.length &&
          note(`${plural(coarse.length - list.length, "group")} had nothing that passes the filter.`),
      ],
    );

    /** A coarse group with the finer ones within, a line each. */
    function branch(each) {
      const within = present(children(each.id));
      return element(
        "section",
        null,
        element("h2", null, group(level, each.id), badges(each), element("small", {class: "muted"}, `${percent(total ? size(each) / total : 0)} · ${plural(size(each), level)}`)),
        areParts && turnlens.parts[`${level}s`](each.central.slice(0, EXAMPLES), each.id),
        within.length > 1 && sizes(level, within, counts, total, true),
      );
    }
    return {};
  }

  function noneLink(level) {
    const {filter} = turnlens.route.current();
    const view = level === "message" ? "search" : "conversations";
    return turnlens.route.link(view, [], {}, {...filter, [level === "message" ? "group" : "topic"]: ["none"]});
  }

  return {render};
})();

turnlens.views.group = (() => {
  const {add, element, shortened} = turnlens.dom;
  const {integer, percent, percentWithin} = turnlens.numbers;
  const {group, badges, panel, note, table, sizes} = turnlens.parts;
  const MOST_FLOWS = 8,
    MOST_ROLES = 5;

  function render(main, route, selection) {
    const level = route.parts[0] === "conversation" ? "conversation" : "message";
    const id = Number(route.parts[1]),
      grouping = turnlens.report.groups[level],
      each = grouping.byId.get(id);
    if (!each) {
      add(main, element("h1", null, "No such group"), note("It may have been merged or split."));
      return {};
    }
    const column = turnlens.report[`${level}s`].group,
      ids = turnlens.filters.groupIds(grouping, [id]);
    const members = [];
    for (let row = 0; row < column.length; row++) if (selection[level][row] && ids.has(column[row])) members.push(row);
    add(
      main,
      element(
        "h1",
        null,
        turnlens.parts.sign(level, id),
        element("bdi", null, shortened(each.name, 200)),
        badges(each),
      ),
      about(level, each, members, selection),
      turnlens.live.isLive() && turnlens.live.editing(level, each),
      element(
        "div",
        {class: "columns"},
        examples("Typical", level, id, each.central, selection, "What the group is most clearly about."),
        examples("Doubtful members", level, id, each.edge, selection, "Where the group's name fits least."),
        level === "message" && flows(id, selection),
        overTime(level, selection, members, each),
        finer(level, id, selection),
      ),
      panel(
        "All of them",
        turnlens.parts.inPieces(members, (rows) => turnlens.parts[`${level}s`](rows, id)),
      ),
    );
    return {};
  }

  function about(level, each, members, selection) {
    const parent = turnlens.report.groups[level].top(each.id);
    const filter = turnlens.route.current().filter,
      name = level === "message" ? "group" : "topic";
    const only = (view) =>
      turnlens.route.link(view, [], view === "map" ? {level} : {}, {...filter, [name]: [String(each.id)]});
    return [
      element(
        "p",
        null,
        `${turnlens.numbers.plural(members.length, level)}, `,
        shares(level, each, members, selection),
        parent !== each.id ? [", within ", group(level, parent)] : "",
        ". ",
        element("a", {href: only("map")}, "Show on the map"),
        " · ",
        element("a", {href: only("overview")}, "Filter by it"),
      ),
      element(
        "p",
        {class: "phrases"},
        each.phrases.map((phrase) => element("span", {dir: "auto"}, shortened(phrase, 40))),
      ),
      level === "message" && members.length > 0 && saidBy(members),
    ];
  }

  /** The share of messages, and the number of conversations. */
  function shares(level, each, members, selection) {
    const {messages, summary} = turnlens.report;
    const share = (total) => percent(total ? members.length / total : 0);
    const shown = selection.filtered ? "shown" : "";
    if (level === "conversation") return `${share(selection.count.conversation)} of ${shown || "all"} conversations`;
    const role = summary.roles.indexOf(each.role); // -1 where the group is not of one role
    let total = 0;
    for (let m = 0; m < messages.role.length; m++)
      if (selection.message[m] && (role < 0 || messages.role[m] === role)) total += 1;
    const conversations = new Set(members.map((m) => messages.conversation[m])).size;
    return [
      `${share(total)} of the messages `,
      role >= 0 && ["by ", element("bdi", null, shortened(each.role, 40)), " "],
      shown && `${shown} `,
      `(in ${integer(conversations)} of ${turnlens.numbers.plural(selection.count.conversation, "conversation")})`,
    ];
  }

  function saidBy(members) {
    const {messages, summary} = turnlens.report;
    const counts = new Map();
    for (const m of members) counts.set(messages.role[m], (counts.get(messages.role[m]) || 0) + 1);
    const roles = [...counts].sort((a, b) => b[1] - a[1]);
    return element(
      "p",
      {class: "about"},
      "Said by ",
      roles
        .slice(0, MOST_ROLES)
        .map(([role, count]) =>
          element(
            "span",
            null,
            turnlens.parts.role(summary.roles[role]),
            ` ${percent(count / members.length)} (${integer(count)})`,
          ),
        ),
      roles.length > MOST_ROLES && `and ${integer(roles.length - MOST_ROLES)} others`,
    );
  }

  function examples(title, level, id, rows, selection, explanation) {
    const passing = rows.filter((row) => selection[level][row]);
    return panel(
      title,
      note(explanation),
      passing.length ? turnlens.parts[`${level}s`](passing, id) : note("None of them passes the filter."),
    );
  }

  function flows(id, selection) {
    const isCoarse =
      turnlens.report.groups.message.top(id) === id && turnlens.report.groups.message.children(id).length > 0;
    const found = turnlens.flows.rows(turnlens.flows.transitions(turnlens.flows.codes(isCoarse), selection));
    const out = found.filter((row) => row.before === id).slice(0, MOST_FLOWS);
    const into = found.filter((row) => row.after === id);
    const all = into.reduce((sum, row) => sum + row.count, 0);
    const place = (other) => (other < -1 ? turnlens.flows.name(other) : group("message", other));
    return [
      panel(
        "What comes next",
        table(
          "Groups of the next message",
          ["next message", "share (95 %)", "count"],
          out.map((row) => [place(row.after), percentWithin(row.share, row.interval), integer(row.count)]),
        ),
      ),
      panel(
        "What came before",
        table(
          "Groups of the message before",
          ["message before", "share (95 %)", "count"],
          into
            .slice(0, MOST_FLOWS)
            .map((row) => [
              place(row.before),
              percentWithin(row.count / all, turnlens.numbers.wilson(row.count, all)),
              integer(row.count),
            ]),
        ),
      ),
    ];
  }

  function overTime(level, selection, members, each) {
    const {conversation} = turnlens.report.messages;
    const {filter} = turnlens.route.current();
    const {times, series: seriesOf, periods, change: changeOf} = turnlens.timeline;
    const conversations = new Set(level === "message" ? members.map((m) => conversation[m]) : members);
    const series = seriesOf(times(level, selection), conversations);
    if (!series) return null;
    const wide = filter.from || filter.to ? turnlens.filters.without(filter, "from", "to") : selection;
    const allTimes = times(level, wide),
      compared = periods(allTimes);
    const {group: column} = turnlens.report[`${level}s`],
      ids = turnlens.filters.groupIds(turnlens.report.groups[level], [each.id]);
    const wideMembers = new Set();
    column.forEach((id, row) => {
      if (wide[level][row] && ids.has(id)) wideMembers.add(level === "message" ? conversation[row] : row);
    });
    const change = changeOf(allTimes, wideMembers, compared);
    return panel(
      "Over time",
      turnlens.charts.overTime(
        series,
        `Share of the conversations ${level === "message" ? "with messages" : "that are"} in ${shortened(each.name, 60)}, over time`,
      ),
      change &&
        note(
          {"-1": "It declined: ", 0: "No sure change: ", 1: "It grew: "}[turnlens.numbers.mark(change.difference, change.interval)],
          `from ${percent(change.before)} to ${percent(change.after)} of the conversations; difference `,
          `${percentWithin(change.difference, change.interval)}. Compared are ${compared.words}.`,
        ),
    );
  }

  function finer(level, id, selection) {
    const within = turnlens.report.groups[level].children(id);
    if (within.length === 0) return null;
    return panel("Finer groups", sizes(level, within, turnlens.parts.counts(level, selection), selection.count[level]));
  }

  return {render};
})();
