/* Extents, neighbours and polygons of points. */
"use strict";

turnlens.geometry = (() => {
  const GRID = 256; // cells along each side
  const MOST_OUTSIDE = 0.05, // of the points, on each side of the main extent without its margin
    MARGIN = 0.1;

  function extentOf(x, y) {
    const range = (values) => {
      let low = Infinity,
        high = -Infinity;
      for (const value of values) {
        if (value < low) low = value;
        if (value > high) high = value;
      }
      return low < high ? [low, high] : [(low || 0) - 1, (low || 0) + 1];
    };
    const [left, right] = range(x),
      [low, high] = range(y);
    return {left, right, low, high, width: right - left, height: high - low};
  }

  /** The extent of most points: far islands do not set the scale. */
  function mainExtentOf(x, y) {
    const range = (values) => {
      const sorted = Float32Array.from(values).filter((value) => !Number.isNaN(value)).sort();
      const at = (share) => sorted[Math.round(share * (sorted.length - 1))];
      const [first, last] = [at(MOST_OUTSIDE), at(1 - MOST_OUTSIDE)];
      const margin = MARGIN * (last - first);
      return [Math.max(sorted[0], first - margin), Math.min(sorted[sorted.length - 1], last + margin)];
    };
    const whole = extentOf(x, y);
    if (!x.some((value) => !Number.isNaN(value))) return whole;
    const [left, right] = range(x),
      [low, high] = range(y);
    return right > left && high > low ? {left, right, low, high, width: right - left, height: high - low} : whole;
  }

  /** Points by cells, so that the nearest is found without looking at all. */
  function gridOf(x, y, {left, low, width, height}) {
    const column = (value) => Math.max(0, Math.min(GRID - 1, Math.floor(((value - left) / width) * GRID)));
    const row = (value) => Math.max(0, Math.min(GRID - 1, Math.floor(((value - low) / height) * GRID)));
    const cells = Uint32Array.from(x, (value, i) => row(y[i]) * GRID + column(value));
    const starts = new Uint32Array(GRID * GRID + 1);
    for (const cell of cells) starts[cell + 1] += 1;
    for (let cell = 0; cell < GRID * GRID; cell++) starts[cell + 1] += starts[cell];
    const filled = starts.slice(),
      order = new Uint32Array(x.length);
    cells.forEach((cell, i) => (order[filled[cell]++] = i));
    return {
      each(x0, y0, x1, y1, callback) {
        for (let r = row(y0); r <= row(y1); r++) {
          const from = starts[r * GRID + column(x0)],
            to = starts[r * GRID + column(x1) + 1];
          for (let k = from; k < to; k++) callback(order[k]);
        }
      },
    };
  }

  /** A polygon with fewer corners (Douglas and Peucker), short enough for an address. */
  function thinned(points, tolerance) {
    let kept = points;
    for (let allowed = tolerance; kept === points || kept.length > 60; allowed *= 1.5)
      kept = simplified(points, allowed);
    return kept;
  }

  function simplified(points, tolerance) {
    if (points.length < 3) return points;
    const [x0, y0] = points[0],
      [x1, y1] = points[points.length - 1],
      length = Math.hypot(x1 - x0, y1 - y0);
    let worst = 0,
      at = 0;
    for (let i = 1; i < points.length - 1; i++) {
      const [px, py] = points[i];
      const distance =
        length > 0 ? Math.abs((x1 - x0) * (y0 - py) - (x0 - px) * (y1 - y0)) / length : Math.hypot(px - x0, py - y0);
      if (distance > worst) [worst, at] = [distance, i];
    }
    if (worst <= tolerance) return [points[0], points[points.length - 1]];
    return [...simplified(points.slice(0, at + 1), tolerance).slice(0, -1), ...simplified(points.slice(at), tolerance)];
  }

  /** Tests if a point lies within a polygon, by the parity of crossings. */
  function inside(points, x, y) {
    let within = false;
    for (let i = 0, j = points.length - 1; i < points.length; j = i++) {
      const [xi, yi] = points[i],
        [xj, yj] = points[j];
      if (yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi) within = !within;
    }
    return within;
  }

  return {extentOf, mainExtentOf, gridOf, thinned, inside};
})();
