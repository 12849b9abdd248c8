/* How many requests are listed: fewer, by joining those that are most alike, without finding groups anew. */
"use strict";

turnlens.fineness = (() => {
  const {element} = turnlens.dom;
  const LEAST = 2;

  /** How many are wanted, of so many; all of them unless the address says otherwise. */
  function wanted(all) {
    const number = Number(turnlens.route.current().options.fine) || all;
    return Math.max(LEAST, Math.min(all, number));
  }

  /** The groups as lists of those that are joined, the largest of each first. */
  function joined(groups) {
    const byId = new Map(groups.map((each) => [each.id, each]));
    const count = wanted(groups.length);
    const lists = new Map(groups.map((each) => [each.id, [each]]));
    for (const each of [...groups].sort((a, b) => b.joined_at - a.joined_at)) {
      if (count >= groups.length || each.joined_at < count || !byId.has(each.joins)) continue;
      lists.get(each.joins).push(...lists.get(each.id));
      lists.delete(each.id);
    }
    return [...lists.values()];
  }

  /** A slider from few requests to all that were found. */
  function slider(groups) {
    if (groups.length <= LEAST || groups.every((each) => each.joins === null)) return null;
    const count = wanted(groups.length);
    const input = element("input", {
      type: "range",
      id: "fineness",
      min: LEAST,
      max: groups.length,
      value: count,
      "aria-valuetext": `${count} of ${groups.length} requests`,
      on: {change: () => turnlens.route.setOptions({fine: Number(input.value) < groups.length ? input.value : ""})},
    });
    return element(
      "label",
      {class: "field"},
      element("span", null, "Coarse to fine"),
      input,
      element("span", {class: "muted"}, count < groups.length ? `${count} of ${groups.length}` : "as found"),
    );
  }

  /** Of a group that mixes what differs: each part with its share and examples. */
  function parts(each, examples) {
    return each.parts.map(([share, rows]) =>
      element("div", {class: "part"}, element("h3", null, `${turnlens.numbers.percent(share, 0)} of it`), examples(rows)),
    );
  }

  return {joined, slider, parts};
})();
