/* The map: messages or conversations as points; what means the same lies together. */
"use strict";

turnlens.views.map = (() => {
  const {add, element, button, choice, fill, svg, quote} = turnlens.dom;
  const HIDDEN = 2; // in a mask: neither drawn as passing nor as filtered out

  function render(main, route, selection) {
    const level = route.options.level === "conversation" ? "conversation" : "message";
    const canvas = element("canvas", {
      tabindex: "0",
      role: "img",
      "aria-describedby": "map-note",
      "aria-label": `Map of ${turnlens.numbers.plural(turnlens.report.counts[level], level)}`,
    });
    const labels = element("div", {class: "map-labels", "aria-hidden": "true"});
    const drawing = svg("svg", {class: "map-drawing", "aria-hidden": "true"});
    const tip = element("div", {class: "map-tip", hidden: true});
    const legend = element("section", {class: "legend", "aria-label": "Legend"}),
      list = element("section", {class: "legend", "aria-label": "What is shown"});
    const stage = element("div", {class: "map-stage"}, canvas, labels, drawing, tip);
    const lasso = button("Draw around points", () => setLasso(!drawingOn), {
      "aria-pressed": "false",
      title: "By mouse (L); or drag with Shift",
    });
    add(
      main,
      element("h1", {class: "for-screen-readers"}, "Map"),
      tools(
        route,
        level,
        lasso,
        button("Main part", () => plot.fit(), {title: "0"}),
        button("Whole map", () => plot.fitWhole()),
        meaning(level),
      ),
      element("div", {class: "map"}, stage, element("aside", {class: "beside"}, legend, list)),
    );

    const who = shownRole(route, level),
      {messages, summary} = turnlens.report,
      code = summary.roles.indexOf(who);
    const isShown = (row) => who === null || messages.role[row] === code;
    const only = (all) => (who === null ? all : {...all, message: all.message.map((passes, m) => (isShown(m) ? passes : 0))});
    const [x, y] = ["x", "y"].map((axis) => turnlens.report[`${level}s`][axis].map((value, row) => (isShown(row) ? value : NaN)));
    let plot,
      state = {route, selection: only(selection)},
      drawingOn = false,
      listed = null, // the filter whose points are listed
      highlighted = null;
    try {
      plot = turnlens.scatter.create(canvas, x, y, {
        change: () => plot && showNames(labels, plot, level, state.selection),
        point: (index, place) => showTip(tip, stage, level, index, place),
        press: (index) => index >= 0 && (location.hash = level === "message" ? turnlens.route.place(index) : turnlens.route.link("conversation", [index])),
        drawing: (corners) => fill(drawing, corners.length && svg("polygon", {points: corners.map(String).join(" ")})),
        lasso: around,
      });
    } catch (error) {
      fill(stage, element("p", {class: "error", role: "alert"}, error.message));
      legend.remove();
      return {};
    }

    /** Only what lies within these corners passes, and is listed. */
    function around(corners) {
      setLasso(false);
      const text = corners.map((corner) => corner.map((value) => +value.toFixed(3)).join(",")).join(";");
      turnlens.route.setFilter({lasso: [`${level}:${text}${who === null ? "" : `:${code}`}`]});
    }

    function setLasso(on) {
      drawingOn = on;
      plot.setLasso(on);
      lasso.setAttribute("aria-pressed", String(on));
      stage.classList.toggle("drawing", on);
    }

    function colouring() {
      return turnlens.colours.colouring(level, state.route.options.colour);
    }

    function paint() {
      const colours = colouring();
      plot.setMask(
        state.selection[level].map((passes, row) => {
          if (!isShown(row)) return HIDDEN;
          return passes && (highlighted === null || colours.category(row) === highlighted) ? 1 : 0;
        }),
      );
      plot.paint(colours.bytes(), turnlens.colours.rgb(turnlens.colours.category(-1).colour));
    }

    function describe() {
      highlighted = null;
      fill(
        legend,
        colouring().legend(state.selection, (category) => {
          highlighted = category;
          paint();
        }),
      );
    }

    function update(newRoute, newSelection) {
      state = {route: newRoute, selection: only(newSelection)};
      main.querySelector("#colour").value = newRoute.options.colour || "group"; // the way back changes only the address
      describe();
      paint();
      const key = JSON.stringify([newRoute.filter, newRoute.options.by]);
      if (key !== listed) fill(list, rowsOf(level, state.selection[level], newRoute.filter.lasso?.[0].startsWith(level)));
      listed = key;
    }

    canvas.addEventListener("keydown", (event) => (event.key === "Enter" ? around(plot.corners()) : onKey(event, plot)));
    update(route, selection);
    return {
      update: (newRoute, newSelection) =>
        (newRoute.options.level || "message") === level && shownRole(newRoute, level) === who
          ? update(newRoute, newSelection)
          : turnlens.app.render(true),
      leave: () => plot.destroy(),
      key(event) {
        if (event.key === "l") setLasso(!drawingOn);
        else if (event.key === "Escape") setLasso(false);
      },
    };
  }

  /** Whose messages the map shows: of those who ask, unless the address or a filter says otherwise; null for all. */
  function shownRole({options, filter}, level) {
    const {roles} = turnlens.report.summary;
    if (level === "conversation" || options.by === "all" || filter.role) return null;
    return roles.includes(options.by) ? options.by : roles.length > 1 ? turnlens.groupLists.asker() : null;
  }

  /** What the map means, and how it is used. */
  function meaning(level) {
    const details = turnlens.parts.explanation("Map", [
      ["point", `a ${level}; what is near means much the same, and far distances say little`],
      ["colour", "the commonest groups have a colour and a sign of their own; the others are grey"],
      ["by mouse", "drag to move, scroll or pinch to zoom, press a point to read it"],
      ["by keyboard", "arrows move, + and − zoom, Enter lists what is in view"],
      ["whole map", "also shows islands that are far from all others"],
    ]);
    details.lastChild.id = "map-note";
    return details;
  }

  /** The points that pass the filter, as a list. */
  function rowsOf(level, mask, isDrawn) {
    const rows = turnlens.numbers.passing(mask);
    return [
      element("h2", null, isDrawn && "Drawn around: ", turnlens.numbers.plural(rows.length, level)),
      isDrawn && button("Remove", () => turnlens.route.setFilter({lasso: []}), {class: "quiet"}),
      turnlens.parts.inPieces(rows, (some) => turnlens.parts[`${level}s`](some)),
    ];
  }

  function tools(route, level, ...buttons) {
    const change = (name) => (value) => turnlens.route.setOptions({[name]: value});
    return element(
      "div",
      {class: "tools"},
      choice(
        "Points",
        turnlens.parts.LEVELS,
        level,
        (value) => turnlens.route.setOptions({level: value, colour: ""}),
      ),
      level === "message" &&
        !route.filter.role &&
        turnlens.groupLists.asker() !== null &&
        choice("Said by", [...turnlens.report.summary.roles.map((name) => [name, turnlens.dom.shortened(name, 40)]), ["all", "everybody"]], shownRole(route, level) ?? "all", change("by")),
      choice("Colour", turnlens.colours.choices(level), route.options.colour || "group", change("colour"), {id: "colour"}),
      buttons,
    );
  }

  function onKey(event, plot) {
    const moves = {ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60]};
    if (moves[event.key]) plot.pan(...moves[event.key]);
    else if (event.key === "+" || event.key === "=") plot.zoom(1.3);
    else if (event.key === "-") plot.zoom(1 / 1.3);
    else if (event.key === "0") plot.fit();
    else return;
    event.preventDefault();
  }

  /** Shows the point under the pointer. */
  function showTip(tip, stage, level, index, place) {
    tip.hidden = index < 0;
    stage.classList.toggle("pointing", index >= 0);
    if (index < 0 || tip.dataset.index === String(index)) return;
    const {messages, conversations, summary} = turnlens.report;
    tip.dataset.index = index;
    const words = element("span", null, "…");
    const about =
      level === "message"
        ? [
            turnlens.parts.role(summary.roles[messages.role[index]]),
            turnlens.parts.group("message", messages.group[index]),
          ]
        : [
            turnlens.parts.group("conversation", conversations.group[index]),
            turnlens.numbers.plural(conversations.turns[index], "message"),
          ];
    fill(tip, element("div", {class: "about"}, about), words);
    tip.style.left = `${Math.min(place.x + 14, stage.clientWidth - 290)}px`;
    tip.style.top = `${place.y + 14}px`;
    tip.classList.toggle("above", place.y > stage.clientHeight / 2);
    (level === "message" ? turnlens.texts.withoutBoilerplate([index]).then(([text]) => text) : turnlens.parts.subject(index)).then(
      (text) => tip.dataset.index === String(index) && fill(words, quote(text, 200)),
      () => {},
    );
  }

  /** The names of groups at their most central points. */
  function showNames(holder, plot, level, selection) {
    const {groups, [`${level}s`]: columns} = turnlens.report;
    const named = groups[level].fine.map((group) => ({
      ...group,
      rank: group.colour,
      colour: turnlens.colours.category(group.colour).colour,
      centre: group.central.find((row) => selection[level][row]),
    }));
    turnlens.mapLabels.show(
      holder,
      named
        .filter(({centre}) => centre !== undefined)
        .sort((a, b) => (a.rank < 0) - (b.rank < 0) || b.size - a.size)
        .map((group) => ({...group, at: plot.screen(columns.x[group.centre], columns.y[group.centre])})),
      plot.eachPoint,
    );
  }

  return {render};
})();
