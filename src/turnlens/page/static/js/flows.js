/* Moves of conversations from group to group: transitions, paths, and the groups that tell a label apart. */
"use strict";

turnlens.flows = (() => {
  const {wilson, newcombe, distanceFromZero} = turnlens.numbers;
  const START = -2,
    END = -3,
    OTHERS = -4;
  const MOST_ROLES = 4; // that are told apart

  /** The group of every message, or that above it if `coarse`. */
  function codes(coarse) {
    const {messages, groups} = turnlens.report;
    if (!coarse) return messages.group;
    const above = new Map(groups.message.list.map((group) => [group.id, groups.message.top(group.id)]));
    return messages.group.map((id) => above.get(id) ?? -1);
  }

  /** Calls back with each conversation that passes, and those of its messages that pass. */
  function each(selection, callback) {
    const {first, turns} = turnlens.report.conversations;
    for (let c = 0; c < first.length; c++) {
      if (!selection.conversation[c]) continue;
      const rows = [];
      for (let m = first[c]; m < first[c] + turns[c]; m++) if (selection.message[m]) rows.push(m);
      callback(c, rows);
    }
  }

  /**
   * Counts transitions between messages that pass: with START before the first, END after the last, -1 for messages in
   * no group.
   * @param group Int32Array: a group for each message.
   * @return `{from: Map(group → Map(next → count)), totals: Map(group → count)}`
   */
  function transitions(group, selection) {
    const from = new Map(),
      totals = new Map();
    const count = (before, after) => {
      if (!from.has(before)) from.set(before, new Map());
      const row = from.get(before);
      row.set(after, (row.get(after) || 0) + 1);
      totals.set(before, (totals.get(before) || 0) + 1);
    };
    each(selection, (_, rows) => {
      let before = START;
      for (const m of rows) {
        count(before, group[m]);
        before = group[m];
      }
      count(before, END);
    });
    return {from, totals};
  }

  /**
   * What follows the messages of a group, among the messages that pass.
   * @return `{start, total, steps}`: for each step a list of `{from, to, count}`, whose ends are `{key, role, id}`. The
   *   role is -1 where there are too many to tell apart; the id of an end is END.
   */
  function following(group, selection, id, length) {
    const {messages, summary} = turnlens.report;
    const roleOf = (m) => (summary.roles.length > MOST_ROLES ? -1 : messages.role[m]);
    const node = (m) =>
      m === undefined
        ? {key: "end", role: -1, id: END}
        : {key: `${roleOf(m)} ${group[m]}`, role: roleOf(m), id: group[m]};
    const steps = Array.from({length}, () => new Map());
    const roles = new Map();
    let total = 0;
    each(selection, (_, rows) =>
      rows.forEach((m, place) => {
        if (group[m] !== id) return;
        total += 1;
        roles.set(roleOf(m), (roles.get(roleOf(m)) || 0) + 1);
        for (let step = 0; step < length && place + step < rows.length; step++) {
          const [from, to] = [node(rows[place + step]), node(rows[place + step + 1])];
          const key = `${from.key}>${to.key}`;
          if (!steps[step].has(key)) steps[step].set(key, {from, to, count: 0});
          steps[step].get(key).count += 1;
        }
      }),
    );
    const [role] = [...roles].reduce((best, one) => (one[1] > best[1] ? one : best), [-1, 0]);
    return {start: {role, id}, total, steps: steps.map((step) => [...step.values()])};
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
          interval: wilson(count, total),
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
    each(selection, (_, rows) => {
      const visited = new Set(rows.map((m) => group[m]));
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
          interval: wilson(count, total),
        };
      })
      .sort((a, b) => b.count - a.count);
  }

  function name(id) {
    if (id === START) return "start";
    if (id === END) return "end";
    if (id === OTHERS) return "other groups";
    return turnlens.report.groups.message.name(id);
  }

  /**
   * Of the conversations that pass, compares those whose label is `code` with those of another value.
   * @return rows `{group, count, total, otherCount, otherTotal, difference, interval}`, the clearest difference first.
   */
  function differences(group, selection, label, code) {
    const column = turnlens.report.conversations[`label:${label}`];
    const counts = new Map();
    const totals = [0, 0];
    each(selection, (c, rows) => {
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
      const interval = newcombe(count, total, otherCount, otherTotal);
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
    return {totals, rows: found.sort((a, b) => distanceFromZero(b.interval) - distanceFromZero(a.interval))};
  }

  return {START, END, OTHERS, codes, transitions, following, rows, paths, differences, name};
})();
