/* All groups: the coarse ones by size, each with the finer ones within. */
"use strict";

turnwise.views.groups = (() => {
  const {add, element, choice} = turnwise.dom;
  const {integer, percent} = turnwise.numbers;
  const {group, badges, sizes, note} = turnwise.parts;

  function render(main, route, selection) {
    const level = route.options.level === "conversation" ? "conversation" : "message";
    const counts = turnwise.parts.counts(level, selection),
      total = selection.count[level];
    const {coarse, children} = turnwise.report.groups[level];
    const list = [...coarse].sort((a, b) => (counts.get(b.id) || 0) - (counts.get(a.id) || 0));
    add(
      main,
      element("h1", null, level === "message" ? "Groups of messages" : "Topics of conversations"),
      element(
        "div",
        {class: "tools"},
        choice(
          "Groups of",
          [
            ["message", "messages"],
            ["conversation", "conversations"],
          ],
          level,
          (value) => turnwise.route.setOptions({level: value}),
        ),
        turnwise.live.isLive() && turnwise.groupEdits.merging(level, list),
      ),
      list.length === 0 ? note("There are no groups: too few messages are alike.") : null,
      element(
        "div",
        {class: "masonry"},
        list.map((each) => card(level, each, counts, total)),
      ),
      note(
        `${integer(counts.get(-1) || 0)} ${level}s (${percent(total ? (counts.get(-1) || 0) / total : 0)}) are in no group. `,
        element("a", {href: noneLink(level)}, "Look at them"),
      ),
    );

    function card(which, each, sizesOf, all) {
      const within = [...children(each.id)].sort((a, b) => (sizesOf.get(b.id) || 0) - (sizesOf.get(a.id) || 0));
      return element(
        "section",
        {class: "panel"},
        element("h2", null, group(which, each.id), badges(each)),
        element(
          "p",
          {class: "muted"},
          `${integer(sizesOf.get(each.id) || 0)} ${which}s, `,
          percent(all ? (sizesOf.get(each.id) || 0) / all : 0),
        ),
        element(
          "p",
          {class: "phrases"},
          each.phrases.slice(0, 6).map((phrase) => element("span", {dir: "auto"}, turnwise.dom.shortened(phrase, 40))),
        ),
        within.length > 1 && sizes(which, within, sizesOf, all),
      );
    }
    return {};
  }

  function noneLink(level) {
    const {filter} = turnwise.route.current();
    const view = level === "message" ? "search" : "conversations";
    return turnwise.route.format({view, filter: {...filter, [level === "message" ? "group" : "topic"]: ["none"]}});
  }

  return {render};
})();
