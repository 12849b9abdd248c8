/* The table of requests: size, trend, numbers, split by a category; any column sorts it. */
"use strict";

turnlens.requestTable = (() => {
  const {element, button, choice, quote, shortened} = turnlens.dom;
  const {integer, percent, percentWithin, measured} = turnlens.numbers;
  const EXAMPLES = 3,
    ROWS = 15;

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
    const columns = columnsOf(rows, asked, category, options.show);
    const shown = sorted(rows, columns, options.sort || "count");
    return [
      tools(columns, options, [more, turnlens.groupLists.slider(requests)]),
      legend(options),
      turnlens.parts.inPieces(
        shown,
        (some, start) => table(columns, some, start + some.length >= shown.length ? totals(requests, asked) : [], options.sort || "count"),
        ROWS,
      ),
    ];
  }

  /** The columns `{key, title, value(row), cell(row), rising}`; the first click sorts upwards if `rising`. */
  function columnsOf(rows, asked, category, shownNumber) {
    const {numbers} = turnlens;
    const total = asked.all.size,
      most = Math.max(1, ...rows.map(({members}) => members.size));
    const share = ({members}) => (total ? members.size / total : 0);
    const columns = [
      {
        key: "count",
        title: "conversations",
        value: ({members}) => members.size,
        cell: (row) => [
          element("strong", null, percent(share(row))),
          element("span", {class: "muted"}, ` ${integer(row.members.size)}`),
          row.each && turnlens.charts.bar(row.members.size / most),
        ],
      },
    ];
    if (asked.compared)
      columns.push({
        key: "trend",
        title: "trend",
        about: asked.compared.words,
        value: ({ids}) => (ids ? (asked.changeOf(...ids)?.difference ?? NaN) : NaN),
        cell: ({ids}) => ids && trend(asked.seriesOf(...ids), asked.changeOf(...ids)),
      });
    for (const name of numbers.measureNames()) {
      const all = numbers.summaryOf(name, asked.all);
      if (all.count === 0 || (category && name !== shownNumber)) continue; // the columns of a split need the room
      const isShare = numbers.isShare(name);
      columns.push({
        key: `number:${name}`,
        title: name,
        rising: numbers.isRating(name),
        value: ({members}) => mean(numbers.summaryOf(name, members)),
        cell: ({members}) => number(numbers.summaryOf(name, members), all, isShare),
      });
    }
    for (const [code, value] of (category?.values || []).entries()) {
      const inside = ({members}) => [...members].filter((c) => category.codes[c] === code);
      const known = ({members}) => [...members].filter((c) => category.codes[c] >= 0).length;
      const ofNumber = numbers.measureNames().includes(shownNumber);
      const all = ofNumber && numbers.summaryOf(shownNumber, asked.all);
      const isShare = ofNumber && numbers.isShare(shownNumber);
      columns.push({
        key: `split:${value}`,
        title: value,
        rising: ofNumber && numbers.isRating(shownNumber),
        value: (row) => (ofNumber ? mean(numbers.summaryOf(shownNumber, inside(row))) : inside(row).length),
        cell: (row) =>
          ofNumber
            ? number(numbers.summaryOf(shownNumber, inside(row)), all, isShare, true)
            : [
                percent(known(row) ? inside(row).length / known(row) : 0),
                element("span", {class: "muted"}, ` ${integer(inside(row).length)}`),
              ],
      });
    }
    return columns;
  }

  /** A mean to sort by: of few values there is none. */
  function mean({count, mean: value}) {
    return count < turnlens.numbers.FEW ? NaN : value;
  }

  /** A mean with its spread, or of how many it is, marked where it is surely lower or higher than that of everything shown. */
  function number(stats, all, isShare, counted = false) {
    if (stats.count === 0) return element("span", {class: "muted"}, "–");
    const side = turnlens.numbers.compared(stats, all, isShare);
    const few = stats.count < turnlens.numbers.FEW;
    const written = isShare ? percent : measured;
    const title = `${integer(stats.count)} known${side ? `; surely ${side < 0 ? "lower" : "higher"} than ${written(all.mean)}, the mean of all` : ""}`;
    return element(
      "span",
      {title},
      element(side ? "strong" : "span", {class: few ? "muted" : null}, {"-1": "▼ ", 0: "", 1: "▲ "}[side], written(stats.mean)),
      counted
        ? element("span", {class: "muted"}, ` (${integer(stats.count)})`)
        : !isShare && !Number.isNaN(stats.sd) && element("span", {class: "muted"}, ` ± ${measured(stats.sd, 2)}`),
    );
  }

  /** A line over time, from which share to which, and whether that is surely a change. */
  function trend(series, change) {
    if (!change) return element("span", {class: "muted"}, "–");
    const sure = turnlens.numbers.distanceFromZero(change.interval) > 0;
    const word = sure ? (change.difference > 0 ? "growing" : "declining") : "steady";
    return element(
      "span",
      {class: `trend ${word}`, title: `difference ${percentWithin(change.difference, change.interval)}`},
      series && turnlens.charts.spark(series.points),
      element("span", null, {growing: "▲ ", declining: "▼ ", steady: ""}[word], word),
      element("span", {class: "muted"}, `${percent(change.before, 0)} → ${percent(change.after, 0)}`),
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

  /** Explains the figures in the columns of a split. */
  function legend({split, show: name}) {
    if (!split) return null;
    if (!name) return turnlens.parts.note(`In the columns of ${split}: the share, and the number, of the request's conversations.`);
    return turnlens.parts.note(`In the columns of ${split}: the mean of ${name}, and of how many conversations it is.`);
  }

  function tools(columns, options, more) {
    const {setOptions} = turnlens.route;
    const categories = turnlens.numbers.categories(),
      names = turnlens.numbers.measureNames();
    const list = (first, all) => [["", first], ...all.map((name) => [name, name])];
    return element(
      "div",
      {class: "tools"},
      more,
      columns.length > 1 &&
        choice(
          "Sorted by",
          columns.map(({key, title}) => [key, title]),
          (options.sort || "count").replace(/^-/, ""),
          (key) => setOptions({sort: key}),
          {id: "sort-by"},
        ),
      columns.some(({key}) => key === "trend") &&
        choice("Trend against", turnlens.timeline.PERIODS, options.period || "half", (period) => setOptions({period}), {id: "period"}),
      categories.length > 0 &&
        choice("Split by", list("nothing", categories.map(({name}) => name)), options.split || "", (split) => setOptions({split}), {id: "split"}),
      options.split && names.length > 0 && choice("showing", list("conversations", names), options.show || "", (name) => setOptions({show: name}), {id: "show"}),
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
    const cells = (row) =>
      columns.map((column) => element("td", {"data-label": column.title}, column.cell(row)));
    return element(
      "div",
      {class: "table requests", tabindex: "0", role: "region", "aria-label": "Requests"},
      element(
        "table",
        null,
        element("caption", {class: "for-screen-readers"}, "Requests"),
        element(
          "thead",
          null,
          element(
            "tr",
            null,
            element("th", {scope: "col"}, "request"),
            columns.map((column) => header(column, order)),
          ),
        ),
        element(
          "tbody",
          null,
          rows.map((row) => element("tr", null, element("th", {scope: "row"}, request(row)), cells(row))),
        ),
        below.length > 0 &&
          element(
            "tfoot",
            null,
            below.map((row) => element("tr", null, element("th", {scope: "row"}, row.name), cells(row))),
          ),
      ),
    );
  }

  function header({key, title, about, rising}, order) {
    const isIt = order.replace(/^-/, "") === key;
    const isUp = Boolean(rising) !== order.startsWith("-");
    return element(
      "th",
      {scope: "col", "aria-sort": isIt ? (isUp ? "ascending" : "descending") : null, title: about},
      button([shortened(title, 30), isIt && (isUp ? " ↑" : " ↓")], () => sort(key), {class: "quiet sort", id: `sort-${key}`}),
    );
  }

  /** A request: its name, its keywords, and on demand what it looks like, and what can be done with it. */
  function request({each, all, ids}) {
    const mixed = each.parts.length && `examples of ${each.parts.length} parts that differ`;
    const more = element("details", {class: "more-of"}, element("summary", null, mixed || "examples"));
    more.addEventListener("toggle", () => more.open && more.children.length === 1 && turnlens.dom.add(more, inside(each, ids)));
    return [
      turnlens.parts.group("message", each.id),
      turnlens.parts.badges(each),
      all.length > 1 &&
        element("ul", {class: "joined", "aria-label": "Joined with it"}, all.slice(1).map(({id}) => element("li", null, turnlens.parts.group("message", id)))),
      turnlens.parts.keywords(each),
      element("div", {class: "row-tools"}, more, turnlens.groupLists.moving(each, "↓ along the way")),
    ];
  }

  function examples(rows) {
    const list = element("div");
    for (const m of rows.slice(0, EXAMPLES)) {
      const place = turnlens.route.link("conversation", [turnlens.report.messages.conversation[m]], {turn: turnlens.report.messages.turn[m] + 1});
      const link = element("a", {class: "said", href: place});
      turnlens.texts.withoutBoilerplate([m]).then(([text]) => link.append(quote(text, 200)));
      list.append(element("p", {class: "example"}, link));
    }
    return list;
  }

  function inside(each, ids) {
    const {filter} = turnlens.route.current();
    const answer = element("p", {class: "answer"});
    if (typeof each.answer === "number")
      turnlens.texts.withoutBoilerplate([each.answer]).then(([text]) => turnlens.dom.add(answer, "A typical next message: ", quote(text, 140)));
    const all = turnlens.route.link("conversations", [], {}, {...filter, group: ids.map(String)});
    return [each.parts.length ? turnlens.groupLists.parts(each, examples) : examples(each.central), answer, element("a", {href: all}, "All its conversations")];
  }

  return {show};
})();
