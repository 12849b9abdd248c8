/* Sizes of groups over time, and their growth. */
"use strict";

turnlens.timeline = (() => {
  const DAY = 86400;

  /** The times of the conversations that pass and have one; at the level of messages, of those with messages that pass. */
  function times(level, selection) {
    const {messages, conversations} = turnlens.report;
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

  /** The bins of some times; null where there are not two different ones. */
  function binsOf(times) {
    const known = ends(times);
    return known && bins(...known);
  }

  /** The first and the last of some times; null where there are not two different ones. */
  function ends(times) {
    let first = Infinity,
      last = -Infinity;
    for (const time of times.values()) {
      first = Math.min(first, time);
      last = Math.max(last, time);
    }
    return last > first ? [first, last] : null;
  }

  /**
   * The share of some conversations, a set, of those of which `times` has the time, in each bin. Messages of one
   * conversation are not independent, so a conversation with several of them counts once.
   * @return null without times, else `{unit, points: [{start, count, total, share, interval}]}`.
   */
  function series(times, members) {
    const known = binsOf(times);
    if (!known) return null;
    const {start, width, count, unit} = known;
    const counts = new Float64Array(count),
      totals = new Float64Array(count);
    for (const [conversation, time] of times) {
      const bin = Math.floor((time - start) / width);
      totals[bin] += 1;
      if (members.has(conversation)) counts[bin] += 1;
    }
    const points = Array.from(counts, (n, bin) => ({
      start: start + bin * width,
      count: n,
      total: totals[bin],
      share: totals[bin] ? n / totals[bin] : NaN,
      interval: turnlens.numbers.wilson(n, totals[bin]),
    }));
    return {unit, points};
  }

  const LENGTHS = {week: 7 * DAY, month: 30 * DAY};
  const PERIODS = [
    ["half", "the half before"],
    ["week", "the week before"],
    ["month", "the 30 days before"],
  ];

  /**
   * Which time is compared with which, as the address says: the last week or 30 days, the time of the filter, or else
   * the later half, each with as long a time before it.
   * @return null without times, else `{before: [from, to], after: [from, to], words}`.
   */
  function periods(times) {
    const known = ends(times);
    if (!known) return null;
    const {filter, options} = turnlens.route.current();
    const [from, to] = turnlens.filters.days(filter);
    const length = LENGTHS[options.period];
    const [first, last] = known;
    const end = Number.isNaN(to) ? last : Math.min(to, last);
    const compared = (start, earlier, words) => ({before: [earlier, start], after: [start, end], words});
    if (length) return compared(end - length, end - 2 * length, `the last ${length / DAY} days and those before`);
    if (from > first) return compared(from, 2 * from - end, "the time shown and as long before");
    return compared((first + end) / 2, first, "the earlier half of the time and the later");
  }

  /** The change of the share of some conversations, a set, between two times: `{before, after, difference, interval}`. */
  function change(times, members, compared) {
    if (!compared) return null;
    const counts = {before: [0, 0], after: [0, 0]};
    for (const [conversation, time] of times) {
      const [start, end] = compared.after;
      const side = time >= start ? time <= end && counts.after : time >= compared.before[0] && counts.before;
      if (!side) continue;
      side[1] += 1;
      if (members.has(conversation)) side[0] += 1;
    }
    const [before, beforeTotal] = counts.before,
      [after, afterTotal] = counts.after;
    if (beforeTotal === 0 || afterTotal === 0) return null;
    return {
      before: before / beforeTotal,
      after: after / afterTotal,
      difference: after / afterTotal - before / beforeTotal,
      interval: turnlens.numbers.newcombe(after, afterTotal, before, beforeTotal),
    };
  }

  return {times, binsOf, series, periods, change, PERIODS};
})();
