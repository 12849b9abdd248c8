/* How conversations move from group to group: transitions between a message and the next, and typical paths. */
"use strict";

turnwise.flows = (() => {
  const START = -2,
    END = -3;

  /** The group of every message, or that above it if `coarse`. */
  function codes(coarse) {
    const {messages, groups} = turnwise.report;
    if (!coarse) return messages.group;
    const above = new Map(groups.message.list.map((group) => [group.id, groups.message.top(group.id)]));
    return messages.group.map((id) => above.get(id) ?? -1);
  }

  /** Calls back with the first message and the end of each conversation that passes. */
  function each(selection, callback) {
    const {first, turns} = turnwise.report.conversations;
    for (let c = 0; c < first.length; c++) {
      if (selection.conversation[c]) callback(c, first[c], first[c] + turns[c]);
    }
  }

  /**
   * Counts transitions in the conversations that pass, all of their messages: with START before the first, END after
   * the last, -1 for messages in no group.
   * @param group Int32Array: a group for each message.
   * @return `{from: Map(group → Map(next → count)), totals: Map(group → count), position: Map(group → mean, 0 to 1)}`
   */
  function transitions(group, selection) {
    const from = new Map(),
      totals = new Map(),
      places = new Map();
    const count = (before, after) => {
      if (!from.has(before)) from.set(before, new Map());
      const row = from.get(before);
      row.set(after, (row.get(after) || 0) + 1);
      totals.set(before, (totals.get(before) || 0) + 1);
    };
    each(selection, (_, start, end) => {
      let before = START;
      for (let m = start; m < end; m++) {
        count(before, group[m]);
        before = group[m];
        places.set(before, (places.get(before) || 0) + (end - start > 1 ? (m - start) / (end - start - 1) : 0));
      }
      count(before, END);
    });
    const position = new Map([...places].map(([id, sum]) => [id, sum / totals.get(id)]));
    return {from, totals, position};
  }

  /** Transitions as rows `{before, after, count, total, share, interval}`, the most frequent first. */
  function rows({from, totals}) {
    const found = [];
    for (const [before, row] of from) {
      for (const [after, count] of row) {
        const total = totals.get(before);
        found.push({
          before,
          after,
          count,
          total,
          share: count / total,
          interval: turnwise.numbers.wilson(count, total),
        });
      }
    }
    return found.sort((a, b) => b.count - a.count);
  }

  /**
   * The paths that most conversations take: their groups, each where it comes first; beyond `length` they are cut.
   * @return rows `{groups, cut, count, total, share, interval}`, of all conversations that pass.
   */
  function paths(group, selection, length = 8) {
    const counts = new Map();
    let total = 0;
    each(selection, (_, start, end) => {
      const visited = new Set(group.subarray(start, end));
      visited.delete(-1);
      const key = [...visited].slice(0, length).join(" ");
      counts.set(key, (counts.get(key) || 0) + 1);
      total += 1;
    });
    counts.delete(""); // nothing but messages in no group
    return [...counts]
      .map(([key, count]) => {
        const groups = key.split(" ").map(Number);
        return {
          groups,
          cut: groups.length === length,
          count,
          total,
          share: count / total,
          interval: turnwise.numbers.wilson(count, total),
        };
      })
      .sort((a, b) => b.count - a.count);
  }

  function name(id) {
    if (id === START) return "start";
    if (id === END) return "end";
    return turnwise.report.groups.message.name(id);
  }

  return {START, END, codes, transitions, rows, paths, each, name};
})();
