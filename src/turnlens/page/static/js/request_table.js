/* The table of requests, a line each: share, trend, numbers, split by a category; any column sorts it, any row opens. */
"use strict";

turnlens.requestTable = (() => {
  const {element, button, choice, quote, shortened} = turnlens.dom;
  const {integer, percent, percentWithin, measured} = turnlens.numbers;
  const EXAMPLES = 3,
    ROWS = {wide: 15, narrow: 10},
    UNHAPPY = "unhappy";
  const opened = new Set(); // ids of the requests whose examples are shown, also when the table is made anew
  const UNITS = [
    ["days", 1440],
    ["h", 60],
    ["min", 1],
    ["s", 1 / 60],
  ];

  /**
   * @param asked The messages of the one who asks, as of `groupLists.ofRole`.
   * @param more What stands among the choices besides.
   */
  function show(requests, asked, more) {
    const {options} = turnlens.route.current();
    const category = turnlens.numbers.categories().find(({name}) => name === options.split);
    const rows = turnlens.groupLists.joined(requests).map((all) => {
      const ids = all.map(({id}) => id);
      return {each: all[0], all, ids, members: turnlens.groupLists.together(ids, asked)};
    });
    const known = numbersOf(asked, options);
    const columns = columnsOf(rows, asked, category, known);
    const order = options.sort || "count",
      shown = sorted(rows, columns, order);
    return [
      tools(columns, options, asked.compared, known, [more, turnlens.groupLists.slider(requests)]),
      turnlens.parts.inPieces(
        shown,
        (some, start) => table(columns, some, start + some.length >= shown.length ? totals(requests, asked) : [], order),
        ROWS[turnlens.parts.isNarrow() ? "narrow" : "wide"],
      ),
    ];
  }

  /** The numbers that are known here: all their names, and the one that has a column. */
  function numbersOf(asked, options) {
    const {measureNames, typical, kindOf} = turnlens.numbers;
    const names = measureNames().filter((name) => name !== UNHAPPY && typical(name, asked.all).count > 0);
    const first = ["rating", "amount", "count"].map((kind) => names.find((name) => kindOf(name) === kind)).find(Boolean);
    return {names, shown: names.includes(options.number) ? options.number : (first ?? names[0])};
  }

  /** The columns `{key, label, title, about, value(row), cell(row), rising}`; the first click sorts upwards if `rising`. */
  function columnsOf(rows, asked, category, {names, shown}) {
    const {numbers} = turnlens,
      {options} = turnlens.route.current();
    const total = asked.all.size,
      most = Math.max(1, ...rows.map(({members}) => members.size));
    const share = ({members}) => (total ? members.size / total : 0);
    const columns = [
      {
        key: "count",
        label: "conversations",
        value: ({members}) => members.size,
        cell: (row) => [
          turnlens.charts.bar(row.each ? row.members.size / most : 0),
          element("strong", null, percent(share(row))),
          " ",
          element("span", {class: "muted count"}, integer(row.members.size)),
        ],
      },
    ];
    if (asked.compared)
      columns.push({
        key: "trend",
        label: "trend",
        about: `The trend compares ${asked.compared.words}`,
        value: ({ids}) => (ids ? (asked.changeOf(...ids)?.difference ?? NaN) : NaN),
        cell: ({ids}) => ids && trend(asked.seriesOf(...ids), asked.changeOf(...ids)),
      });
    if (numbers.measureNames().includes(UNHAPPY)) columns.push(numberColumn(UNHAPPY, asked.all));
    if (!category) return shown ? [...columns, numberColumn(shown, asked.all)] : columns;
    const ofNumber = names.includes(options.show);
    for (const [code, value] of category.values.entries()) {
      const inside = ({members}) => [...members].filter((c) => category.codes[c] === code);
      const known = ({members}) => [...members].filter((c) => category.codes[c] >= 0).length;
      columns.push({
        ...(ofNumber
          ? numberColumn(options.show, asked.all, inside)
          : {
              value: (row) => inside(row).length,
              cell: (row) => [
                percent(known(row) ? inside(row).length / known(row) : 0),
                element("span", {class: "muted"}, ` ${integer(inside(row).length)}`),
              ],
            }),
        key: `split:${value}`,
        label: value,
        title: value,
      });
    }
    return columns;
  }

  /** The column of a number, among the members of a row or some of them. */
  function numberColumn(name, all, membersOf = ({members}) => members) {
    const {typical, statistic, kindOf, FEW} = turnlens.numbers;
    const ofAll = typical(name, all);
    const [unit, length] = name === "minutes" ? UNITS.find(([, each]) => ofAll.value >= 2 * each) || UNITS.at(-1) : ["", 1];
    const isMean = statistic(name) === "mean";
    const written = (value) =>
      kindOf(name) === "share" || name === UNHAPPY ? percent(value) : isMean ? value.toFixed(1) : measured(value / length);
    return {
      key: `number:${name}`,
      label: name,
      title: `${statistic(name)} ${name === "minutes" ? "duration" : name}${unit && `, ${unit}`}`.trim(),
      rising: kindOf(name) === "rating",
      value: (row) => {
        const {count, value} = typical(name, membersOf(row));
        return count < FEW ? NaN : value; // of few there is none to sort by
      },
      cell: (row) => number(typical(name, membersOf(row)), ofAll, written),
    };
  }

  /** A number, marked where it is surely lower or higher than that of everything shown. */
  function number(own, all, written) {
    if (own.count < turnlens.numbers.FEW) return element("span", {class: "muted", title: `${integer(own.count)} known`}, "–");
    const side = turnlens.numbers.compared(own, all);
    const than = side ? `; surely ${side < 0 ? "lower" : "higher"} than ${written(all.value)}, that of all` : "";
    return element(
      side ? "strong" : "span",
      {title: `${integer(own.count)} known${than}`},
      {"-1": "▼ ", 0: "", 1: "▲ "}[side],
      written(own.value),
    );
  }

  /** A line over time, from which share to which, marked where that is surely a change. */
  function trend(series, change) {
    if (!change) return element("span", {class: "muted"}, "–");
    const word = {"-1": "declining", 0: "steady", 1: "growing"}[turnlens.numbers.mark(change.difference, change.interval)];
    const [before, after] = [change.before, change.after].map((share) => Math.round(100 * share));
    return element(
      "span",
      {class: `trend ${word}`, title: `${word === "steady" ? "no sure change" : word}: difference ${percentWithin(change.difference, change.interval)}`},
      series && turnlens.charts.spark(series.points),
      element("span", null, {growing: "▲ ", declining: "▼ ", steady: ""}[word], `${before} → ${after} %`),
    );
  }

  function sorted(rows, columns, order) {
    const key = order.replace(/^-/, "");
    const column = columns.find((each) => each.key === key) || columns[0];
    const sign = (column.rising ? 1 : -1) * (order.startsWith("-") ? -1 : 1);
    const values = new Map(rows.map((row) => [row, column.value(row)]));
    const value = (row) => (Number.isNaN(values.get(row)) ? Infinity : sign * values.get(row)); // unknown comes last
    return [...rows].sort((a, b) => value(a) - value(b) || b.members.size - a.members.size);
  }

  function sort(key) {
    const {options} = turnlens.route.current();
    turnlens.route.setOptions({sort: (options.sort || "count") === key ? `-${key}` : key});
  }

  function tools(columns, options, compared, {names, shown}, more) {
    const {setOptions} = turnlens.route;
    const categories = turnlens.numbers.categories();
    const list = (first, all) => [["", first], ...all.map((name) => [name, name])];
    return element(
      "details",
      {class: "options", open: !turnlens.parts.isNarrow()},
      element("summary", null, "Options"),
      element(
        "div",
        {class: "tools"},
        more,
        columns.some(({key}) => key === "trend") &&
          choice(
            "Trend",
            [...(turnlens.route.current().filter.from ? [["", "the time shown"]] : []), ...turnlens.timeline.PERIODS],
            compared.period || "",
            (period) => setOptions({period}),
            {id: "period"},
          ),
        categories.length > 0 &&
          choice("Split by", list("nothing", categories.map(({name}) => name)), options.split || "", (split) => setOptions({split}), {id: "split"}),
        options.split && names.length > 0 && choice("showing", list("conversations", names), options.show || "", (name) => setOptions({show: name}), {id: "show"}),
        !options.split && names.length > 1 && choice("Number", names.map((name) => [name, name]), shown, (number) => setOptions({number}), {id: "number"}),
        turnlens.parts.isNarrow() &&
          choice("Sorted by", columns.map(({key, label}) => [key, label]), (options.sort || "count").replace(/^-/, ""), (key) => setOptions({sort: key}), {id: "sort-by"}),
      ),
    );
  }

  /** The rows beneath: those who asked none of these, and all. */
  function totals(requests, asked) {
    const {filter} = turnlens.route.current();
    const none = turnlens.route.link("search", [], {}, {...filter, group: ["none"]});
    return [
      {name: element("a", {href: none}, "None of these"), members: turnlens.groupLists.without(requests, asked)},
      {name: "All conversations", members: asked.all},
    ];
  }

  function table(columns, rows, below, order) {
    const cells = (row) => columns.map((column) => element("td", {"data-label": column.label, class: `of-${column.key.split(":")[0]}`}, column.cell(row)));
    return turnlens.parts.frame(
      "Requests",
      "requests",
      [element("th", {scope: "col"}, "request"), columns.map((column) => header(column, order))],
      element("tbody", null, rows.map((row) => line(row, cells(row), columns.length + 1))),
      below.length > 0 &&
        element("tfoot", null, below.map((row) => element("tr", null, element("th", {scope: "row"}, row.name), cells(row)))),
    );
  }

  function header({key, label, title = label, about, rising}, order) {
    const isIt = order.replace(/^-/, "") === key;
    const isUp = Boolean(rising) !== order.startsWith("-");
    return element(
      "th",
      {scope: "col", "aria-sort": isIt ? (isUp ? "ascending" : "descending") : null, title: about},
      button([shortened(title, 30), isIt && (isUp ? " ↑" : " ↓")], () => sort(key), {class: "quiet sort", id: `sort-${key}`}),
    );
  }

  /** A request's row, which opens to what it looks like and what can be done with it. */
  function line({each, all, ids, members}, cells, width) {
    const isOpen = opened.has(each.id);
    const toggle = button(isOpen ? "▾" : "▸", flip, {
      class: "quiet toggle",
      id: `open-${each.id}`,
      "aria-expanded": String(isOpen),
      "aria-label": `Examples of ${shortened(each.name, 80)}`,
    });
    const name = element(
      "th",
      {scope: "row"},
      element(
        "span",
        {class: "name"},
        toggle,
        element("span", {title: each.phrases.join(" · ")}, turnlens.parts.group("message", each.id)),
        turnlens.parts.badges(each),
        all.length > 1 && element("span", {class: "badge quiet", title: `${all.length - 1} more are joined with it`}, `+${all.length - 1}`),
      ),
    );
    const row = element("tr", {on: {click: ({target}) => target.closest("a, button") || flip()}}, name, cells);
    let below = isOpen && beneath();
    function beneath() {
      return element("tr", {class: "opened"}, element("td", {colspan: String(width)}, inside(each, all, ids, members)));
    }
    function flip() {
      if (opened.delete(each.id)) {
        below.remove();
      } else {
        opened.add(each.id);
        row.after((below = beneath()));
      }
      toggle.setAttribute("aria-expanded", String(opened.has(each.id)));
      toggle.textContent = opened.has(each.id) ? "▾" : "▸";
    }
    return [row, below];
  }

  function examples(rows) {
    const list = element("div");
    for (const m of rows.slice(0, EXAMPLES)) {
      const link = element("a", {class: "said", href: turnlens.route.place(m)});
      turnlens.texts.withoutBoilerplate([m]).then(([text]) => link.append(quote(text, 200)));
      list.append(element("p", {class: "example"}, link));
    }
    return list;
  }

  /** The messages of some conversations that are unhappiest with an answer, the worst first. */
  function unhappiest(members) {
    const {conversation, unhappy} = turnlens.report.messages;
    const rows = [];
    if (unhappy) unhappy.forEach((score, m) => score > 0 && members.has(conversation[m]) && rows.push(m));
    return rows.sort((a, b) => unhappy[b] - unhappy[a]);
  }

  function inside(each, all, ids, members) {
    const unhappy = unhappiest(members);
    const {filter} = turnlens.route.current();
    const answer = element("p", {class: "answer"});
    if (typeof each.answer === "number")
      turnlens.texts.withoutBoilerplate([each.answer]).then(([text]) => turnlens.dom.add(answer, "A typical next message: ", quote(text, 140)));
    const conversations = turnlens.route.link("conversations", [], {}, {...filter, group: ids.map(String)});
    return [
      turnlens.parts.keywords(each),
      examples(each.central),
      answer,
      unhappy.length > 0 && [element("p", {class: "muted"}, "Unhappy with an answer:"), examples(unhappy)],
      all.length > 1 &&
        element("ul", {class: "joined", "aria-label": "Joined with it"}, all.slice(1).map(({id}) => element("li", null, turnlens.parts.group("message", id)))),
      element("div", {class: "row-tools"}, element("a", {href: conversations}, "All its conversations"), turnlens.groupLists.moving(each, "↓ along the way")),
    ];
  }

  return {show};
})();
