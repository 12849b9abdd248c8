/* What tells conversations with a label from those without: how often each group of messages occurs in both. */
"use strict";

turnlens.differences = (() => {
  /**
   * Of the conversations that pass, compares those whose label is `code` with those of another value.
   * @return rows `{group, count, total, otherCount, otherTotal, difference, interval}`, the clearest difference first.
   */
  function between(group, selection, label, code) {
    const column = turnlens.report.conversations[`label:${label}`];
    const counts = new Map();
    const totals = [0, 0];
    turnlens.flows.each(selection, (c, rows) => {
      if (column[c] < 0) return;
      const side = column[c] === code ? 0 : 1;
      totals[side] += 1;
      for (const id of new Set(rows.map((m) => group[m]))) {
        if (!counts.has(id)) counts.set(id, [0, 0]);
        counts.get(id)[side] += 1;
      }
    });
    counts.delete(-1);
    const found = [...counts].map(([id, [count, otherCount]]) => {
      const [total, otherTotal] = totals;
      const interval = turnlens.numbers.newcombe(count, total, otherCount, otherTotal);
      return {
        group: id,
        count,
        total,
        otherCount,
        otherTotal,
        difference: count / total - otherCount / otherTotal,
        interval,
      };
    });
    return {totals, rows: found.sort((a, b) => distance(b.interval) - distance(a.interval))};
  }

  /** How far an interval stays from nothing; negative if it holds it. */
  function distance([low, high]) {
    return Math.max(low, -high);
  }

  return {between, distance};
})();
