/* Search: words in the page itself, meaning where a server embeds the query. */
"use strict";

turnwise.views.search = (() => {
  const {add, element, choice, fill} = turnwise.dom;
  const {note} = turnwise.parts;
  const MOST = 200;

  function render(main, route, selection) {
    const query = route.options.q || "",
      meaning = turnwise.live.isLive();
    const mode = meaning && ["vector", "hybrid"].includes(route.options.mode) ? route.options.mode : "words";
    const input = element("input", {
      type: "search",
      id: "search",
      value: query,
      placeholder: "what somebody said",
      "aria-label": "Search",
    });
    const found = element("div", {id: "found"});
    input.addEventListener("change", () => turnwise.route.setOptions({q: input.value.trim()}));
    add(
      main,
      element("h1", null, "Search"),
      element(
        "div",
        {class: "tools search"},
        input,
        meaning &&
          choice(
            "Find",
            [
              ["words", "all words"],
              ["vector", "the meaning"],
              ["hybrid", "both"],
            ],
            mode,
            (value) => turnwise.route.setOptions({mode: value}),
          ),
      ),
      found,
    );
    if (document.activeElement === document.body || document.activeElement === document.getElementById("main"))
      input.focus();
    show(found, query, mode, selection);
    return {};
  }

  async function show(found, query, mode, selection) {
    fill(found, element("p", {class: "muted", role: "status"}, "Searching …"));
    try {
      const hits = mode === "words" ? await words(query, selection) : await ranked(query, mode, selection);
      fill(found, heading(query, hits, mode), list(hits));
    } catch (error) {
      fill(found, element("p", {class: "error", role: "alert"}, error.message));
    }
  }

  function heading(query, hits, mode) {
    const count = turnwise.numbers.plural(hits.length, "message");
    if (!query) return note(`${count} pass the filter. Words are found without regard to case and accents.`);
    if (mode === "words") return element("p", null, `${count} with all of these words`);
    return element("p", null, `${count} of the ${MOST} nearest pass the filter, the nearest first`);
  }

  function list(hits) {
    return turnwise.parts.inPieces(hits, (rows) => turnwise.parts.messages(rows.map(([m]) => m)));
  }

  async function words(query, selection) {
    const mask = query ? await turnwise.texts.matching(query) : selection.message;
    const hits = [];
    for (let m = 0; m < mask.length; m++) if (mask[m] && selection.message[m]) hits.push([m]);
    return hits;
  }

  async function ranked(query, mode, selection) {
    if (!query) return words("", selection);
    const hits = await turnwise.live.search(query, mode, MOST);
    return hits.filter(({message}) => selection.message[message]).map(({message, score}) => [message, score]);
  }

  return {render};
})();
