/* Conversations over time, stacked by the commonest requests; a drag or two sliders filter by date. */
"use strict";

turnlens.volumeChart = (() => {
  const {element, svg} = turnlens.dom;
  const {integer, day, plural} = turnlens.numbers;
  const LAYERS = 5, // requests with a colour; the rest is other
    HEIGHT = 150,
    LEFT = 40,
    RIGHT = 8,
    TOP = 8,
    BOTTOM = 22,
    TICK = 130; // pixels from day to day on the axis

  /**
   * @param requests The listed requests.
   * @param asker The role that asks; null for all.
   * @return null without times.
   */
  function show(requests, asker, width) {
    const {filter} = turnlens.route.current();
    const wide = turnlens.groupLists.ofRole(asker, turnlens.filters.without(filter, "from", "to"));
    const bins = turnlens.timeline.binsOf(wide.times);
    if (!bins) return null;
    const layers = layersOf(requests, wide, bins);
    const chosen = chosenBins(filter, bins);
    const x = (bin) => LEFT + ((width - LEFT - RIGHT) * bin) / bins.count;
    const totals = Array.from({length: bins.count}, (_, bin) => layers.reduce((sum, {counts}) => sum + counts[bin], 0));
    const highest = niceAbove(Math.max(...totals));
    const y = (count) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - count / highest);
    const brush = svg("rect", {class: "brush", y: TOP, height: HEIGHT - TOP - BOTTOM, width: 0});
    const picture = svg(
      "svg",
      {
        viewBox: `0 0 ${width} ${HEIGHT}`,
        role: "img",
        class: "volume",
        "aria-label": `Conversations by ${bins.unit}, at most ${integer(Math.max(...totals))}; the sliders below choose days`,
      },
      turnlens.charts.axis([0, highest / 2, highest], y, LEFT, width - RIGHT, integer),
      totals.map((total, bin) => bar(bin, total, layers, bins, x, y, chosen)),
      ticks(bins, width).map((bin) =>
        svg("text", {x: x(bin), y: HEIGHT - 6, "text-anchor": bin === 0 ? "start" : "middle"}, day(bins.start + bin * bins.width)),
      ),
      brush,
    );
    drag(picture, brush, width, bins, x);
    return element(
      "figure",
      {class: "chart"},
      element("figcaption", {class: "layers"}, `Conversations by ${bins.unit}`, layers.map(entry)),
      picture,
      sliders(bins, chosen, width),
    );
  }

  /** The commonest requests and the rest, with the conversations in each bin; one with several requests counts for the commonest. */
  function layersOf(requests, {conversations, times}, bins) {
    const size = ({id}) => conversations.get(id)?.size || 0;
    const common = [...requests].sort((a, b) => size(b) - size(a)).slice(0, LAYERS).filter(size);
    const layers = [...common.map(({id}) => ({id})), {id: -1}].map((each) => ({...each, counts: new Uint32Array(bins.count)}));
    for (const [conversation, time] of times) {
      const bin = Math.floor((time - bins.start) / bins.width);
      if (bin < 0 || bin >= bins.count) continue; // a stray one
      const layer = layers.find(({id}) => id < 0 || conversations.get(id).has(conversation));
      layer.counts[bin] += 1;
    }
    return layers;
  }

  function colour(id) {
    return turnlens.colours.category(id < 0 ? -1 : turnlens.report.groups.message.byId.get(id).colour).colour;
  }

  function entry({id}) {
    if (id < 0) return element("span", null, element("i", {style: {background: colour(-1)}, "aria-hidden": "true"}), "other");
    const {name} = turnlens.report.groups.message;
    return element(
      "span",
      null,
      element("i", {style: {background: colour(id)}, "aria-hidden": "true"}),
      element("a", {href: turnlens.route.link("group", ["message", id]), dir: "auto"}, turnlens.dom.shortened(name(id), 40)),
    );
  }

  function bar(bin, total, layers, bins, x, y, [first, last]) {
    let below = 0;
    const {name} = turnlens.report.groups.message;
    const parts = layers.filter(({counts}) => counts[bin]);
    const lines = parts.map(({id, counts}) => `${id < 0 ? "other" : name(id)}: ${integer(counts[bin])}`);
    return svg(
      "g",
      {class: bin < first || bin > last ? "outside" : null},
      parts.map(({id, counts}) => {
        const [low, high] = [y(below), y((below += counts[bin]))];
        return svg("rect", {x: x(bin) + 0.5, y: high, width: Math.max(1, x(bin + 1) - x(bin) - 1), height: Math.max(0, low - high), style: {fill: colour(id)}});
      }),
      svg("title", null, [`${day(bins.start + bin * bins.width)}: ${plural(total, "conversation")}`, ...lines].join("\n")),
    );
  }

  function ticks({count}, width) {
    const step = Math.max(1, Math.ceil(TICK / ((width - LEFT - RIGHT) / count)));
    return Array.from({length: count}, (_, bin) => bin).filter((bin) => bin % step === 0 && (count - bin) * (width / count) > TICK / 2);
  }

  /** A round number at or above another, half of which is whole. */
  function niceAbove(value) {
    const power = 10 ** Math.floor(Math.log10(Math.max(2, value)));
    return Math.max(2, [1, 2, 4, 6, 8, 10].map((each) => each * power).find((each) => each >= value));
  }

  /** The first and the last bin that the filter leaves. */
  function chosenBins(filter, {start, width, count}) {
    const [from, to] = turnlens.filters.days(filter);
    const place = (time, otherwise) => (Number.isNaN(time) ? otherwise : Math.max(0, Math.min(count - 1, Math.floor((time - start) / width))));
    return [place(from, 0), place(to - 1, count - 1)];
  }

  function choose(first, last, {start, width, count}) {
    const isAll = first <= 0 && last >= count - 1;
    turnlens.route.setFilter({
      from: isAll ? [] : [day(start + first * width)],
      to: isAll ? [] : [day(start + (last + 1) * width - 1)],
    });
  }

  /** A drag over the bars chooses what lies under it; a press, one bar. */
  function drag(picture, brush, width, bins, x) {
    let begun = null;
    const binAt = (event) => {
      const box = picture.getBoundingClientRect();
      const place = ((event.clientX - box.left) * width) / box.width;
      return Math.max(0, Math.min(bins.count - 1, Math.floor(((place - LEFT) * bins.count) / (width - LEFT - RIGHT))));
    };
    const range = (event) => [begun, binAt(event)].sort((a, b) => a - b);
    picture.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      picture.setPointerCapture(event.pointerId);
      begun = binAt(event);
    });
    picture.addEventListener("pointermove", (event) => {
      if (begun === null) return;
      const [first, last] = range(event);
      brush.setAttribute("x", x(first));
      brush.setAttribute("width", x(last + 1) - x(first));
    });
    picture.addEventListener("pointerup", (event) => {
      if (begun !== null) choose(...range(event), bins);
      begun = null;
    });
    picture.addEventListener("pointercancel", () => {
      begun = null;
      brush.setAttribute("width", 0);
    });
  }

  /** Two thumbs on one line, for the keyboard. */
  function sliders(bins, [first, last], width) {
    const slider = (id, label, value, apply) => {
      const when = (bin) => day(bins.start + (id === "brush-to" ? (bin + 1) * bins.width - 1 : bin * bins.width));
      const input = element("input", {
        type: "range",
        id,
        min: 0,
        max: bins.count - 1,
        value,
        "aria-label": label,
        "aria-valuetext": when(value),
        on: {change: () => apply(Number(input.value))},
      });
      return input;
    };
    const percent = (pixels) => `${(100 * pixels) / width}%`;
    return element(
      "div",
      {class: "brushes", style: {"margin-left": percent(LEFT), "margin-right": percent(RIGHT)}},
      slider("brush-from", "First day shown", first, (bin) => choose(Math.min(bin, last), last, bins)),
      slider("brush-to", "Last day shown", last, (bin) => choose(first, Math.max(bin, first), bins)),
    );
  }

  return {show};
})();
