/* How large groups are over time, and which of them grow or decline. */
"use strict";

turnwise.timeline = (() => {
  const DAY = 86400;

  /** The time of each message or conversation: its own, else that of its conversation. */
  function times(level) {
    const {messages, conversations} = turnwise.report;
    if (level === "conversation") return conversations.time;
    return messages.time.map((time, m) => (Number.isNaN(time) ? conversations.time[messages.conversation[m]] : time));
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
   * Shares of the rows with `member(row)` in each bin, among those that pass and have a time.
   * @return null without times, else `{unit, points: [{start, count, total, share, interval}], change}`, where change
   *   compares the later half of the rows with the earlier: `{before, after, difference, interval}`.
   */
  function series(level, selection, member) {
    const time = times(level);
    const rows = [];
    for (let row = 0; row < time.length; row++) if (selection[level][row] && !Number.isNaN(time[row])) rows.push(row);
    if (rows.length < 2) return null;
    let first = Infinity,
      last = -Infinity;
    for (const row of rows) {
      first = Math.min(first, time[row]);
      last = Math.max(last, time[row]);
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
    for (const row of rows) {
      const bin = Math.floor((time[row] - start) / width),
        half = halves[time[row] < middle ? 0 : 1];
      totals[bin] += 1;
      half[1] += 1;
      if (member(row)) {
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
