/* What was unlike what usually follows: turns and conversations, the most surprising first. */
"use strict";

turnlens.views.surprise = (() => {
  const {add, element, choice, shortened, quote, fill} = turnlens.dom;
  const {note, group, inPieces} = turnlens.parts;
  const {percent} = turnlens.numbers;

  function render(main, route, selection) {
    const {summary, messages, conversations} = turnlens.report;
    add(main, element("h1", null, "Surprise"));
    if (!summary.surprise) {
      add(
        main,
        note(
          "This report holds no surprise: that takes 200 conversations of two messages or more, or a model of the order of turns. Train one with ",
          element("code", null, "turnlens train chats.jsonl --method reply-head --output order-model"),
          ", index with it, and make the report again.",
        ),
      );
      return {};
    }
    const what = route.options.what === "conversations" ? "conversations" : "turns";
    const role = summary.roles.indexOf(route.options.by);
    add(
      main,
      note(
        "Turns that are unlike what usually follows, the most surprising first. ",
        shortened(summary.surprise.how, 400),
      ),
      element(
        "div",
        {class: "tools"},
        choice(
          "Show",
          [
            ["turns", "turns"],
            ["conversations", "conversations"],
          ],
          what,
          (value) => turnlens.route.setOptions({what: value}),
        ),
        what === "turns" &&
          choice(
            "Said by",
            [["", "anybody"], ...summary.roles.map((name) => [name, shortened(name, 40)])],
            role < 0 ? "" : route.options.by,
            (value) => turnlens.route.setOptions({by: value}),
          ),
      ),
    );
    const usual = turnlens.flows.transitions(turnlens.flows.codes(false), everything());
    const sorted = (columns, mask, holds) => {
      const rows = [];
      for (let row = 0; row < mask.length; row++)
        if (mask[row] && !Number.isNaN(columns.surprise[row]) && holds(row)) rows.push(row);
      return rows.sort((a, b) => columns.surprise[b] - columns.surprise[a] || a - b);
    };
    add(
      main,
      what === "turns"
        ? inPieces(
            sorted(messages, selection.message, (m) => role < 0 || messages.role[m] === role),
            (rows) => turns(rows, usual),
            20,
          )
        : inPieces(
            sorted(conversations, selection.conversation, () => true),
            (rows) => turnlens.parts.conversations(rows),
          ),
    );
    return {};
  }

  /** All conversations: what is usual does not depend on the filter. */
  function everything() {
    const all = (level) => new Uint8Array(turnlens.report.counts[level]).fill(1);
    return {message: all("message"), conversation: all("conversation")};
  }

  /** Turns with what was said before, and what usually comes there. */
  function turns(rows, usual) {
    const {messages} = turnlens.report;
    const list = element("ol", {class: "messages"}, element("li", {class: "muted"}, "…"));
    const before = (m) => (messages.turn[m] > 0 ? m - 1 : m);
    turnlens.struck.getAll(rows.flatMap((m) => [m, before(m)])).then(
      (said) =>
        fill(
          list,
          rows.map((m, i) => {
            const item = turnlens.parts.message(m, said[2 * i], {more: turnlens.parts.surprise(messages.surprise[m])});
            if (messages.turn[m] > 0) {
              item.prepend(element("p", {class: "before muted"}, "after “", quote(said[2 * i + 1].text, 160), "”"));
              item.append(usually(messages.group[m - 1], messages.group[m], usual));
            }
            return item;
          }),
        ),
      (error) => fill(list, element("li", {class: "error"}, error.message)),
    );
    return list;
  }

  function usually(before, now, {from, totals}) {
    if (before < 0 || !from.has(before)) return "";
    const row = from.get(before),
      total = totals.get(before);
    const next = [...row]
      .filter(([id]) => id >= 0)
      .sort((a, b) => b[1] - a[1])
      .slice(0, 2);
    return element(
      "p",
      {class: "usual"},
      "After ",
      group("message", before),
      " usually comes ",
      next.map(([id, count], i) => [i ? " or " : "", group("message", id), ` (${percent(count / total)})`]),
      now >= 0 && !next.some(([id]) => id === now)
        ? [`; this kind of turn in ${percent((row.get(now) || 0) / total)}.`]
        : ".",
    );
  }

  return {render};
})();
