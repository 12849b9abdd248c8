/* All groups: the coarse ones by size, each with the finer ones within. */
"use strict";

turnlens.views.groups = (() => {
  const {add, element, choice} = turnlens.dom;
  const {integer, percent, plural} = turnlens.numbers;
  const {group, badges, sizes, note} = turnlens.parts;
  const EXAMPLES = 3; // of each part of a group that was split

  function render(main, route, selection) {
    const level = route.options.level === "conversation" ? "conversation" : "message";
    const counts = turnlens.parts.counts(level, selection),
      total = selection.count[level];
    const {byId, coarse, children} = turnlens.report.groups[level];
    const size = (each) => counts.get(each.id) || 0;
    const present = (groups) => groups.filter((each) => size(each) > 0).sort((a, b) => size(b) - size(a));
    const parts = (route.options.parts?.split(",") || []).map((id) => byId.get(Number(id))).filter(Boolean);
    const areParts = parts.length > 0;
    const list = present(areParts ? parts : coarse);
    const title = level === "message" ? "Groups of messages" : "Topics of conversations";
    add(
      main,
      element("h1", null, areParts ? `Split into ${plural(parts.length, "group")}` : title),
      element(
        "div",
        {class: "tools"},
        areParts
          ? element("a", {href: turnlens.route.link("groups", [], {level})}, title)
          : choice(
              "Groups of",
              [
                ["message", "messages"],
                ["conversation", "conversations"],
              ],
              level,
              (value) => turnlens.route.setOptions({level: value}),
            ),
      ),
      level === "message" && coarse.length > 0 && note("Percentages are of messages; those of the overview are of conversations."),
      coarse.length === 0 ? note("There are no groups: too few messages are alike.") : null,
      element("div", {class: "masonry"}, list.map(card)),
      !areParts && [
        note(
          `${integer(counts.get(-1) || 0)} ${level}s (${percent(total ? (counts.get(-1) || 0) / total : 0)}) are in no group. `,
          element("a", {href: noneLink(level)}, "Look at them"),
        ),
        list.length < coarse.length &&
          note(`${plural(coarse.length - list.length, "group")} had nothing that passes the filter.`),
      ],
    );

    function card(each) {
      const within = present(children(each.id));
      return element(
        "section",
        {class: "panel"},
        element("h2", null, group(level, each.id), badges(each)),
        element("p", {class: "muted"}, `${plural(size(each), level)}, `, percent(total ? size(each) / total : 0), ` of ${selection.filtered ? "those shown" : "all"}`),
        element(
          "p",
          {class: "phrases"},
          each.phrases.slice(0, 6).map((phrase) => element("span", {dir: "auto"}, turnlens.dom.shortened(phrase, 40))),
        ),
        areParts && turnlens.parts[`${level}s`](each.central.slice(0, EXAMPLES), each.id),
        within.length > 1 && sizes(level, within, counts, total),
      );
    }
    return {};
  }

  function noneLink(level) {
    const {filter} = turnlens.route.current();
    const view = level === "message" ? "search" : "conversations";
    return turnlens.route.link(view, [], {}, {...filter, [level === "message" ? "group" : "topic"]: ["none"]});
  }

  return {render};
})();
