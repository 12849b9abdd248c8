/* Names on the map, beside the points and not on them, with a line to the group that each is of. */
"use strict";

turnlens.mapLabels = (() => {
  const {element, svg, fill, shortened} = turnlens.dom;
  const CELL = 6, // pixels
    HEIGHT = 22,
    MARGIN = 18; // pixels around a name: its borders and padding
  const ruler = document.createElement("canvas").getContext("2d");
  const MOST = {wide: 24, narrow: 7},
    LONGEST = {wide: 38, narrow: 34};
  const DISTANCES = [16, 40, 70, 105, 145, 190],
    ANGLES = 16;
  const MOST_COVERED = 0.3; // of a name's cells may hold points; otherwise there is no name

  /** The share of cells with points in any rectangle of pixels. */
  function occupancy(width, height, eachPoint) {
    const across = Math.ceil(width / CELL) + 1,
      down = Math.ceil(height / CELL) + 1;
    const sums = new Uint32Array(across * down);
    eachPoint((x, y) => {
      if (x >= 0 && y >= 0 && x < width && y < height)
        sums[(Math.floor(y / CELL) + 1) * across + Math.floor(x / CELL) + 1] = 1;
    });
    for (let row = 1; row < down; row++)
      for (let column = 1; column < across; column++) {
        const place = row * across + column;
        sums[place] += sums[place - 1] + sums[place - across] - sums[place - across - 1];
      }
    const at = (x, y) =>
      sums[Math.min(down - 1, Math.ceil(y / CELL)) * across + Math.min(across - 1, Math.ceil(x / CELL))];
    return ([left, top, right, bottom]) => {
      const [l, t] = [left - (left % CELL), top - (top % CELL)];
      const cells = ((right - l) / CELL) * ((bottom - t) / CELL);
      return (at(right, bottom) - at(l, bottom) - at(right, t) + at(l, t)) / cells;
    };
  }

  /** The free place nearest to a point, or the emptiest. */
  function placeBeside([x, y], width, stage, taken, covered) {
    let best = null;
    for (const distance of DISTANCES) {
      for (let turn = 0; turn < ANGLES; turn++) {
        const angle = (2 * Math.PI * turn) / ANGLES;
        const left = x + Math.cos(angle) * (distance + width / 2) - width / 2,
          top = y + Math.sin(angle) * distance - HEIGHT / 2;
        const box = [left, top, left + width, top + HEIGHT];
        const fits = left > 0 && top > 0 && box[2] < stage.width && box[3] < stage.height;
        if (!fits || taken.some((other) => overlap(box, other))) continue;
        const cost = covered(box);
        if (!best || cost < best.cost - 0.02) best = {box, cost};
      }
      if (best && best.cost < 0.02) break;
    }
    return best && best.cost <= MOST_COVERED ? best.box : null;
  }

  function overlap(a, b) {
    return a[0] < b[2] + 4 && b[0] < a[2] + 4 && a[1] < b[3] + 2 && b[1] < a[3] + 2;
  }

  /**
   * Shows the names that have room.
   * @param groups `{name, colour, at: [x, y]}` in pixels, the most important first.
   * @param eachPoint Calls back with the pixels of every point.
   */
  function show(holder, groups, eachPoint) {
    const stage = {width: holder.clientWidth, height: holder.clientHeight};
    const size = stage.width < 600 ? "narrow" : "wide";
    const covered = occupancy(stage.width, stage.height, eachPoint);
    ruler.font = `12px ${getComputedStyle(holder).fontFamily}`;
    const taken = [],
      lines = [],
      names = [];
    for (const {name, colour, at} of groups) {
      if (taken.length === MOST[size]) break;
      if (at[0] < 0 || at[1] < 0 || at[0] > stage.width || at[1] > stage.height) continue;
      const text = shortened(name, LONGEST[size]);
      const box = placeBeside(at, Math.ceil(ruler.measureText(text).width) + MARGIN, stage, taken, covered);
      if (!box) continue;
      taken.push(box);
      const [x, y] = [Math.max(box[0], Math.min(box[2], at[0])), Math.max(box[1], Math.min(box[3], at[1]))];
      lines.push(svg("line", {x1: at[0], y1: at[1], x2: x, y2: y, style: {stroke: colour}}));
      lines.push(svg("circle", {cx: at[0], cy: at[1], r: 3.5, style: {fill: colour}}));
      names.push(
        element(
          "span",
          {
            style: {
              left: `${box[0]}px`,
              top: `${box[1]}px`,
              width: `${box[2] - box[0]}px`,
              "border-color": colour,
            },
          },
          text,
        ),
      );
    }
    fill(holder, svg("svg", null, lines), names);
  }

  return {show};
})();
