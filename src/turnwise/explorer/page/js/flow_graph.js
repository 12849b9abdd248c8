/* The graph of flows: groups from early to late, arrows as thick as their share. */
"use strict";

turnwise.flowGraph = (() => {
  const {svg, element, shortened} = turnwise.dom;
  const {percent} = turnwise.numbers;
  const WIDE = {across: 5, node: [158, 46], gap: [74, 26]}, NARROW = {across: 2, node: [150, 46], gap: [24, 64]};

  /**
   * @param found `flows.transitions`.
   * @param rows `flows.rows` of them.
   * @param least The smallest share that has an arrow.
   */
  function draw(found, rows, least, mostNodes) {
    const {START, END} = turnwise.flows;
    const chosen = [...found.totals].filter(([id]) => id >= 0).sort((a, b) => b[1] - a[1]).slice(0, mostNodes).map(([id]) => id);
    if (chosen.length === 0) return element("p", {class: "note"}, "No messages in groups pass the filter.");
    const shown = new Set([START, END, ...chosen]);
    const edges = rows.filter((row) => row.share >= least && row.before !== row.after && shown.has(row.before) && shown.has(row.after));
    const narrow = window.innerWidth < 700;
    const {places, width, height, size} = layout(chosen, found.position, narrow);
    const name = (id) => turnwise.flows.name(id);
    const label = `Graph of ${edges.length} flows between ${chosen.length} groups; the table of transitions below lists them`;
    const drawn = edges.map((row) => edge(row, places, size, narrow, name));
    const nodes = [START, ...chosen, END].map((id) => node(id, places.get(id), size, found, drawn));
    return [
      svg("svg", {viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label, class: "flow-graph",
        style: {"max-width": `${width}px`}},
      svg("defs", null, svg("marker", {id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 9, markerHeight: 9,
        markerUnits: "userSpaceOnUse", orient: "auto"}, svg("path", {d: "M0 0 8 4 0 8z"}))),
      drawn.map(({line}) => line), nodes, drawn.map(({text}) => text)),
      edges.length === 0 && element("p", {class: "note"}, "No flow has so large a share."),
    ];
  }

  /** Groups in columns by how early they come (rows on a narrow page), so that none covers another. */
  function layout(chosen, position, narrow) {
    const {across, node, gap} = narrow ? NARROW : WIDE;
    const ordered = [...chosen].sort((a, b) => position.get(a) - position.get(b) || a - b);
    const steps = narrow ? Math.ceil(ordered.length / across) : Math.min(across, ordered.length);
    const per = Math.ceil(ordered.length / steps);
    const lines = Array.from({length: steps}, (_, i) => ordered.slice(i * per, (i + 1) * per)).filter((line) => line.length);
    const all = [[turnwise.flows.START], ...lines, [turnwise.flows.END]];
    const [w, h] = [node[0] + gap[0], node[1] + gap[1]];
    const places = new Map();
    all.forEach((line, i) => line.forEach((id, j) => {
      const across = j - (line.length - 1) / 2;
      const ends = i === 0 ? 0.35 : i === all.length - 1 ? all.length - 1.35 : i;
      places.set(id, narrow ? [w * (per / 2 + across), h * (i + 0.5)] : [w * (ends + 0.2), h * (per / 2 + across) + 24]);
    }));
    return narrow
      ? {places, size: node, width: w * per, height: h * all.length}
      : {places, size: node, width: w * (all.length - 0.6), height: h * per + 48};
  }

  function edge(row, places, [w, h], narrow, name) {
    const [x0, y0] = places.get(row.before), [x1, y1] = places.get(row.after);
    const half = (id) => (id < -1 ? 34 : w / 2);
    const down = narrow ? y1 > y0 + 1 : x1 > x0 + 1;
    let path, middle;
    if (narrow) {
      const side = y1 > y0 + 1 ? 1 : -1, from = [x0 + 16 * side, y0 + (side * h) / 2], to = [x1 + 16 * side, y1 - (side * h) / 2];
      [path, middle] = bent(from, to, [0, side * 30]);
    } else if (down) {
      [path, middle] = bent([x0 + half(row.before), y0], [x1 - half(row.after), y1], [44, 0]);
    } else {
      const side = y1 >= y0 ? 1 : -1; // back or within a column: around the ends
      [path, middle] = bent([x0 + (x0 === x1 ? 30 : 0), y0 + (side * h) / 2], [x1 + (x0 === x1 ? 30 : 0), y1 + (x0 === x1 ? -1 : 1) * (side * h) / 2],
        x0 === x1 ? [0, side * 12] : [0, side * 40], x0 === x1 ? 1 : -1);
    }
    const title = `after ${name(row.before)}: ${percent(row.share, 0)} ${name(row.after)} (${row.count} of ${row.total})`;
    const line = svg("path", {d: path, class: down ? "edge" : "edge back", "stroke-width": 1 + 9 * row.share, "marker-end": "url(#arrow)"},
      svg("title", null, title));
    const text = svg("text", {x: middle[0], y: middle[1] + 4, class: "edge-label", "text-anchor": "middle"}, percent(row.share, 0));
    return {row, line, text};
  }

  /** A curve that leaves and arrives in a direction, and its middle. */
  function bent([x0, y0], [x1, y1], [dx, dy], arrival = 1) {
    const [ax, ay, bx, by] = [x0 + dx, y0 + dy, x1 - arrival * dx, y1 - arrival * dy];
    const middle = [(x0 + 3 * ax + 3 * bx + x1) / 8, (y0 + 3 * ay + 3 * by + y1) / 8];
    return [`M${x0} ${y0} C${ax} ${ay} ${bx} ${by} ${x1} ${y1}`, middle];
  }

  function node(id, [x, y], [w, h], found, drawn) {
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
    const words = ends ? [turnwise.flows.name(id)] : wrapped(shortened(turnwise.flows.name(id), 42), 21);
    return svg(ends ? "g" : "a", {
      class: "node", href: ends ? null : turnwise.route.link("group", ["message", id]),
      on: {mouseenter: light(true), mouseleave: light(false), focusin: light(true), focusout: light(false)},
    },
    svg("rect", {x: x - width / 2, y: y - h / 2, width, height: h, rx: 8}),
    !ends && svg("text", {x: x - width / 2 + 6, y: y + 4, style: {fill: colour}, class: "sign"}, sign),
    words.map((line, i) => svg("text", {
      x: x + (ends ? 0 : 7), y: y + 4 + 15 * (i - (words.length - 1) / 2), "text-anchor": "middle",
    }, line)),
    svg("title", null, `${turnwise.flows.name(id)}: ${turnwise.numbers.integer(found.totals.get(id) || 0)}`));
  }

  /** A name in at most two lines. */
  function wrapped(text, length) {
    if (text.length <= length) return [text];
    const cut = text.lastIndexOf(" ", length);
    const first = text.slice(0, cut > 5 ? cut : length), second = text.slice(first.length).trim();
    return [first, second.length > length ? `${second.slice(0, length - 1)}…` : second];
  }

  return {draw};
})();
