/* The followers of a group, step by step: ribbons as thick as their share, in a lane for each role. */
"use strict";

turnlens.flowGraph = (() => {
  const {svg, shortened} = turnlens.dom;
  const {integer, percent} = turnlens.numbers;
  const WIDE = {steps: 3, gap: 64, widest: 420},
    NARROW = {steps: 1, gap: 40, widest: 420};
  const LETTER = 6.7, // pixels, of which a name takes at least so many
    LINE = 15,
    MOST_LINES = 4;
  const MOST_NODES = 5, // in a step; all others are one node of their role
    MOST_RIBBONS = 10, // between two steps
    LEAST_SHARE = 0.02, // of a ribbon
    FULL = 150, // pixels of what is always so
    SPACE = 6,
    HEAD = 22; // pixels above what is in a lane, for its name
  const HEADINGS = ["", "the next message", "2 messages later", "3 messages later"];

  /** The sizes for a page of this width: as wide as there is room, so that names are shown in full. */
  function shape() {
    const {steps, gap, widest} = turnlens.parts.isNarrow() ? NARROW : WIDE;
    const room = document.getElementById("main").clientWidth - 60;
    const node = Math.max(140, Math.min(widest, Math.floor((room - steps * gap) / (steps + 1))));
    return {steps, gap, node, letters: Math.floor((node - 30) / LETTER)};
  }

  /** The lines of what stands in a node. */
  function linesOf(node, step, total, letters) {
    const text = step === 0 ? name(node) : `${percent(node.count / total)} ${name(node)}`;
    return wrapped(text, node.id >= 0 ? letters : letters + 2, MOST_LINES);
  }

  /**
   * The groups and ribbons to show.
   * @param following `flows.following`.
   * @return `{total, columns: [[node]], ribbons: [{step, from, to, count}]}`; a node is `{role, id, count}`, with the id
   *   `flows.END` or `flows.OTHERS` besides those of groups.
   */
  function plan({start, total, steps}) {
    const {END, OTHERS} = turnlens.flows;
    const columns = [new Map([["start", {...start, count: total}]])];
    const ribbons = [];
    let nodeOf = () => "start";
    steps.forEach((step, number) => {
      const counts = new Map();
      for (const {to, count} of step) counts.set(to.key, {...to, count: (counts.get(to.key)?.count || 0) + count});
      const named = [...counts.values()].filter(({id}) => id !== END).sort((a, b) => b.count - a.count);
      const kept = new Set(named.slice(0, MOST_NODES).map(({key}) => key));
      const keyOf = (node) => (node.id === END || kept.has(node.key) ? node.key : `${node.role} others`);
      const column = new Map();
      for (const node of counts.values()) {
        const key = keyOf(node),
          before = column.get(key);
        const id = key === node.key ? node.id : OTHERS;
        column.set(key, {role: node.role, id, count: (before?.count || 0) + node.count});
      }
      const joined = new Map();
      for (const {from, to, count} of step) {
        const [source, target] = [nodeOf(from), keyOf(to)];
        const ends = {step: number, from: columns[number].get(source), to: column.get(target)};
        if (ends.from.id === OTHERS) continue;
        joined.set(`${source}>${target}`, {...ends, count: (joined.get(`${source}>${target}`)?.count || 0) + count});
      }
      ribbons.push(...[...joined.values()].sort((a, b) => b.count - a.count));
      columns.push(column);
      nodeOf = keyOf;
    });
    return {total, ribbons, columns: columns.map((column) => [...column.values()].sort(inOrder))};
  }

  /** The commonest first, and what is no group last. */
  function inOrder(a, b) {
    return (a.id < -1) - (b.id < -1) || b.count - a.count;
  }

  function draw(planned, level) {
    const {END} = turnlens.flows;
    const {node: width, gap, letters} = shape();
    const {total, columns} = planned;
    const shown = columns.flatMap((_, step) =>
      planned.ribbons
        .filter((ribbon) => ribbon.step === step && ribbon.count >= LEAST_SHARE * total)
        .slice(0, MOST_RIBBONS),
    );
    const places = new Map();
    const lanes = lanesOf(columns);
    let y = HEAD;
    const rows = lanes.map((lane) => {
      const top = y;
      let bottom = y + HEAD;
      columns.forEach((column, step) => {
        let below = top + HEAD;
        for (const each of column.filter((node) => laneOf(node) === lane)) {
          const lines = linesOf(each, step, total, letters);
          const height = Math.max(LINE * lines.length + 13, (FULL * each.count) / total);
          places.set(each, {x: step * (width + gap), y: below, height, lines, left: 0, right: 0});
          below += height + SPACE;
        }
        bottom = Math.max(bottom, below);
      });
      y = bottom + SPACE;
      return {lane, top, height: bottom - top};
    });
    const all = columns.length * (width + gap) - gap;
    const drawn = shown
      .sort((a, b) => places.get(a.to).y - places.get(b.to).y)
      .map((ribbon) => ({ribbon, line: curve(ribbon, places, width, shown, total)}));
    return svg(
      "svg",
      {
        viewBox: `0 0 ${all} ${y}`,
        role: "group",
        "aria-label": `What follows, in ${columns.length - 1} steps; the table below says the same`,
        class: "flow-graph",
        style: {"max-width": `${all}px`},
      },
      HEADINGS.slice(1, columns.length).map((heading, i) =>
        svg("text", {x: (i + 1) * (width + gap), y: 14, class: "step"}, heading),
      ),
      rows.map(({lane, top, height}) => [
        svg("rect", {x: 0, y: top, width: all, height, rx: 8, class: "lane"}),
        svg("text", {x: 8, y: top + 15, class: "lane-name"}, lane === END ? "the conversation ends" : roleName(lane)),
      ]),
      drawn.map(({line}) => line),
      columns.flatMap((column, step) =>
        column.map((each) => box(each, step, places.get(each), width, total, drawn, level)),
      ),
    );
  }

  function laneOf({id, role}) {
    return id === turnlens.flows.END ? id : role;
  }

  /** Whoever asks comes first, the end last. */
  function lanesOf(columns) {
    const {roles, asker} = turnlens.report.summary;
    const rank = (lane) => (lane === turnlens.flows.END ? roles.length : lane === roles.indexOf(asker) ? -1 : lane);
    return [...new Set(columns.flat().map(laneOf))].sort((a, b) => rank(a) - rank(b));
  }

  function roleName(role) {
    return role < 0 ? "" : shortened(turnlens.report.summary.roles[role], 40);
  }

  function curve({from, to, count}, places, width, shown, total) {
    const [a, b] = [places.get(from), places.get(to)];
    const thick = Math.max(1.5, (FULL * count) / total);
    // What leaves or enters a node lies side by side around its middle.
    const sum = (end, node) =>
      shown
        .filter((each) => each[end] === node)
        .reduce((all, each) => all + Math.max(1.5, (FULL * each.count) / total), 0);
    const y0 = a.y + a.height / 2 - sum("from", from) / 2 + a.right + thick / 2;
    const y1 = b.y + b.height / 2 - sum("to", to) / 2 + b.left + thick / 2;
    a.right += thick;
    b.left += thick;
    const [x0, x1] = [a.x + width, b.x];
    const middle = (x0 + x1) / 2;
    return svg(
      "path",
      {d: `M${x0} ${y0} C${middle} ${y0} ${middle} ${y1} ${x1} ${y1}`, class: "ribbon", "stroke-width": thick},
      svg("title", null, `${name(from)} → ${name(to)}: ${percent(count / from.count)} (${integer(count)})`),
    );
  }

  function name({id}) {
    return turnlens.flows.name(id);
  }

  function box(node, step, {x, y, height, lines}, width, total, drawn, level) {
    const isGroup = node.id >= 0;
    const share = percent(node.count / total);
    const light = (on) => () => {
      for (const {ribbon, line} of drawn)
        line.classList.toggle("strong", on && (ribbon.from === node || ribbon.to === node));
    };
    const {colour, sign} = turnlens.colours.category(isGroup ? turnlens.report.groups.message.byId.get(node.id).colour : -1);
    const link = isGroup && step > 0 && turnlens.route.link("flows", [], {level, after: node.id});
    return svg(
      link ? "a" : "g",
      {
        class: "node",
        href: link,
        on: {mouseenter: light(true), mouseleave: light(false), focusin: light(true), focusout: light(false)},
      },
      svg("rect", {x, y, width, height, rx: 6}),
      isGroup && svg("text", {x: x + 7, y: y + height / 2 + 4, style: {fill: colour}, class: "sign"}, sign),
      lines.map((line, i) =>
        svg("text", {x: x + (isGroup ? 24 : 10), y: y + height / 2 + 4 + LINE * (i - (lines.length - 1) / 2)}, line),
      ),
      svg("title", null, `${name(node)}: ${share} (${integer(node.count)})`),
    );
  }

  /** A text in at most so many lines of about so many letters. */
  function wrapped(text, letters, lines) {
    const whole = shortened(text, 200);
    if (whole.length <= letters) return [whole];
    if (lines === 1) return [`${whole.slice(0, letters - 1).trimEnd()}…`];
    const space = whole.lastIndexOf(" ", letters);
    const first = whole.slice(0, space > letters / 3 ? space : letters);
    return [first, ...wrapped(whole.slice(first.length).trim(), letters, lines - 1)];
  }

  return {shape, plan, draw};
})();
