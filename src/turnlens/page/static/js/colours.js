/* Colours and signs of groups, roles, labels, surprise and time; the legend of the map. */
"use strict";

turnlens.colours = (() => {
  const {element, button} = turnlens.dom;
  const {integer} = turnlens.numbers;
  // Colours that colour-blind people can tell apart (Okabe and Ito, 2008), with a shape for each time they repeat.
  const LIGHT = ["#0072b2", "#d55e00", "#009e73", "#b8860b", "#cc5a9a", "#3a9fd6", "#5b3fa0"];
  const DARK = ["#56a8e0", "#ff8a3c", "#2fc79a", "#f0c43c", "#e78ac3", "#9fd8ff", "#b39ddb"];
  const NONE = {light: "#a3a9b1", dark: "#5f6671"};
  const MOST = 20; // in the legend
  const SHAPES = ["●", "■", "▲", "◆", "✚"];
  // Cividis, made for colour-blind readers, from expected to surprising.
  const RAMP = ["#00224e", "#123570", "#3b496c", "#575d6d", "#707173", "#8a8678", "#a59c74", "#c3b369", "#e1cc55", "#fee838"];

  /** The colour of a group or another category, its sign, and the number of the sign's shape. */
  function category(index) {
    const isDark = turnlens.theme.isDark();
    if (index < 0) return {colour: NONE[isDark ? "dark" : "light"], shape: 0, sign: "○"};
    const list = isDark ? DARK : LIGHT;
    const shape = Math.floor(index / list.length) % SHAPES.length;
    return {colour: list[index % list.length], shape, sign: SHAPES[shape]};
  }

  /** The colour of a share from 0 to 1. */
  function ramp(share) {
    const colours = turnlens.theme.isDark() ? RAMP : [...RAMP].reverse();
    return colours[Math.max(0, Math.min(RAMP.length - 1, Math.floor(share * RAMP.length)))];
  }

  /** Red, green and blue, from 0 to 255. */
  function rgb(colour) {
    return [1, 3, 5].map((start) => parseInt(colour.slice(start, start + 2), 16));
  }

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
   * The colouring of the points of a level: `{category(row), bytes(), legend(selection, onHighlight)}`.
   */
  function colouring(level, by = "group") {
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
    return categorical(level, columns.group, groups[level].fine, level === "message" ? "group" : "topic");
  }

  /** @param categories `{id, name, colour}`; the colour is a number of the palette. */
  function categorical(level, codes, categories, filter) {
    const colours = new Map(categories.map((each) => [each.id, category(each.colour)]));
    const none = category(-1);
    return {
      category: (row) => codes[row],
      bytes() {
        const four = new Map(
          [...colours, [-1, none]].map(([id, {colour, shape}]) => [id, [...rgb(colour), shape]]),
        );
        const bytes = new Uint8Array(4 * codes.length);
        for (let row = 0; row < codes.length; row++) bytes.set(four.get(codes[row]) || four.get(-1), 4 * row);
        return bytes;
      },
      legend(selection, onHighlight) {
        const counts = turnlens.numbers.tally(codes, selection[level]);
        const present = categories
          .filter((each) => counts.has(each.id))
          .sort((a, b) => (a.colour < 0) - (b.colour < 0) || counts.get(b.id) - counts.get(a.id));
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
        const none = rgb(category(-1).colour);
        for (let row = 0; row < values.length; row++) {
          const place = share(values[row]);
          bytes.set(Number.isNaN(place) ? none : rgb(ramp(place)), 4 * row);
        }
        return bytes;
      },
      legend: () => [
        element("h2", null, "Legend"),
        element(
          "div",
          {class: "ramp", "aria-hidden": "true"},
          Array.from({length: 10}, (_, i) =>
            element("span", {style: {background: ramp(i / 10)}}),
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

  return {category, rgb, choices, colouring};
})();
