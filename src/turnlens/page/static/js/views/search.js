/* Search: words in the page itself; where a server embeds the query, words and meaning together. */
"use strict";

turnlens.views.search = (() => {
  const {add, element, button, choice, fill, announce} = turnlens.dom;
  const {note} = turnlens.parts;
  const {integer, plural} = turnlens.numbers;
  const MOST = 200,
    MOST_ASKED = 1000; // where a filter takes some away
  const MODES = [
    ["hybrid", "words and meaning"],
    ["words", "all words"],
    ["vector", "meaning"],
  ];

  function render(main, route, selection) {
    const query = route.options.q || "",
      isLive = turnlens.live.isLive();
    const asked = MODES.some(([name]) => name === route.options.mode) ? route.options.mode : "hybrid";
    const mode = isLive ? asked : "words";
    const input = element("input", {
      type: "search",
      id: "search",
      value: query,
      placeholder: "words of a message",
      "aria-label": "Search",
    });
    const hits = element("div", {id: "hits"});
    input.addEventListener("change", () => turnlens.route.setOptions({q: input.value.trim()}));
    add(
      main,
      element("h1", null, "Search"),
      element(
        "div",
        {class: "tools search"},
        input,
        isLive && choice("Find by", MODES, mode, (value) => turnlens.route.setOptions({mode: value})),
      ),
      hits,
    );
    if (route.options.type) input.focus();
    show(hits, query, mode, selection);
    return {};
  }

  async function show(holder, query, mode, selection) {
    fill(holder, element("p", {class: "muted", role: "status"}, "Searching …"));
    try {
      const rows = query && mode !== "words" ? await ranked(query, mode, selection) : await withWords(query, selection);
      const found = rows.length > 0 && heading(query, rows, mode);
      fill(
        holder,
        found
          ? [found, turnlens.parts.inPieces(rows, (some) => turnlens.parts.messages(some))]
          : await suggestions(query, mode, selection),
      );
      if (query) announce(found ? found.textContent : "Nothing was found");
    } catch (error) {
      fill(holder, element("p", {class: "error", role: "alert"}, error.message));
    }
  }

  function heading(query, rows, mode) {
    const count = plural(rows.length, "message");
    if (!query) return note(`${count} pass the filter. Words are found without regard to case and accents.`);
    if (mode === "words") return element("p", null, `${count} with all of these words`);
    return element("p", null, `The best ${count}, by ${mode === "vector" ? "meaning" : "words and meaning"}`);
  }

  /** Without a hit: the other way of searching, or how often each word occurs alone. */
  async function suggestions(query, mode, selection) {
    const search = (label, changes) => button(label, () => turnlens.route.setOptions(changes));
    const ways = [];
    if (mode !== "words") ways.push(search("Search for the words alone", {mode: "words"}));
    else if (turnlens.live.isLive()) ways.push(search("Search by words and meaning", {mode: "hybrid"}));
    const words = [...new Set(query.split(/\s+/))];
    if (mode === "words" && words.length > 1)
      for (const word of words) {
        const {length} = await withWords(word, selection);
        if (length > 0) ways.push(search([element("bdi", null, word), ` (${integer(length)})`], {q: word}));
      }
    if (selection.filtered) ways.push(button("Search everything", turnlens.filterBar.clear));
    return [
      element(
        "p",
        {role: "status"},
        `No message ${mode === "words" ? "has all of these words" : "among the nearest is shown"}`,
        selection.filtered ? " and passes the filter." : ".",
      ),
      element("div", {class: "tools"}, ways),
    ];
  }

  /** The messages that pass and hold all words of a query. */
  async function withWords(query, selection) {
    const mask = query ? await turnlens.texts.matching(query) : selection.message;
    return turnlens.numbers.passing(mask).filter((m) => selection.message[m]);
  }

  async function ranked(query, mode, selection) {
    const hits = await turnlens.live.search(query, mode, selection.filtered ? MOST_ASKED : MOST);
    return hits
      .map(({message}) => message)
      .filter((m) => selection.message[m])
      .slice(0, MOST);
  }

  return {render};
})();
