/* How large groups are over time, and which of them grow or decline. */
"use strict";

turnwise.timeline = (() => {
  const DAY = 86400;

  /**
   * What is counted, with its time and whether it is one of those meant: conversations. Of messages, those that pass
   * are taken; messages of one conversation are not independent, so a conversation with several counts once.
   */
  function counted(level, selection, member) {
    const {messages, conversations} = turnwise.report;
    const rows = new Map();
    if (level === "conversation") {
      conversations.time.forEach((time, c) => {
        if (selection.conversation[c]) rows.set(c, {time, isMember: member(c)});
      });
    } else
      messages.conversation.forEach((c, m) => {
        if (!selection.message[m]) return;
        const own = messages.time[m],
          row = rows.get(c);
        if (row === undefined)
          rows.set(c, {time: Number.isNaN(own) ? conversations.time[c] : own, isMember: member(m)});
        else row.isMember ||= member(m);
      });
    return [...rows.values()].filter(({time}) => !Number.isNaN(time));
  }

  /** Starts of days, weeks or months (of 30 days) between two times: the shortest of which there are at most 40. */
  function bins(first, last) {
    const days = [1, 7, 30, 91, 365].find((length) => (last - first) / (length * DAY) <= 40) || 365;
    const start = Math.floor(first / DAY) * DAY;
    const count = Math.floor((last - start) / (days * DAY)) + 1;
    return {
      start,
      width: days * DAY,
      count,
      unit: {1: "day", 7: "week", 30: "30 days", 91: "quarter", 365: "year"}[days],
    };
  }

  /**
   * Shares of the conversations with `member(row)` in each bin, among those that pass and have a time; at the level of
   * messages, of those with such a message.
   * @return null without times, else `{unit, points: [{start, count, total, share, interval}], change}`, where change
   *   compares the later half of the time with the earlier: `{before, after, difference, interval}`.
   */
  function series(level, selection, member) {
    const rows = counted(level, selection, member);
    if (rows.length < 2) return null;
    let first = Infinity,
      last = -Infinity;
    for (const {time} of rows) {
      first = Math.min(first, time);
      last = Math.max(last, time);
    }
    if (last <= first) return null;
    const {start, width, count, unit} = bins(first, last);
    const counts = new Float64Array(count),
      totals = new Float64Array(count);
    const middle = (first + last) / 2,
      halves = [
        [0, 0],
        [0, 0],
      ];
    for (const {time, isMember} of rows) {
      const bin = Math.floor((time - start) / width),
        half = halves[time < middle ? 0 : 1];
      totals[bin] += 1;
      half[1] += 1;
      if (isMember) {
        counts[bin] += 1;
        half[0] += 1;
      }
    }
    const points = Array.from(counts, (n, bin) => ({
      start: start + bin * width,
      count: n,
      total: totals[bin],
      share: totals[bin] ? n / totals[bin] : NaN,
      interval: turnwise.numbers.wilson(n, totals[bin]),
    }));
    return {unit, points, change: change(halves)};
  }

  function change([[before, beforeTotal], [after, afterTotal]]) {
    if (beforeTotal === 0 || afterTotal === 0) return null;
    return {
      before: before / beforeTotal,
      after: after / afterTotal,
      difference: after / afterTotal - before / beforeTotal,
      interval: turnwise.numbers.newcombe(after, afterTotal, before, beforeTotal),
    };
  }

  return {series};
})();
