/* Pieces that several views show: names of groups, messages, conversations, tables, long lists. */
"use strict";

turnlens.parts = (() => {
  const {element, button, quote, fill} = turnlens.dom;
  const {integer, percent} = turnlens.numbers;
  const BEGINNING = 8, // messages of a conversation, in the first three requests of which its subject is looked for
    GREETINGS = 2,
    GREETING_LENGTH = 20, // characters: what is shorter is a subject only if nothing longer is there
    MOST_LABELS = 4;
  const NOUNS = {message: ["group", "groups of messages"], conversation: ["topic", "topics of conversations"]};
  const LEVELS = ["message", "conversation"].map((level) => [level, `${level}s`]);

  function sign(level, id) {
    const {colour, sign: shape} = turnlens.colours.category(turnlens.report.groups[level].byId.get(id)?.colour ?? -1);
    return element("span", {class: "sign", style: {color: colour}, "aria-hidden": "true"}, shape);
  }

  /** A group's name, which leads to it. */
  function group(level, id) {
    if (id < 0) return element("span", {class: "group muted"}, sign(level, -1), "in no group");
    const name = turnlens.dom.shortened(turnlens.report.groups[level].name(id), 80);
    return element("a", {class: "group", href: turnlens.route.link("group", [level, id])}, sign(level, id), name);
  }

  function badges(each) {
    return [
      each.new && [" ", element("span", {class: "badge"}, "new")],
      each.mixed && [" ", element("span", {class: "badge quiet", title: "Its messages are mostly more like those of other groups"}, "mixed")],
      each.renamed && [" ", element("span", {class: "badge quiet"}, "renamed")],
    ];
  }

  const SURPRISE =
    "So many of a thousand random messages of the same role would fit better after the turns before: few if it was expected, half by chance, " +
    "most if it is a surprise. What usually follows was learned from the other half of these conversations.";

  /** A score of surprise from 0 to 1, as a bar with what it says. */
  function surprise(value) {
    if (Number.isNaN(value)) return null;
    return element(
      "span",
      {class: "surprise", title: "How many others of the same role would fit better here; by chance 50 %"},
      element("span", {class: "muted"}, "surprise"),
      turnlens.charts.bar(value, value >= 0.9 ? "var(--alarm)" : "var(--accent)"),
      `${percent(value)} would fit better`,
    );
  }

  /** A message in a list, which leads to its place: role and group, unless it is `within` one, and text. */
  function message(m, words, within = null) {
    const {messages, summary, groups} = turnlens.report;
    const about = [
      typeof groups.message.byId.get(within)?.role !== "string" && role(summary.roles[messages.role[m]]),
      messages.group[m] !== within && group("message", messages.group[m]),
      turnlens.texts.badge(words),
    ].filter(Boolean);
    return element(
      "li",
      {class: "message"},
      about.length > 0 && element("div", {class: "about"}, about),
      element("a", {class: "said", href: turnlens.route.place(m)}, turnlens.texts.quote(words)),
    );
  }

  /** The keywords of a group that are not in its name. */
  function keywords(each) {
    const named = each.name.split(" · ");
    const further = each.phrases.filter((phrase) => !named.includes(phrase)).slice(0, 5);
    return element("p", {class: "keywords", dir: "auto"}, turnlens.dom.shortened(further.join(" · "), 120));
  }

  function role(name) {
    return element("span", {class: "role", dir: "auto"}, turnlens.dom.shortened(name, 40));
  }

  /** A list whose items are shown when what they hold has arrived. */
  function arriving(promised, show) {
    const list = element("ol", {class: "messages"}, element("li", {class: "muted"}, "…"));
    promised.then(
      (found) => fill(list, found.map(show)),
      (error) => fill(list, element("li", {class: "error"}, error.message)),
    );
    return list;
  }

  /** A list of messages, with their texts when these have arrived; the group that all are `within` is not repeated. */
  function messages(rows, within) {
    return arriving(turnlens.texts.withBoilerplate(rows), (words, i) => message(rows[i], words, within));
  }

  /** Conversations in a list: what each is about, its day, labels, and its topic unless it is `within`; leads to it. */
  function conversations(rows, within) {
    return arriving(Promise.all(rows.map(subject)), (text, i) => conversation(rows[i], text, within));
  }

  function conversation(c, text, within) {
    const {conversations: columns, ids} = turnlens.report;
    return element(
      "li",
      {class: "message"},
      element(
        "a",
        {class: "said", href: turnlens.route.link("conversation", [c])},
        text === "" ? element("em", {class: "muted"}, "(empty)") : quote(text),
      ),
      element(
        "div",
        {class: "about"},
        element("bdi", {class: "id"}, turnlens.dom.shortened(ids[c], 40)),
        !Number.isNaN(columns.time[c]) && element("span", null, turnlens.numbers.day(columns.time[c])),
        element("span", null, turnlens.numbers.plural(columns.turns[c], "message")),
        columns.group[c] !== within && group("conversation", columns.group[c]),
        labels("conversation", c).slice(0, MOST_LABELS),
        surprise(columns.surprise[c]),
      ),
    );
  }

  /** The request of a conversation; where none is known, the first message that says more than hello. */
  async function subject(c) {
    const {
      conversations: columns,
      messages: {role, request},
      summary,
    } = turnlens.report;
    const asker = summary.roles.indexOf(summary.asker);
    const rows = Array.from({length: columns.turns[c]}, (_, turn) => columns.first[c] + turn);
    const asked = rows.slice(0, BEGINNING).filter((m) => asker < 0 || role[m] === asker);
    const requests = rows.filter((m) => request?.[m]);
    const texts = await turnlens.texts.withoutBoilerplate(requests.concat(asked.length ? asked.slice(0, GREETINGS + 1) : rows.slice(0, 1)));
    if (requests.length) return texts[0];
    const longest = texts.reduce((best, text) => (text.length > best.length ? text : best));
    return texts.find((text) => text.length >= GREETING_LENGTH) ?? longest;
  }

  /** The labels of a message or conversation, as pairs of name and value. */
  function labelled(level, row) {
    const {summary, [`${level}s`]: columns} = turnlens.report;
    const pairs = Object.entries(summary.labels[level]).map(([name, values]) => [name, values[columns[`label:${name}`][row]]]);
    return pairs.filter(([, value]) => value !== undefined);
  }

  function labels(level, row) {
    const shown = labelled(level, row).map(([name, value]) => turnlens.dom.shortened(`${name}: ${value}`, 60));
    return shown.map((text) => element("span", {class: "label"}, text));
  }

  /** A table that is scrolled by itself, of the cells of its head and what stands below. */
  function frame(caption, kind, head, ...below) {
    return element(
      "div",
      {class: `table ${kind}`, tabindex: "0", role: "region", "aria-label": caption},
      element(
        "table",
        null,
        element("caption", {class: "for-screen-readers"}, caption),
        element("thead", null, element("tr", null, head)),
        below,
      ),
    );
  }

  /** A table; numbers stand at the right. */
  function table(caption, headers, rows) {
    const cell = (content) => element("td", {class: typeof content === "string" && /^[−\d]/.test(content) ? "number" : null}, content);
    const head = headers.map((header) => element("th", {scope: "col"}, header));
    return frame(caption, "", head, element("tbody", null, rows.map((cells) => element("tr", null, cells.map(cell)))));
  }

  /** Groups by size: name, bar, count, share, and keywords if they are asked for. */
  function sizes(level, groups, counts, total, withKeywords = false) {
    const most = Math.max(1, ...groups.map((each) => counts.get(each.id) || 0));
    return element(
      "ul",
      {class: "sizes"},
      groups.map((each) => {
        const count = counts.get(each.id) || 0;
        const {colour} = turnlens.colours.category(each.colour);
        return element(
          "li",
          null,
          element("span", {class: "name"}, group(level, each.id), badges(each)),
          turnlens.charts.bar(count / most, colour),
          element("span", {class: "number"}, integer(count)),
          element("span", {class: "number muted"}, percent(total ? count / total : 0)),
          withKeywords && keywords(each),
        );
      }),
    );
  }

  /** Sizes of fine and coarse groups among the rows that pass; -1 for no group. */
  function counts(level, selection) {
    const {top} = turnlens.report.groups[level];
    const found = turnlens.numbers.tally(turnlens.report[`${level}s`].group, selection[level]);
    for (const [id, count] of [...found]) {
      const above = id < 0 ? id : top(id);
      if (above !== id) found.set(above, (found.get(above) || 0) + count);
    }
    return found;
  }

  /** Shows the first rows of many, and more of them on request. */
  function inPieces(rows, show, size = 30) {
    const holder = element("div");
    let shown = 0;
    const more = button(
      "",
      () => {
        const piece = next();
        piece.tabIndex = -1;
        piece.focus({preventScroll: true}); // goes on at the first new row
      },
      {class: "more"},
    );
    function next() {
      const piece = show(rows.slice(shown, shown + size), shown);
      more.before(piece);
      shown += size;
      more.textContent = `Show more (${integer(Math.max(0, rows.length - shown))} left)`;
      more.hidden = shown >= rows.length;
      return piece;
    }
    holder.append(more);
    next();
    return holder;
  }

  function panel(title, ...content) {
    const [heading, ...beside] = [title].flat();
    return element("section", {class: "panel"}, element("div", {class: "heading"}, element("h2", null, heading), beside), content);
  }

  /** Tests for a window as narrow as a phone. */
  function isNarrow() {
    return window.innerWidth <= 700;
  }

  /** A question mark that opens what words mean, pairs of term and meaning. */
  function explanation(of, pairs) {
    return element(
      "details",
      {class: "menu explanation"},
      element("summary", {"aria-label": `What the words of “${of}” mean`}, "?"),
      element("dl", null, pairs.map(([term, meaning]) => [element("dt", null, term), element("dd", null, meaning)])),
    );
  }

  function note(...content) {
    return element("p", {class: "note"}, content);
  }

  return {
    NOUNS,
    LEVELS,
    sign,
    group,
    badges,
    surprise,
    SURPRISE,
    messages,
    conversations,
    subject,
    keywords,
    role,
    labels,
    labelled,
    frame,
    table,
    sizes,
    counts,
    inPieces,
    panel,
    explanation,
    isNarrow,
    note,
  };
})();
