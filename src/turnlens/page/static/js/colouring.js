/* What the map's colours say: group, role, a label, surprise or time; and the legend. */
"use strict";

turnlens.colouring = (() => {
  const {element, button} = turnlens.dom;
  const {integer} = turnlens.numbers;
  const MOST = 20;

  /** Pairs of value and name for a drop-down list. */
  function choices(level) {
    const {summary, groups} = turnlens.report,
      columns = turnlens.report[`${level}s`];
    return [
      groups[level].list.length > 0 && ["group", level === "message" ? "group" : "topic"],
      level === "message" && ["role", "role"],
      ...Object.keys(summary.labels[level]).map((name) => [`label:${name}`, name]),
      summary.surprise && ["surprise", "surprise"],
      columns.time.some((time) => !Number.isNaN(time)) && ["time", "time"],
    ].filter(Boolean);
  }

  /**
   * How to colour the points of a level: `{category(row), bytes(), legend(selection, onHighlight)}`.
   * @param fine Whether groups are the fine ones.
   */
  function of(level, by = "group", fine = false) {
    const {summary, groups} = turnlens.report,
      columns = turnlens.report[`${level}s`];
    if (by === "surprise") return continuous(columns.surprise, (value) => value, ["expected", "surprising"]);
    if (by === "time") {
      const {first, last} = summary.times;
      return continuous(
        columns.time,
        (time) => (time - first) / (last - first),
        [first, last].map(turnlens.numbers.day),
      );
    }
    if (by === "role")
      return categorical(
        level,
        columns.role,
        summary.roles.map((name, id) => ({id, name, colour: id})),
        "role",
      );
    const label = by.startsWith("label:") && summary.labels[level][by.slice(6)];
    if (label) {
      const filter = (level === "message" ? "m." : "c.") + by.slice(6);
      return categorical(
        level,
        columns[by],
        label.map((name, id) => ({id, name: String(name), colour: id})),
        filter,
      );
    }
    const {top, coarse, fine: fineGroups, list} = groups[level];
    const filter = level === "message" ? "group" : "topic";
    if (fine)
      return categorical(
        level,
        columns.group,
        fineGroups.map((group, place) => ({...group, colour: place})),
        filter,
      );
    const above = new Map(list.map((group) => [group.id, top(group.id)]));
    return categorical(
      level,
      columns.group.map((id) => above.get(id) ?? -1),
      coarse,
      filter,
    );
  }

  /** @param categories `{id, name, colour}`; the colour is a number of the palette. */
  function categorical(level, codes, categories, filter) {
    const colours = new Map(categories.map((each) => [each.id, turnlens.palette.category(each.colour)]));
    const none = turnlens.palette.category(-1);
    return {
      category: (row) => codes[row],
      bytes() {
        const four = new Map(
          [...colours, [-1, none]].map(([id, {colour, shape}]) => [id, [...turnlens.palette.bytes(colour), shape]]),
        );
        const bytes = new Uint8Array(4 * codes.length);
        for (let row = 0; row < codes.length; row++) bytes.set(four.get(codes[row]) || four.get(-1), 4 * row);
        return bytes;
      },
      legend(selection, onHighlight) {
        const counts = new Map();
        codes.forEach((id, row) => selection[level][row] && counts.set(id, (counts.get(id) || 0) + 1));
        const present = categories
          .filter((each) => counts.has(each.id))
          .sort((a, b) => counts.get(b.id) - counts.get(a.id));
        const shown = [
          ...present.slice(0, MOST).map((each) => [each.id, each.name]),
          counts.has(-1) && [-1, "none"],
        ].filter(Boolean);
        return [
          element("h2", null, "Legend"),
          element(
            "ul",
            null,
            shown.map(([id, name]) => entry(id, name, counts.get(id), filter, onHighlight)),
          ),
          present.length > MOST && element("p", {class: "note"}, `and ${present.length - MOST} smaller ones`),
        ];
      },
    };

    function entry(id, name, count, filter, onHighlight) {
      const {colour, sign} = colours.get(id) || none;
      const value = filter === "role" || filter.includes(".") ? name : id < 0 ? "none" : String(id);
      const choose = () => turnlens.route.setFilter({[filter]: [value]});
      const listeners = {
        mouseenter: () => onHighlight(id),
        focusin: () => onHighlight(id),
        mouseleave: () => onHighlight(null),
        focusout: () => onHighlight(null),
      };
      const label = [
        element("span", {class: "sign", style: {color: colour}, "aria-hidden": "true"}, sign),
        element("bdi", null, turnlens.dom.shortened(name, 60)),
        element("span", {class: "number muted"}, integer(count)),
      ];
      const alone = id < 0 && filter.includes(".");
      return element(
        "li",
        {on: listeners},
        alone
          ? element("span", {class: "entry"}, label)
          : button(label, choose, {class: "entry", id: `legend-${id}`, title: "Show only these"}),
      );
    }
  }

  function continuous(values, share, ends) {
    return {
      category: () => null,
      bytes() {
        const bytes = new Uint8Array(4 * values.length);
        const none = turnlens.palette.bytes(turnlens.palette.category(-1).colour);
        for (let row = 0; row < values.length; row++) {
          const place = share(values[row]);
          bytes.set(Number.isNaN(place) ? none : turnlens.palette.bytes(turnlens.palette.continuous(place)), 4 * row);
        }
        return bytes;
      },
      legend: () => [
        element("h2", null, "Legend"),
        element(
          "div",
          {class: "ramp", "aria-hidden": "true"},
          Array.from({length: 10}, (_, i) =>
            element("span", {style: {background: turnlens.palette.continuous(i / 10)}}),
          ),
        ),
        element(
          "p",
          {class: "ends"},
          ends.map((end) => element("span", null, end)),
        ),
      ],
    };
  }

  return {choices, of};
})();
