/* The conversations that pass, in a chosen order; and one of them, turn by turn. */
"use strict";

turnlens.views.conversations = (() => {
  const {add, element, choice} = turnlens.dom;
  const ORDERS = {
    data: ["as in the data", null],
    surprise: ["most surprising first", (columns) => (c) => -columns.surprise[c]],
    long: ["longest first", (columns) => (c) => -columns.turns[c]],
    short: ["shortest first", (columns) => (c) => columns.turns[c]],
    newest: ["newest first", (columns) => (c) => -columns.time[c]],
  };

  function render(main, route, selection) {
    const {summary} = turnlens.report;
    const isKnown = {surprise: summary.surprise, newest: summary.times.first !== null};
    const orders = Object.entries(ORDERS).filter(([name]) => isKnown[name] ?? true).map(([name, [label]]) => [name, label]);
    const order = orders.some(([name]) => name === route.options.order) ? route.options.order : "data";
    const rows = sorted(selection, order);
    add(
      main,
      element("h1", null, turnlens.numbers.plural(rows.length, "conversation")),
      element(
        "div",
        {class: "tools"},
        choice("Order", orders, order, (value) => turnlens.route.setOptions({order: value})),
      ),
      order === "surprise" && turnlens.parts.note(turnlens.parts.SURPRISE, " A conversation's is the mean of its messages'."),
      turnlens.parts.inPieces(rows, (some) => turnlens.parts.conversations(some)),
    );
    return {};
  }

  function sorted(selection, order) {
    const rows = turnlens.numbers.passing(selection.conversation);
    const make = ORDERS[order][1];
    if (!make) return rows;
    const key = make(turnlens.report.conversations);
    const value = (c) => (Number.isNaN(key(c)) ? Infinity : key(c)); // what has none comes last
    return rows.sort((a, b) => value(a) - value(b) || a - b);
  }

  return {render};
})();

turnlens.views.conversation = (() => {
  const {add, element, button, quote, shortened, fill, announce} = turnlens.dom;
  const {panel, note, group, role, labels, surprise, SURPRISE} = turnlens.parts;
  const LONG = 3000;

  function render(main, route, selection) {
    const {conversations, ids} = turnlens.report;
    const c = Number(route.parts[0]);
    if (!(c >= 0 && c < ids.length)) {
      add(main, element("h1", null, "No such conversation"));
      return {};
    }
    const boilerplate = element("span", {class: "muted"});
    const turns = element("ol", {class: "turns"}, element("li", {class: "muted"}, "…"));
    const values = Array.from(
      turnlens.report.messages.surprise.subarray(
        conversations.first[c],
        conversations.first[c] + conversations.turns[c],
      ),
    );
    const rows = values.map((_, turn) => conversations.first[c] + turn);
    turnlens.texts.withBoilerplate(rows).then(
      (words) => {
        fill(
          turns,
          rows.map((m, turn) => line(c, m, turn, words[turn], selection)),
        );
        count(boilerplate, words);
        goTo(turns, Number(route.options.turn) - 1);
      },
      (error) => fill(turns, element("li", {class: "error"}, error.message)),
    );
    add(
      main,
      element("h1", null, "Conversation ", element("bdi", null, shortened(ids[c], 80))),
      element(
        "p",
        {class: "about"},
        group("conversation", conversations.group[c]),
        labels("conversation", c),
        !Number.isNaN(conversations.time[c]) &&
          element("span", {class: "muted"}, turnlens.numbers.minute(conversations.time[c])),
        boilerplate,
        steps(c, selection),
      ),
      element(
        "div",
        {class: "reading"},
        element("div", null, turns),
        element(
          "aside",
          null,
          values.some((value) => !Number.isNaN(value)) &&
            panel(
              "Surprise",
              turnlens.charts.curve(values, (turn) => goTo(turns, turn)),
              note(SURPRISE, " Press a point to go to its turn."),
            ),
          similar(c),
        ),
      ),
    );
    return {
      scrolls: Number(route.options.turn) > 0,
      key: (event) => {
        const next =
          event.key === "j" ? neighbour(c, 1, selection) : event.key === "k" ? neighbour(c, -1, selection) : -1;
        if (next >= 0) turnlens.route.go("conversation", [next]);
      },
    };
  }

  /** Shows the number of messages with boilerplate. */
  function count(holder, words) {
    const struck = words.filter(({spans}) => spans.length > 0).length;
    if (struck) fill(holder, `boilerplate in ${turnlens.numbers.plural(struck, "message")}, `, element("s", null, "struck out"));
  }

  function line(c, m, turn, words, selection) {
    const {messages, summary} = turnlens.report;
    const side = messages.role[m] % 2 ? "right" : "left";
    const faint = selection.filtered && !selection.message[m];
    const {text} = words;
    const body = element("div", {class: "said"}, turnlens.texts.quote(words, LONG));
    if (text.length > LONG) {
      const all = button(
        `Show all ${turnlens.numbers.integer(text.length)} characters`,
        () => {
          fill(body, turnlens.texts.quote(words, text.length));
          all.remove();
        },
        {class: "quiet"},
      );
      body.append(element("br"), all);
    }
    return element(
      "li",
      {class: `turn ${side} ${faint ? "faint" : ""}`, id: `turn-${turn + 1}`, tabindex: "-1"},
      element(
        "div",
        {class: "about"},
        element("span", {class: "muted"}, `${turn + 1}`),
        role(summary.roles[messages.role[m]]),
        group("message", messages.group[m]),
        turnlens.texts.badge(words),
        labels("message", m),
        surprise(messages.surprise[m]),
        messages.unhappy?.[m] > 0 && element("span", {class: "badge quiet", title: "Nearer to sentences of complaint than of contentment"}, "unhappy"),
        turnlens.live.isLive() && follow(c, turn),
      ),
      body,
    );
  }

  /** A button that shows messages of other conversations that could follow a turn; the server ranks them. */
  function follow(c, turn) {
    const ask = button(
      "What could follow?",
      async () => {
        if (ask.ariaDisabled) return;
        ask.ariaDisabled = "true"; // not disabled, which would take the focus away
        const list = element("ol", {class: "replies", "aria-label": "What could follow"});
        ask.closest("li").append(list);
        try {
          const replies = await turnlens.live.next(c, turn);
          announce(`${turnlens.numbers.plural(replies.length, "message")} that could follow`);
          fill(
            list,
            replies.map((reply) =>
              element(
                "li",
                null,
                role(reply.role),
                reply.message >= 0 ? element("a", {href: turnlens.route.place(reply.message)}, quote(reply.text)) : quote(reply.text),
                element("span", {class: "muted"}, reply.score.toFixed(2)),
              ),
            ),
          );
        } catch (error) {
          fill(list, element("li", {class: "error", role: "alert"}, error.message));
          ask.ariaDisabled = null;
        }
      },
      {class: "quiet follow", "aria-label": `What could follow? After message ${turn + 1}`},
    );
    return ask;
  }

  function goTo(turns, turn) {
    const target = turns.children[turn];
    if (!target) return;
    target.scrollIntoView({block: "center"});
    target.focus({preventScroll: true});
  }

  function similar(c) {
    const {conversations} = turnlens.report;
    const count = conversations.similar.length / conversations.first.length;
    const rows = Array.from(conversations.similar.subarray(count * c, count * (c + 1))).filter((other) => other >= 0);
    return rows.length > 0 && panel("Similar conversations", turnlens.parts.conversations(rows));
  }

  function neighbour(c, step, selection) {
    for (let other = c + step; other >= 0 && other < selection.conversation.length; other += step) {
      if (selection.conversation[other]) return other;
    }
    return -1;
  }

  function steps(c, selection) {
    const link = (other, label) =>
      other >= 0 && element("a", {href: turnlens.route.link("conversation", [other])}, label);
    return element(
      "span",
      {class: "steps"},
      link(neighbour(c, -1, selection), "← previous"),
      link(neighbour(c, 1, selection), "next →"),
    );
  }

  return {render};
})();
