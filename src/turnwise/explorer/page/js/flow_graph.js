/* The graph of flows: groups from early to late, arrows as thick as their share. */
"use strict";

turnwise.flowGraph = (() => {
  const {svg, element, shortened} = turnwise.dom;
  const {percent} = turnwise.numbers;
  const WIDE = {across: 5, node: [158, 46], gap: [74, 26]},
    NARROW = {across: 2, node: [150, 46], gap: [24, 64]};

  /**
   * @param found `flows.transitions`.
   * @param rows `flows.rows` of them.
   * @param least The smallest share that has an arrow.
   */
  function draw(found, rows, least, mostNodes) {
    const {START, END} = turnwise.flows;
    const chosen = [...found.totals]
      .filter(([id]) => id >= 0)
      .sort((a, b) => b[1] - a[1])
      .slice(0, mostNodes)
      .map(([id]) => id);
    if (chosen.length === 0) return element("p", {class: "note"}, "No messages in groups pass the filter.");
    const shown = new Set([START, END, ...chosen]);
    const edges = rows.filter(
      (row) => row.share >= least && row.before !== row.after && shown.has(row.before) && shown.has(row.after),
    );
    const narrow = window.innerWidth < 700;
    const plan = layout(chosen, found.position, narrow);
    const name = (id) => turnwise.flows.name(id);
    const label = `Graph of ${edges.length} flows between ${chosen.length} groups; the table of transitions below lists them`;
    const drawn = edges.map((row, number) => edge(row, number, plan, narrow, name));
    const nodes = [START, ...chosen, END].map((id) => node(id, plan.places.get(id), plan.size, found, drawn));
    return [
      svg(
        "svg",
        {
          viewBox: `0 0 ${plan.width} ${plan.height}`,
          role: "img",
          "aria-label": label,
          class: "flow-graph",
          style: {"max-width": `${plan.width}px`},
        },
        svg(
          "defs",
          null,
          svg(
            "marker",
            {
              id: "arrow",
              viewBox: "0 0 8 8",
              refX: 7,
              refY: 4,
              markerWidth: 9,
              markerHeight: 9,
              markerUnits: "userSpaceOnUse",
              orient: "auto",
            },
            svg("path", {d: "M0 0 8 4 0 8z"}),
          ),
        ),
        drawn.map(({line}) => line),
        nodes,
        drawn.map(({text}) => text),
      ),
      edges.length === 0 && element("p", {class: "note"}, "No flow has so large a share."),
    ];
  }

  /** Groups in columns by how early they come (rows on a narrow page), so that none covers another. */
  function layout(chosen, position, narrow) {
    const {across, node, gap} = narrow ? NARROW : WIDE;
    const ordered = [...chosen].sort((a, b) => position.get(a) - position.get(b) || a - b);
    const steps = narrow ? Math.ceil(ordered.length / across) : Math.min(across, ordered.length);
    const per = Math.ceil(ordered.length / steps);
    const lines = Array.from({length: steps}, (_, i) => ordered.slice(i * per, (i + 1) * per)).filter(
      (line) => line.length,
    );
    const all = [[turnwise.flows.START], ...lines, [turnwise.flows.END]];
    const [w, h] = [node[0] + gap[0], node[1] + gap[1]];
    const places = new Map();
    all.forEach((line, i) =>
      line.forEach((id, j) => {
        const isEnd = id < -1;
        const side = isEnd ? (per - 1) / 2 : j + Math.floor((per - line.length) / 2);
        const along = i === 0 ? 0.35 : i === all.length - 1 ? all.length - 1.35 : i;
        const [x, y] = narrow ? [w * (side + 0.5), h * (i + 0.5)] : [w * (along + 0.2), h * (side + 0.5) + 24];
        places.set(id, {x, y, step: i, half: isEnd && !narrow ? 34 : node[0] / 2});
      }),
    );
    return narrow
      ? {places, size: node, row: 0, width: w * per, height: h * all.length}
      : {places, size: node, row: h, width: w * (all.length - 0.6), height: h * per + 48};
  }

  /** An arrow: straight on to the next column, between the rows past others, around the ends back. */
  function edge(row, number, {places, size: [, h], row: rowHeight}, narrow, name) {
    const from = places.get(row.before),
      to = places.get(row.after),
      forward = to.step > from.step;
    const share = percent(row.share, 0);
    let path, middle;
    if (narrow) {
      const side = forward ? 1 : -1;
      [path, middle] = bent(
        [from.x + 16 * side, from.y + (side * h) / 2],
        [to.x + 16 * side, to.y - (side * h) / 2],
        [0, side * 30],
      );
    } else if (forward && to.step === from.step + 1) {
      [path, middle] = bent([from.x + from.half, from.y], [to.x - to.half, to.y], [44, 0]);
    } else if (forward) {
      const lane =
        24 + rowHeight * Math.max(1, Math.round((from.y / 2 + to.y / 2 - 24) / rowHeight)) + ((number % 5) - 2) * 4;
      const [x0, x1] = [from.x + from.half, to.x - to.half];
      path =
        `M${x0} ${from.y} C${x0 + 45} ${from.y} ${x0 + 25} ${lane} ${x0 + 72} ${lane} L${x1 - 72} ${lane}` +
        ` C${x1 - 25} ${lane} ${x1 - 45} ${to.y} ${x1} ${to.y}`;
      middle = [x0 + 37, (from.y + lane) / 2];
    } else {
      const side = to.y >= from.y ? 1 : -1,
        same = to.x === from.x,
        shift = same ? 30 : 0;
      [path, middle] = bent(
        [from.x + shift, from.y + (side * h) / 2],
        [to.x + shift, to.y + ((same ? -1 : 1) * side * h) / 2],
        [0, side * (same ? 12 : 40)],
        same ? 1 : -1,
      );
    }
    const title = `after ${name(row.before)}: ${share} ${name(row.after)} (${row.count} of ${row.total})`;
    const line = svg(
      "path",
      {d: path, class: forward ? "edge" : "edge back", "stroke-width": 1 + 9 * row.share, "marker-end": "url(#arrow)"},
      svg("title", null, title),
    );
    const text = svg("text", {x: middle[0], y: middle[1] + 4, class: "edge-label", "text-anchor": "middle"}, share);
    return {row, line, text};
  }

  /** A curve that leaves and arrives in a direction, and its middle. */
  function bent([x0, y0], [x1, y1], [dx, dy], arrival = 1) {
    const [ax, ay, bx, by] = [x0 + dx, y0 + dy, x1 - arrival * dx, y1 - arrival * dy];
    const middle = [(x0 + 3 * ax + 3 * bx + x1) / 8, (y0 + 3 * ay + 3 * by + y1) / 8];
    return [`M${x0} ${y0} C${ax} ${ay} ${bx} ${by} ${x1} ${y1}`, middle];
  }

  function node(id, {x, y}, [w, h], found, drawn) {
    const ends = id < -1;
    const width = ends ? 68 : w;
    const light = (on) => () => {
      for (const {row, line, text} of drawn) {
        const mine = row.before === id || row.after === id;
        for (const part of [line, text]) {
          part.classList.toggle("strong", on && mine);
          part.classList.toggle("weak", on && !mine);
        }
      }
    };
    const {byId, top} = turnwise.report.groups.message;
    const {colour, sign} = turnwise.palette.category(ends ? -1 : byId.get(top(id)).colour);
    const words = ends ? [turnwise.flows.name(id)] : wrapped(shortened(turnwise.flows.name(id), 42), 18);
    return svg(
      ends ? "g" : "a",
      {
        class: "node",
        href: ends ? null : turnwise.route.link("group", ["message", id]),
        on: {mouseenter: light(true), mouseleave: light(false), focusin: light(true), focusout: light(false)},
      },
      svg("rect", {x: x - width / 2, y: y - h / 2, width, height: h, rx: 8}),
      !ends && svg("text", {x: x - width / 2 + 6, y: y + 4, style: {fill: colour}, class: "sign"}, sign),
      words.map((line, i) =>
        svg(
          "text",
          {
            x: ends ? x : x - width / 2 + 24,
            y: y + 4 + 15 * (i - (words.length - 1) / 2),
            "text-anchor": ends ? "middle" : "start",
          },
          line,
        ),
      ),
      svg("title", null, `${turnwise.flows.name(id)}: ${turnwise.numbers.integer(found.totals.get(id) || 0)}`),
    );
  }

  /** A name in at most two lines. */
  function wrapped(text, length) {
    if (text.length <= length) return [text];
    const cut = text.lastIndexOf(" ", length);
    const first = text.slice(0, cut > 5 ? cut : length),
      second = text.slice(first.length).trim();
    return [first, second.length > length ? `${second.slice(0, length - 1)}…` : second];
  }

  return {draw};
})();
