/* The first view: findings, conversations over time, what people ask, what they are answered and what else is said. */
"use strict";

turnlens.views.overview = (() => {
  const {add, element, button} = turnlens.dom;
  const {integer, percent, plural, day} = turnlens.numbers;
  const {panel, note, group, badges, NOUNS} = turnlens.parts;
  const OTHERS = {wide: 8, narrow: 4}; // rows of a short list

  function render(main, route, selection) {
    const asker = turnlens.groupLists.asker(),
      {requests, asides, answers} = turnlens.groupLists.lists();
    const mine = turnlens.groupLists.ofRole(asker, selection);
    const ofAll = turnlens.groupLists.ofRole(null, selection);
    const counts = new Map([...ofAll.conversations].map(([id, set]) => [id, set.size]));
    const total = ofAll.all.size;
    add(
      main,
      element("h1", {class: "for-screen-readers"}, "Overview"),
      findings(selection),
      summaryLine(selection),
      turnlens.volumeChart.show(requests, asker, Math.max(320, main.clientWidth)),
      asked(asker, requests, mine),
      element(
        "div",
        {class: "thirds"},
        answers.length > 0 &&
          panel("What do we answer?", shortList("message", sorted(answers, counts), counts, total), all("message")),
        topics(selection),
        asides.length > 0 &&
          panel(
            "Said along the way",
            shortList("message", sorted(asides, counts), counts, total, (each) => turnlens.groupLists.moving(each, "↑")),
          ),
      ),
    );
    return {};
  }

  function sorted(list, counts) {
    return [...list].sort((a, b) => (counts.get(b.id) || 0) - (counts.get(a.id) || 0));
  }

  /** What is beyond chance and large, in sentences that the report was made with. */
  function findings(selection) {
    const {findings: sentences} = turnlens.report.summary;
    if (sentences.length === 0) return null;
    const piece = (part) => (typeof part === "number" ? ["“", group("message", part), "”"] : part);
    return [
      element("ul", {class: "findings", "aria-label": "Findings"}, sentences.map((sentence) => element("li", null, sentence.map(piece)))),
      selection.filtered && note("These are about all conversations, whatever is shown."),
    ];
  }

  /** The counts, in one line. */
  function summaryLine(selection) {
    const {summary, counts} = turnlens.report;
    const {first, last} = summary.times;
    const number = (level) =>
      selection.filtered ? `${integer(selection.count[level])} of ${plural(counts[level], level)}` : plural(counts[level], level);
    const parts = [number("conversation"), number("message"), plural(summary.counts.speakers, "speaker")];
    if (first !== null) parts.push(`${day(first)} to ${day(last)}`);
    return element("p", {class: "muted counts"}, parts.join(" · "));
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
    const title = asker === null ? "What do people say?" : "What do people ask?";
    return panel(
      [title, turnlens.parts.explanation(title, meaning(asker, mine))],
      exceptions > 0 &&
        note(
          `You have moved ${plural(exceptions, "group")}, which the address keeps. `,
          button("Put back", () => turnlens.route.setOptions({moved: ""}), {class: "quiet", id: "put-back"}),
        ),
      requests.length === 0
        ? [who, note("There are no groups: too few messages are alike.")]
        : turnlens.requestTable.show(requests, mine, who),
    );
  }

  /** What the columns mean. */
  function meaning(asker, mine) {
    const names = turnlens.numbers.measureNames();
    const of = asker !== null && ` in which ${asker} says something`;
    return [
      ["request", "messages that mean much the same, named by a typical one or by the words that set it apart"],
      ["share", ["of ", plural(mine.all.size, "conversation"), of]],
      mine.compared && ["trend", `its share before and after: ${mine.compared.words}`],
      ["▲ ▼", "more, or less, than chance would give among so many requests"],
      names.includes("unhappy") && ["unhappy", "of its conversations in which people write again after an answer, the share in which they sound more like complaining than content"],
      names.includes("minutes") && ["minutes", "from the first to the last message"],
      ["along the way", "greetings, thanks, assent and details that were asked for, which are no requests"],
    ].filter(Boolean);
  }

  /** Names with their shares of a total, the first of many; `more` adds to each. */
  function shortList(level, groups, counts, total, more = () => null) {
    const row = (each) =>
      element(
        "li",
        null,
        element("span", {class: "name"}, group(level, each.id), badges(each)),
        more(each),
        element("span", {class: "number"}, percent(total ? (counts.get(each.id) || 0) / total : 0)),
      );
    return turnlens.parts.inPieces(
      groups,
      (some) => element("ul", {class: "short"}, some.map(row)),
      OTHERS[turnlens.parts.isNarrow() ? "narrow" : "wide"],
    );
  }

  function all(level) {
    const number = turnlens.report.groups[level].fine.length;
    return element("p", null, element("a", {href: turnlens.route.link("groups", [], {level})}, `All ${integer(number)} ${NOUNS[level][1]}`));
  }

  function topics(selection) {
    const {list, fine} = turnlens.report.groups.conversation;
    if (list.length === 0) return null;
    const counts = turnlens.parts.counts("conversation", selection);
    return panel(
      "What are conversations about?",
      shortList("conversation", sorted(fine, counts), counts, selection.count.conversation),
      all("conversation"),
    );
  }

  return {render};
})();
