/* The first view: what people ask, what they are answered, what conversations are about, what is new. */
"use strict";

turnwise.views.overview = (() => {
  const {add, element, button} = turnwise.dom;
  const {integer, percent, percentWithin, plural, day} = turnwise.numbers;
  const {panel, note, group, badges, table, NOUNS} = turnwise.parts;
  const REQUESTS = 10,
    OTHERS = 8;

  function render(main, route, selection) {
    const asker = turnwise.listing.asker(),
      {requests, said, answers} = turnwise.listing.lists();
    const mine = turnwise.listing.spoken(asker, selection);
    const counts = turnwise.parts.counts("message", selection);
    add(
      main,
      element("h1", null, "Overview"),
      tiles(selection),
      asked(asker, requests, mine),
      changes(requests, mine),
      element(
        "div",
        {class: "masonry narrow"},
        answers.length > 0 &&
          panel(
            "What do we answer?",
            shortList("message", largest(answers, counts), counts, selection.count.message - mine.count),
            all("message"),
          ),
        topics(selection),
        said.length > 0 &&
          panel(
            "Said along the way",
            note(
              asker === null ? "What people say besides" : `What ${asker} says besides`,
              ", such as greetings, thanks, assent, and details that were asked for.",
            ),
            turnwise.parts.inPieces(
              sorted(said, counts),
              (rows) =>
                shortList("message", rows, counts, mine.count, (each) => moving(each, "↑ to the list above")),
              OTHERS,
            ),
          ),
        fresh(),
      ),
    );
    return {};
  }

  function sorted(list, counts) {
    return [...list].sort((a, b) => (counts.get(b.id) || 0) - (counts.get(a.id) || 0));
  }

  function largest(list, counts) {
    return sorted(list, counts).slice(0, OTHERS);
  }

  /** What people ask: a sentence with keywords, how often, how it changes, and what is answered. */
  function asked(asker, requests, {conversations, total, seriesOf}) {
    const {list} = turnwise.report.groups.message;
    const roles = [...new Set(list.map((each) => each.role))].filter((role) => typeof role === "string");
    const counts = new Map([...conversations].map(([id, set]) => [id, set.size])),
      known = turnwise.listing.together(requests.map(({id}) => conversations.get(id) || [])),
      exceptions = turnwise.listing.moved().size;
    const most = Math.max(1, ...requests.map((each) => counts.get(each.id) || 0));
    const shown = sorted(requests, counts);
    return panel(
      asker === null ? "What do people say?" : "What do people ask?",
      note(
        "Messages that mean much the same form a group, named by a typical one, with words that set it apart. ",
        `Shares are of ${plural(total, "conversation")}; `,
        `${percent(total ? known / total : 0)} have a message${asker === null ? "" : ` by ${asker}`} in one of these groups.`,
        exceptions > 0 && [
          ` You have moved ${plural(exceptions, "group")}, which the address keeps. `,
          button("Put back", () => turnwise.route.setOptions({moved: ""}), {class: "quiet", id: "put-back"}),
        ],
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
        element("div", {class: "trend"}, series && trend(series), moving(each, "↓ along the way")),
      ),
    );
  }

  /** Moves a group between what is asked and what is said along the way. */
  function moving(each, label) {
    return button(label, () => turnwise.listing.move(each.id), {
      id: `move-${each.id}`,
      class: "quiet move",
      "aria-label": `${label}: ${turnwise.dom.shortened(each.name, 80)}`,
    });
  }

  /** A line over time, and whether the share surely changed. */
  function trend(series) {
    const {change} = series;
    const sure = change && turnwise.differences.distance(change.interval) > 0;
    const word = sure ? (change.difference > 0 ? "growing" : "declining") : "steady";
    return element(
      "span",
      {class: word, title: change ? `${percent(change.before)}, later ${percent(change.after)}` : null},
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

  /** Names with their keywords and shares of a total; `more` makes what else is said of each. */
  function shortList(level, groups, counts, total, more = () => null) {
    return element(
      "ul",
      {class: "short"},
      groups.map((each) =>
        element(
          "li",
          null,
          element("div", null, group(level, each.id), badges(each), more(each), keywords(each)),
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
      shortList("conversation", largest(fine.length ? fine : list, counts), counts, selection.count.conversation),
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
      note(
        "Shares of the conversations in the two halves of the time; only changes larger than chance, which still lists one ",
        "of twenty requests that have not changed.",
      ),
    );
  }

  return {render};
})();
