/* How large groups are over time, and which of them grow or decline. */
"use strict";

turnwise.timeline = (() => {
  const DAY = 86400;

  /** The times of the conversations that pass and have one; at the level of messages, of those with messages that pass. */
  function times(level, selection) {
    const {messages, conversations} = turnwise.report;
    const known = new Map();
    if (level === "conversation")
      conversations.time.forEach((time, c) => {
        if (selection.conversation[c]) known.set(c, time);
      });
    else
      messages.conversation.forEach((c, m) => {
        if (!selection.message[m] || known.has(c)) return;
        known.set(c, Number.isNaN(messages.time[m]) ? conversations.time[c] : messages.time[m]);
      });
    return new Map([...known].filter(([, time]) => !Number.isNaN(time)));
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
   * The share of some conversations, a set, of those of which `times` has the time, in each bin. Messages of one
   * conversation are not independent, so a conversation with several of them counts once.
   * @return null without times, else `{unit, points: [{start, count, total, share, interval}], change}`, where change
   *   compares the later half of the time with the earlier: `{before, after, difference, interval}`.
   */
  function series(times, members) {
    if (times.size < 2) return null;
    let first = Infinity,
      last = -Infinity;
    for (const time of times.values()) {
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
    for (const [conversation, time] of times) {
      const bin = Math.floor((time - start) / width),
        half = halves[time < middle ? 0 : 1];
      totals[bin] += 1;
      half[1] += 1;
      if (members.has(conversation)) {
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

  return {times, series};
})();
