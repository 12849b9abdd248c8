/* Small charts: bars, a line with its interval, a curve over turns. Each says in words what it shows. */
"use strict";

turnlens.charts = (() => {
  const {element, svg} = turnlens.dom;

  /** A bar of a share from 0 to 1. */
  function bar(share, colour = "var(--accent)") {
    const width = `${Math.max(0, Math.min(1, share)) * 100}%`;
    return element(
      "span",
      {class: "bar", "aria-hidden": "true"},
      element("span", {style: {width, background: colour}}),
    );
  }

  /** A difference from -1 to 1 with its interval, around a line for none. */
  function whisker(difference, [low, high]) {
    const x = (value) => 100 * (Math.max(-1, Math.min(1, value)) + 1);
    return svg(
      "svg",
      {class: "whisker", viewBox: "0 0 200 16", "aria-hidden": "true"},
      svg("line", {x1: 100, x2: 100, y1: 0, y2: 16, class: "axis"}),
      svg("line", {x1: x(low), x2: x(high), y1: 8, y2: 8, class: "range"}),
      svg("circle", {cx: x(difference), cy: 8, r: 4}),
    );
  }

  /** Lines across a chart at some values, with what they are. */
  function axis(values, y, left, right, written = turnlens.numbers.percent) {
    return values.map((value) => [
      svg("line", {x1: left, x2: right, y1: y(value), y2: y(value), class: "axis"}),
      svg("text", {x: left - 6, y: y(value) + 4, "text-anchor": "end"}, written(value)),
    ]);
  }

  /** Shares over time, `points` of `timeline.series`, with their intervals as a band. */
  function overTime({points, unit}, description) {
    const width = 640,
      height = 170,
      left = 44,
      bottom = 24,
      top = 8;
    const known = points.filter((point) => point.total > 0);
    const most = Math.min(
      1,
      Math.max(0.02, ...known.map((point) => Math.min(point.interval[1], 2.5 * point.share + 0.02))),
    );
    const x = (i) => left + ((width - left - 8) * (i + 0.5)) / points.length;
    const y = (share) => top + (height - top - bottom) * (1 - Math.min(share, most) / most);
    const places = points.map((_, i) => i).filter((i) => points[i].total > 0);
    const line = (of) => places.map((i) => `${x(i)},${y(of(points[i]))}`);
    const band = [...line((point) => point.interval[1]), ...line((point) => point.interval[0]).reverse()];
    return element(
      "figure",
      {class: "chart"},
      svg(
        "svg",
        {viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": description},
        axis([0, most / 2, most], y, left, width - 8),
        svg("polygon", {points: band.join(" "), class: "band"}),
        svg("polyline", {points: line((point) => point.share).join(" "), class: "line"}),
        places.map((i) =>
          svg(
            "circle",
            {cx: x(i), cy: y(points[i].share), r: 3},
            svg("title", null, `${turnlens.numbers.day(points[i].start)}: ${points[i].count} of ${points[i].total}`),
          ),
        ),
        [0, points.length - 1].map((i) =>
          svg(
            "text",
            {
              x: i === 0 ? left : width - 8,
              y: height - 6,
              "text-anchor": i === 0 ? "start" : "end",
            },
            turnlens.numbers.day(points[i].start),
          ),
        ),
      ),
      element("figcaption", null, `A point is a ${unit}; the band is its 95 % interval.`),
    );
  }

  /** Shares over time, `points` of `timeline.series`, as a small line. */
  function spark(points) {
    const known = points.filter((point) => point.total > 0);
    const most = Math.max(0.001, ...known.map((point) => point.share));
    const place = (point, i) => `${(i * 80) / Math.max(1, known.length - 1)},${18 - (16 * point.share) / most}`;
    return svg(
      "svg",
      {class: "spark", viewBox: "0 0 80 20", "aria-hidden": "true"},
      svg("polyline", {points: known.map(place).join(" "), class: "line"}),
    );
  }

  /** The surprise of each turn from 0 to 1, NaN where unknown; a press goes to the turn. */
  function curve(values, onTurn) {
    const width = 640,
      height = 120,
      left = 42,
      bottom = 20;
    const x = (i) => left + ((width - left - 10) * (i + 0.5)) / values.length;
    const y = (value) => 8 + (height - 8 - bottom) * (1 - value);
    const known = values.map((value, i) => [i, value]).filter(([, value]) => !Number.isNaN(value));
    const worst = known.reduce((best, each) => (each[1] > best[1] ? each : best), [-1, -1]);
    const highest = `${turnlens.numbers.percent(worst[1])} at turn ${worst[0] + 1}`;
    const label = `Surprise over ${values.length} turns; the highest is ${highest}`;
    return svg(
      "svg",
      {class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label},
      axis([0, 0.5, 1], y, left, width - 10),
      svg("polyline", {points: known.map(([i, value]) => `${x(i)},${y(value)}`).join(" "), class: "line"}),
      known.map(([i, value]) =>
        svg(
          "circle",
          {
            cx: x(i),
            cy: y(value),
            r: values.length > 60 ? 2.5 : 4.5,
            class: value >= 0.9 ? "point high" : "point",
            on: {click: () => onTurn(i)},
          },
          svg("title", null, `turn ${i + 1}: ${turnlens.numbers.percent(value)}`),
        ),
      ),
      svg("text", {x: width - 10, y: height - 4, "text-anchor": "end"}, `turn ${values.length}`),
      svg("text", {x: left, y: height - 4}, "turn 1"),
    );
  }

  return {axis, bar, whisker, overTime, spark, curve};
})();
