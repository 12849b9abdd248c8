/* The first view: what people ask, what they are answered, what conversations are about, what is new. */
"use strict";

turnlens.views.overview = (() => {
  const {add, element, button} = turnlens.dom;
  const {integer, percent, plural, day} = turnlens.numbers;
  const {panel, note, group, badges, table, NOUNS} = turnlens.parts;
  const OTHERS = 8,
    ABOUT = {
      repeats: "Repeats: in what share of conversations the same is asked again after an answer.",
      wait: "Wait: its longest wait for an answer, in minutes.",
      minutes: "Minutes: from its first to its last message.",
    };

  function render(main, route, selection) {
    const asker = turnlens.groupLists.asker(),
      {requests, asides, answers} = turnlens.groupLists.lists();
    const mine = turnlens.groupLists.ofRole(asker, selection);
    const ofAll = turnlens.groupLists.ofRole(null, selection);
    const counts = new Map([...ofAll.conversations].map(([id, set]) => [id, set.size]));
    const short = (groups, more) => shortList("message", groups, counts, ofAll.all.size, more);
    add(
      main,
      element("h1", null, "Overview"),
      tiles(selection),
      asked(asker, requests, mine),
      element(
        "div",
        {class: "masonry narrow"},
        answers.length > 0 &&
          panel(
            "What do we answer?",
            note("In what share of the conversations."),
            short(sorted(answers, counts).slice(0, OTHERS)),
            all("message"),
          ),
        topics(selection),
        asides.length > 0 &&
          panel(
            "Said along the way",
            note(
              asker === null ? "What people say besides" : `What ${asker} says besides`,
              ", such as greetings, thanks, assent, and details that were asked for; in what share of the conversations.",
            ),
            turnlens.parts.inPieces(
              sorted(asides, counts),
              (rows) => short(rows, (each) => turnlens.groupLists.moving(each, "↑ to the list above")),
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

  /** The panel of requests. */
  function asked(asker, requests, mine) {
    const {list} = turnlens.report.groups.message;
    const roles = [...new Set(list.map((each) => each.role))].filter((role) => typeof role === "string");
    const exceptions = turnlens.groupLists.moved().size;
    const who =
      roles.length > 1 &&
      turnlens.dom.choice(
        "Who asks",
        roles.map((role) => [role, turnlens.dom.shortened(role, 40)]),
        asker,
        (role) => turnlens.route.setOptions({asker: role}),
      );
    return panel(
      asker === null ? "What do people say?" : "What do people ask?",
      note(
        "Messages that mean much the same form a group, named by a typical one or, where they differ more, by words that set it apart. ",
        `Shares are of ${plural(mine.all.size, "conversation")}`,
        asker !== null && ` in which ${asker} says something`,
        mine.compared && `; the trend compares ${mine.compared.words}`,
        ". ▲ and ▼ mark what is more than chance.",
        Object.entries(ABOUT).map(([name, about]) => turnlens.numbers.measureNames().includes(name) && ` ${about}`),
        exceptions > 0 && [
          ` You have moved ${plural(exceptions, "group")}, which the address keeps. `,
          button("Put back", () => turnlens.route.setOptions({moved: ""}), {class: "quiet", id: "put-back"}),
        ],
      ),
      requests.length === 0
        ? [who, note("There are no groups: too few messages are alike.")]
        : turnlens.requestTable.show(requests, mine, who),
    );
  }

  /** Names with their keywords and shares of a total; `more` adds to each. */
  function shortList(level, groups, counts, total, more = () => null) {
    return element(
      "ul",
      {class: "short"},
      groups.map((each) =>
        element(
          "li",
          null,
          element("div", null, group(level, each.id), badges(each), more(each), turnlens.parts.keywords(each)),
          element("span", {class: "number"}, percent(total ? (counts.get(each.id) || 0) / total : 0)),
        ),
      ),
    );
  }

  function all(level) {
    const {list} = turnlens.report.groups[level];
    const number = list.filter((each) => each.level === 1).length;
    return element(
      "p",
      null,
      element("a", {href: turnlens.route.link("groups", [], {level})}, `All ${integer(number)} ${NOUNS[level][1]}`),
    );
  }

  function topics(selection) {
    const {list} = turnlens.report.groups.conversation;
    const fine = list.filter((each) => each.level === 1);
    if (list.length === 0) return null;
    const counts = turnlens.parts.counts("conversation", selection);
    return panel(
      "What are conversations about?",
      note("Each conversation has one topic; its share of them."),
      shortList("conversation", sorted(fine.length ? fine : list, counts).slice(0, OTHERS), counts, selection.count.conversation),
      all("conversation"),
    );
  }

  function tiles(selection) {
    const {summary, counts, groups} = turnlens.report;
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
        summary.roles.length <= 4 && turnlens.dom.shortened(summary.roles.join(", "), 60),
      ),
      tile(integer(fine("message")), "groups of messages"),
      tile(integer(fine("conversation")), "topics"),
      summary.boilerplate?.messages > 0 &&
        tile(
          integer(summary.boilerplate.messages),
          "messages with boilerplate",
          summary.boilerplate.automatic > 0 && `${integer(summary.boilerplate.automatic)} of them automatic`,
        ),
      first !== null && tile(day(first), "first day", `last: ${day(last)}`),
    );
  }

  /** Groups that were not there when the data were last looked at. */
  function fresh() {
    const {groups} = turnlens.report;
    const rows = ["message", "conversation"].flatMap((level) =>
      groups[level].list
        .filter((each) => each.new)
        .map((each) => [group(level, each.id), level === "message" ? "group" : "topic", integer(each.size)]),
    );
    if (rows.length === 0) return null;
    return panel("New since last time", table("New groups", ["name", "kind", "size"], rows));
  }

  return {render};
})();
