/* Sizes of groups over time, and their growth. */
"use strict";

turnlens.timeline = (() => {
  const DAY = 86400,
    STRAY = 0.01; // of the conversations, at each end of the time: they decide neither its span nor where it ends
  const PERIODS = [
    // name, in words, the longest span in days that it suits, days
    ["day", "the last day", 14, 1],
    ["week", "the last 7 days", 60, 7],
    ["month", "the last 30 days", Infinity, 30],
  ];

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

  /** The bins of some times, without stray ones that would make most of them empty; null where there are not two different ones. */
  function binsOf(times) {
    const sorted = Float64Array.from(times.values()).sort();
    const [first, last] = [sorted[0], sorted[sorted.length - 1]];
    if (!(last > first)) return null;
    const [start, end] = spanOf(sorted);
    return end > start && last - first > 2 * (end - start) ? bins(start, end) : bins(first, last);
  }

  /** The first and the last of sorted times, apart from a hundredth at each end. */
  function spanOf(sorted) {
    const middle = sorted.length >> 1,
      stray = Math.ceil(STRAY * (sorted.length - 1));
    return [sorted[Math.min(stray, middle)], sorted[Math.max(sorted.length - 1 - stray, middle)]];
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
      if (bin < 0 || bin >= count) continue;
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

  /**
   * Which time is compared with which, as the address says: the last day, week or 30 days with all before them, by
   * default what suits the span; or the time of the filter with as long a time before it.
   * @return null without times, else `{before: [from, to], after: [from, to], words, period}`.
   */
  function periods(times) {
    const sorted = Float64Array.from(times.values()).sort();
    const [first, last] = spanOf(sorted);
    if (!(last > first)) return null;
    const {filter, options} = turnlens.route.current();
    const [from, to] = turnlens.filters.days(filter);
    const end = Number.isNaN(to) ? last : Math.min(to, last);
    if (!options.period && from > first)
      return {before: [2 * from - end, from], after: [from, end], words: "the time shown and as long before"};
    const usual = PERIODS.find(([, , longest]) => end - first <= longest * DAY);
    const [period, words, , days] = PERIODS.find(([name]) => name === options.period) || usual;
    const start = end - days * DAY;
    return {before: [first, start], after: [start, end], words: `${words} and all before`, period};
  }

  /** The change of the share of some conversations, a set, between two times: `{before, after, difference, interval}`. */
  function change(times, members, compared) {
    if (!compared) return null;
    const counts = {before: [0, 0], after: [0, 0]};
    const [first] = compared.before,
      [start, end] = compared.after;
    for (const [conversation, time] of times) {
      if (time < first || time > end) continue;
      const side = counts[time > start ? "after" : "before"];
      side[1] += 1;
      if (members.has(conversation)) side[0] += 1;
    }
    const [before, beforeTotal] = counts.before,
      [after, afterTotal] = counts.after;
    if (Math.min(beforeTotal, afterTotal) < turnlens.numbers.FEW_TO_COMPARE) return null;
    return {
      before: before / beforeTotal,
      after: after / afterTotal,
      difference: after / afterTotal - before / beforeTotal,
      interval: turnlens.numbers.newcombe(after, afterTotal, before, beforeTotal),
    };
  }

  return {times, binsOf, series, periods, change, PERIODS};
})();
