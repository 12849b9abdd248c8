/* The map: messages or conversations as points; what means the same lies together. */
"use strict";

turnwise.views.map = (() => {
  const {add, element, button, choice, fill, svg, quote} = turnwise.dom;
  const MOST_LABELS = 24;
  const ASIDE = [0, -24, 24, -48, 48]; // pixels by which a name gives way to another

  function render(main, route, selection) {
    const level = route.options.level === "conversation" ? "conversation" : "message";
    const canvas = element("canvas", {
      tabindex: "0",
      role: "img",
      "aria-describedby": "map-note",
      "aria-label": `Map of ${turnwise.numbers.plural(turnwise.report.counts[level], level)}`,
    });
    const labels = element("div", {class: "map-labels", "aria-hidden": "true"});
    const drawing = svg("svg", {class: "map-drawing", "aria-hidden": "true"});
    const tip = element("div", {class: "map-tip", hidden: true});
    const legend = element("aside", {class: "legend", "aria-label": "Legend"});
    const stage = element("div", {class: "map-stage"}, canvas, labels, drawing, tip);
    const lasso = button("Draw around points", () => setLasso(!drawingOn), {
      "aria-pressed": "false",
      title: "L; or drag with Shift",
    });
    add(
      main,
      element("h1", {class: "for-screen-readers"}, "Map"),
      tools(route, level, lasso, () => plot.fit()),
      element("div", {class: "map"}, stage, legend),
      element(
        "p",
        {class: "note", id: "map-note"},
        "Each point is a ",
        level,
        "; near points mean much the same, far distances ",
        "say little. Drag to move, scroll or pinch to zoom, press a point to read it. The same is listed under Groups.",
      ),
    );

    const {x, y} = turnwise.report[`${level}s`];
    let plot,
      state = {route, selection},
      drawingOn = false,
      highlighted = null;
    try {
      plot = turnwise.scatter.create(canvas, x, y, {
        change: () => plot && placeLabels(labels, plot, level, state.selection),
        point: (index, place) => showTip(tip, stage, level, index, place),
        press: (index) => index >= 0 && open(level, index),
        drawing: (corners) => fill(drawing, corners.length && svg("polygon", {points: corners.map(String).join(" ")})),
        lasso: (corners) => {
          setLasso(false);
          const text = corners.map((corner) => corner.map((value) => +value.toFixed(3)).join(",")).join(";");
          turnwise.route.setFilter({lasso: [`${level}:${text}`]});
        },
      });
    } catch (error) {
      fill(stage, element("p", {class: "error", role: "alert"}, error.message));
      return {};
    }

    function setLasso(on) {
      drawingOn = on;
      plot.setLasso(on);
      lasso.setAttribute("aria-pressed", String(on));
      stage.classList.toggle("drawing", on);
    }

    function paint() {
      const colouring = turnwise.colouring.of(level, state.route.options.colour);
      plot.setMask(
        highlighted === null
          ? state.selection[level]
          : state.selection[level].map((passes, row) => (passes && colouring.category(row) === highlighted ? 1 : 0)),
      );
      plot.paint(colouring.bytes(), turnwise.palette.bytes(turnwise.palette.category(-1).colour));
    }

    function update(newRoute, newSelection) {
      state = {route: newRoute, selection: newSelection};
      highlighted = null;
      paint();
      fill(
        legend,
        turnwise.colouring.of(level, newRoute.options.colour).legend(newSelection, (category) => {
          highlighted = category;
          paint();
        }),
      );
    }

    canvas.addEventListener("keydown", (event) => onKey(event, plot));
    update(route, selection);
    return {
      update: (newRoute, newSelection) =>
        (newRoute.options.level || "message") === level ? update(newRoute, newSelection) : turnwise.app.render(true),
      leave: () => plot.destroy(),
      key: (event) => event.key === "l" && setLasso(!drawingOn),
    };
  }

  function tools(route, level, lasso, fit) {
    const change = (name) => (value) => turnwise.route.setOptions({[name]: value});
    return element(
      "div",
      {class: "tools"},
      choice(
        "Points",
        [
          ["message", "messages"],
          ["conversation", "conversations"],
        ],
        level,
        (value) => turnwise.route.setOptions({level: value, colour: ""}),
      ),
      choice("Colour", turnwise.colouring.choices(level), route.options.colour || "group", change("colour")),
      lasso,
      button("Whole map", fit, {title: "0"}),
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

  function open(level, index) {
    const {messages} = turnwise.report;
    if (level === "conversation") turnwise.route.go("conversation", [index]);
    else turnwise.route.go("conversation", [messages.conversation[index]], {turn: messages.turn[index] + 1});
  }

  /** What is under the pointer. */
  function showTip(tip, stage, level, index, place) {
    tip.hidden = index < 0;
    stage.classList.toggle("pointing", index >= 0);
    if (index < 0 || tip.dataset.index === String(index)) return;
    const {messages, conversations, summary} = turnwise.report;
    tip.dataset.index = index;
    const said = element("span", null, "…");
    const about =
      level === "message"
        ? [
            turnwise.parts.role(summary.roles[messages.role[index]]),
            turnwise.parts.group("message", messages.group[index]),
          ]
        : [
            turnwise.parts.group("conversation", conversations.group[index]),
            turnwise.numbers.plural(conversations.turns[index], "message"),
          ];
    fill(tip, element("div", {class: "about"}, about), said);
    tip.style.left = `${Math.min(place.x + 14, stage.clientWidth - 290)}px`;
    tip.style.top = `${place.y + 14}px`;
    tip.classList.toggle("above", place.y > stage.clientHeight / 2);
    turnwise.texts.get(level === "message" ? index : conversations.first[index]).then(
      (text) => tip.dataset.index === String(index) && fill(said, quote(text, 200)),
      () => {},
    );
  }

  /** Names over the most central points: of large groups, of finer ones when zoomed in; as many as have room. */
  function placeLabels(holder, plot, level, selection) {
    const {groups, [`${level}s`]: columns} = turnwise.report;
    const {list, coarse, children, byId, top} = groups[level];
    const fine = list.filter((group) => children(group.id).length === 0);
    const candidates = [...(plot.zoomed() > 2.5 ? fine : coarse)].sort((a, b) => b.size - a.size);
    const taken = [],
      shown = [];
    for (const group of candidates) {
      const centre = group.central.find((row) => selection[level][row]);
      if (centre === undefined || shown.length === MOST_LABELS) continue;
      const [sx, sy] = plot.screen(columns.x[centre], columns.y[centre]);
      const name = turnwise.dom.shortened(group.name, 36),
        half = 3.4 * name.length + 12;
      const box = ASIDE.map((dy) => [sx - half, sy + dy - 11, sx + half, sy + dy + 11]).find(
        (place) =>
          place[0] > 0 &&
          place[1] > 0 &&
          place[2] < holder.clientWidth &&
          place[3] < holder.clientHeight &&
          taken.every(
            (other) => place[2] < other[0] || place[0] > other[2] || place[3] < other[1] || place[1] > other[3],
          ),
      );
      if (!box) continue;
      taken.push(box);
      const {colour} = turnwise.palette.category(byId.get(top(group.id)).colour);
      shown.push(element("span", {style: {left: `${sx}px`, top: `${box[1] + 11}px`, "border-color": colour}}, name));
    }
    fill(holder, shown);
  }

  return {render};
})();
