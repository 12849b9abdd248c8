/* The conversations that pass, in a chosen order. */
"use strict";

turnlens.views.conversations = (() => {
  const {add, element, choice} = turnlens.dom;
  const ORDERS = {
    given: ["as given", null],
    surprise: ["most surprising first", (columns) => (c) => -columns.surprise[c]],
    long: ["longest first", (columns) => (c) => -columns.turns[c]],
    short: ["shortest first", (columns) => (c) => columns.turns[c]],
    newest: ["newest first", (columns) => (c) => -columns.time[c]],
  };

  function render(main, route, selection) {
    const {summary} = turnlens.report;
    const order = ORDERS[route.options.order] ? route.options.order : "given";
    const rows = sorted(selection, order);
    const orders = Object.entries(ORDERS)
      .filter(
        ([name]) => (name !== "surprise" || summary.surprise) && (name !== "newest" || summary.times.first !== null),
      )
      .map(([name, [label]]) => [name, label]);
    add(
      main,
      element("h1", null, turnlens.numbers.plural(rows.length, "conversation")),
      element(
        "div",
        {class: "tools"},
        choice("Order", orders, order, (value) => turnlens.route.setOptions({order: value})),
      ),
      turnlens.parts.inPieces(rows, (some) => turnlens.parts.conversations(some)),
    );
    return {};
  }

  function sorted(selection, order) {
    const rows = [];
    selection.conversation.forEach((passes, c) => passes && rows.push(c));
    const make = ORDERS[order][1];
    if (!make) return rows;
    const key = make(turnlens.report.conversations);
    const value = (c) => (Number.isNaN(key(c)) ? Infinity : key(c)); // what has none comes last
    return rows.sort((a, b) => value(a) - value(b) || a - b);
  }

  return {render};
})();
