/* The first view: what people ask, what they are answered, what conversations are about, what is new. */
"use strict";

turnwise.views.overview = (() => {
  const {add, element} = turnwise.dom;
  const {integer, percent, percentWithin, day} = turnwise.numbers;
  const {panel, note, group, badges, table, NOUNS} = turnwise.parts;
  const REQUESTS = 10,
    OTHERS = 8;

  function render(main, route, selection) {
    const {list} = turnwise.report.groups.message;
    const fine = list.filter((each) => each.level === 1),
      counts = turnwise.parts.counts("message", selection);
    const asker = askerOf(route, fine);
    const opening = fine.some((each) => each.role === asker && each.opening);
    const isRequest = (each) => asker === null || (each.role === asker && Boolean(each.opening) === opening);
    const theirs = saidBy(asker, selection);
    const conversations = conversationsOf(theirs),
      times = turnwise.timeline.times("message", theirs);
    const seriesOf = (id) => turnwise.timeline.series(times, conversations.get(id) || new Set());
    const mine = {conversations, seriesOf, asker};
    const requests = fine.filter((each) => isRequest(each) && !each.move),
      said = fine.filter((each) => each.role === asker && !(isRequest(each) && !each.move)),
      answers = fine.filter((each) => asker !== null && each.role !== asker && !each.move);
    const others = selection.count.message - theirs.count.message;
    add(
      main,
      element("h1", null, "Overview"),
      tiles(selection),
      asked(route, requests, mine, fine),
      element(
        "div",
        {class: "columns"},
        stack(
          answers.length > 0 &&
            panel("What do we answer?", shortList("message", answers, counts, others), all("message")),
          changes(requests, mine),
        ),
        stack(
          topics(selection),
          said.length > 0 &&
            panel(
              "Said along the way",
              note(`What ${asker} says besides, such as greetings, thanks, assent, and details that were asked for.`),
              shortList("message", said, counts, selection.count.message - others),
            ),
          fresh(),
        ),
      ),
    );
    return {};
  }

  /** Panels below each other; nothing if there are none. */
  function stack(...panels) {
    return panels.some(Boolean) && element("div", {class: "stack"}, panels);
  }

  /** Who asks: as the address says, or else as the report does; null where all are grouped together. */
  function askerOf(route, fine) {
    const asker = route.options.asker ?? turnwise.report.summary.asker;
    return fine.some((each) => each.role === asker) ? asker : null;
  }

  /** The selection of the messages by whoever asks. */
  function saidBy(asker, selection) {
    if (asker === null) return selection;
    const {messages, summary} = turnwise.report;
    const role = summary.roles.indexOf(asker),
      message = selection.message.map((passes, m) => (passes && messages.role[m] === role ? 1 : 0));
    return {...selection, message, count: {...selection.count, message: message.reduce((sum, value) => sum + value, 0)}};
  }

  /** The conversations in which each group of messages occurs, among the messages that pass; -1 for none. */
  function conversationsOf({message}) {
    const {group: column, conversation} = turnwise.report.messages;
    const met = new Map();
    for (let m = 0; m < message.length; m++) {
      if (!message[m]) continue;
      if (!met.has(column[m])) met.set(column[m], new Set());
      met.get(column[m]).add(conversation[m]);
    }
    return met;
  }

  /** How many conversations there are in some of these sets. */
  function together(sets) {
    const all = new Set();
    for (const set of sets) for (const conversation of set) all.add(conversation);
    return all.size;
  }

  function sorted(list, counts) {
    return [...list].sort((a, b) => (counts.get(b.id) || 0) - (counts.get(a.id) || 0));
  }

  /** What people ask: a sentence with keywords, how often, how it changes, and what is answered. */
  function asked(route, requests, {conversations, seriesOf, asker}, fine) {
    const roles = [...new Set(fine.map((each) => each.role))].filter((role) => typeof role === "string");
    const counts = new Map([...conversations].map(([id, set]) => [id, set.size])),
      total = together(conversations.values()),
      known = together(requests.map(({id}) => conversations.get(id) || []));
    const most = Math.max(1, ...requests.map((each) => counts.get(each.id) || 0));
    const shown = sorted(requests, counts);
    return panel(
      asker === null ? "What do people say?" : "What do people ask?",
      note(
        "Messages that mean much the same form a group, named by a typical one, with words that set it apart. ",
        `Shares are of ${turnwise.numbers.plural(total, "conversation")}; `,
        `${percent(total ? known / total : 0)} have a message${asker === null ? "" : ` by ${asker}`} in one of these groups.`,
      ),
      roles.length > 1 &&
        turnwise.dom.choice(
          "Who asks",
          roles.map((role) => [role, turnwise.dom.shortened(role, 40)]),
          asker,
          (role) => turnwise.route.setOptions({asker: role}),
        ),
      shown.length === 0 && note("There are no groups: too few messages are alike."),
      turnwise.parts.inPieces(
        shown,
        (rows) =>
          element(
            "ul",
            {class: "requests"},
            rows.map((each) => request(each, seriesOf(each.id), counts, most, total)),
          ),
        REQUESTS,
      ),
    );
  }

  function request(each, series, counts, most, total) {
    const count = counts.get(each.id) || 0;
    const answer = element("p", {class: "answer"});
    if (typeof each.answer === "number")
      turnwise.texts.get(each.answer).then((text) => add(answer, "A typical next message: ", turnwise.dom.quote(text, 140)));
    return element(
      "li",
      null,
      element(
        "div",
        {class: "what"},
        element("strong", null, group("message", each.id), badges(each)),
        keywords(each),
        answer,
      ),
      element(
        "div",
        {class: "how-often"},
        turnwise.charts.bar(count / most),
        element(
          "span",
          null,
          element("strong", null, percent(total ? count / total : 0)),
          element("span", {class: "muted"}, ` ${integer(count)} of ${integer(total)}`),
        ),
        series && trend(series),
      ),
    );
  }

  /** A line over time, and whether the share surely changed. */
  function trend(series) {
    const {change} = series;
    const sure = change && turnwise.differences.distance(change.interval) > 0;
    const word = sure ? (change.difference > 0 ? "growing" : "declining") : "steady";
    return element(
      "span",
      {class: `trend ${word}`, title: change ? `${percent(change.before)}, later ${percent(change.after)}` : null},
      turnwise.charts.spark(series.points),
      {growing: "▲ ", declining: "▼ ", steady: ""}[word],
      word,
    );
  }

  function keywords(each) {
    return element(
      "p",
      {class: "keywords", dir: "auto"},
      turnwise.dom.shortened(each.phrases.slice(0, 5).join(" · "), 120),
    );
  }

  /** Names with their keywords and shares of a total. */
  function shortList(level, groups, counts, total) {
    return element(
      "ul",
      {class: "short"},
      sorted(groups, counts)
        .slice(0, OTHERS)
        .map((each) =>
          element(
            "li",
            null,
            element("div", null, group(level, each.id), badges(each), keywords(each)),
            element("span", {class: "number"}, percent(total ? (counts.get(each.id) || 0) / total : 0)),
          ),
        ),
    );
  }

  function all(level) {
    const {list} = turnwise.report.groups[level];
    const number = list.filter((each) => each.level === 1).length;
    return element(
      "p",
      null,
      element("a", {href: turnwise.route.link("groups", [], {level})}, `All ${integer(number)} ${NOUNS[level][1]}`),
    );
  }

  function topics(selection) {
    const {list} = turnwise.report.groups.conversation;
    const fine = list.filter((each) => each.level === 1);
    if (list.length === 0) return null;
    const counts = turnwise.parts.counts("conversation", selection);
    return panel(
      "What are conversations about?",
      shortList("conversation", fine.length ? fine : list, counts, selection.count.conversation),
      all("conversation"),
    );
  }

  function tiles(selection) {
    const {summary, counts, groups} = turnwise.report;
    const fine = (level) => groups[level].list.filter((each) => each.level === 1).length;
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
      tile(integer(fine("message")), "groups of messages"),
      tile(integer(fine("conversation")), "topics"),
      first !== null && tile(day(first), "first day", `last: ${day(last)}`),
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

  /** Which requests grew and declined most surely between the earlier and the later half of the time. */
  function changes(requests, {seriesOf}) {
    const rows = requests
      .map(({id}) => ({id, change: seriesOf(id)?.change}))
      .filter(({change}) => change && turnwise.differences.distance(change.interval) > 0);
    if (rows.length === 0)
      return turnwise.report.summary.times.first !== null && requests.length > 0
        ? panel("Growing and declining", note("No request grew or declined by more than chance."))
        : null;
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
      note("Shares of the conversations in the two halves of the time; only changes larger than chance."),
    );
  }

  return {render};
})();
