/* Figures, their intervals (95 %) and how they are written; what is measured of conversations; categories. */
"use strict";

turnlens.numbers = (() => {
  const Z = 1.959963984540054;
  const FEW = 5, // values: of fewer none is shown, as in report/measures.py
    FEW_TO_COMPARE = 10; // values of a number, or conversations of a period, as in report/trends.py
  const integers = new Intl.NumberFormat("en");

  /** Wilson's interval of a share of `count` among `total`. */
  function wilson(count, total, z = Z) {
    if (total === 0) return [0, 1];
    const share = count / total,
      square = z * z;
    const centre = (share + square / (2 * total)) / (1 + square / total);
    const half = (z / (1 + square / total)) * Math.sqrt((share * (1 - share)) / total + square / (4 * total * total));
    return [Math.max(0, centre - half), Math.min(1, centre + half)];
  }

  /** Newcombe's interval of the difference of two independent shares. */
  function newcombe(count, total, otherCount, otherTotal) {
    if (total === 0 || otherTotal === 0) return [-1, 1];
    const share = count / total,
      other = otherCount / otherTotal;
    const [low, high] = wilson(count, total),
      [otherLow, otherHigh] = wilson(otherCount, otherTotal);
    return [
      share - other - Math.hypot(share - low, otherHigh - other),
      share - other + Math.hypot(high - share, other - otherLow),
    ];
  }

  /** Returns -1 or 1 if a change or a difference is surely below or above zero where requests are compared, else 0. */
  function mark(value, [low, high]) {
    const {notice, wider} = turnlens.report.summary;
    if (notice) return 0; // a language that the encoder does not know
    return value + wider * (low - value) > 0 ? 1 : value + wider * (high - value) < 0 ? -1 : 0;
  }

  /** The distance of an interval from zero; negative if zero lies within. */
  function distanceFromZero([low, high]) {
    return Math.max(low, -high);
  }

  /** The rows of a mask that are set. */
  function passing(mask) {
    const rows = [];
    mask.forEach((passes, row) => passes && rows.push(row));
    return rows;
  }

  /** The number of rows that pass with each value of a column. */
  function tally(column, mask) {
    const counts = new Map();
    column.forEach((value, row) => mask[row] && counts.set(value, (counts.get(value) || 0) + 1));
    return counts;
  }

  function integer(value) {
    return integers.format(value);
  }

  function percent(share, digits) {
    const places = digits ?? (Math.abs(share) < 0.1 && share !== 0 ? 1 : 0);
    return `${(100 * share).toFixed(places).replace("-", "−")} %`;
  }

  /** Such as "41 % (38 to 44)". */
  function percentWithin(share, [low, high]) {
    const digits = Math.abs(share) < 0.02 ? 1 : 0;
    const bound = (value) => (100 * value).toFixed(digits).replace("-", "−");
    return `${percent(share, digits)} (${bound(low)} to ${bound(high)})`;
  }

  function plural(count, noun) {
    return `${integer(count)} ${noun}${count === 1 ? "" : "s"}`;
  }

  /** A day such as 2025-03-14, in UTC, so that every reader sees the same. */
  function day(seconds) {
    return new Date(1000 * seconds).toISOString().slice(0, 10);
  }

  function minute(seconds) {
    return new Date(1000 * seconds).toISOString().slice(0, 16).replace("T", " ");
  }

  /** A measured number, to some places that count. */
  function measured(value, places = 3) {
    return new Intl.NumberFormat("en", {maximumSignificantDigits: places}).format(value).replace("-", "−");
  }

  function measureNames() {
    return Object.keys(turnlens.report.summary.numbers);
  }

  /** A number's kind: a "share" of yes or no, a "rating", a "count", or an "amount". */
  function kindOf(name) {
    return turnlens.report.summary.numbers[name];
  }

  /** What one number says of a kind: "median" of an amount, else "mean", and nothing of a share. */
  function statistic(name) {
    return {share: "", amount: "median"}[kindOf(name)] ?? "mean";
  }

  /** The known values of a number among some conversations, sorted. */
  function known(name, members) {
    const values = turnlens.report.conversations[`number:${name}`];
    return Float64Array.from([...members].map((c) => values[c]).filter((value) => !Number.isNaN(value))).sort();
  }

  /** `{count, median, above}`; above is the share above what three quarters of all conversations have at most. */
  function spread(name, members) {
    const every = known(name, turnlens.report.ids.keys());
    const limit = kindOf(name) === "share" ? 0 : every[Math.floor(0.75 * (every.length - 1))];
    const own = known(name, members);
    return {count: own.length, median: median(own).value, above: own.filter((value) => value > limit).length / own.length};
  }

  /** `{count, value, interval}` of a number among some conversations: its share, mean or median; NaN where unknown. The
   * interval is as wide as the number of requests asks for. */
  function typical(name, members) {
    const own = known(name, members),
      count = own.length,
      z = Z * turnlens.report.summary.wider;
    if (count === 0) return {count, value: NaN, interval: [NaN, NaN]};
    if (statistic(name) === "median") return median(own, z);
    const mean = own.reduce((sum, value) => sum + value, 0) / count;
    if (kindOf(name) === "share") return {count, value: mean, interval: wilson(mean * count, count, z)};
    const half = (z * turnlens.report.summary.deviations[name]) / Math.sqrt(count); // as in report/measures.py
    return {count, value: mean, interval: [mean - half, mean + half]};
  }

  /** The median of sorted values, and its interval by order statistics. */
  function median(sorted, z = Z) {
    const count = sorted.length,
      middle = count >> 1,
      half = (z * Math.sqrt(count)) / 2;
    const value = count % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    const [low, high] = [Math.floor(count / 2 - half), Math.ceil(count / 2 + half)];
    return {count, value, interval: low > 0 && high < count ? [sorted[low], sorted[high]] : [NaN, NaN]};
  }

  /** Returns -1 or 1 if a number is surely lower or higher than that of everything shown, else 0. */
  function compared({count, interval: [low, high]}, all) {
    return count < FEW_TO_COMPARE || turnlens.report.summary.notice ? 0 : Number(low > all.value) - Number(high < all.value);
  }

  /** Labels that conversations can be split by: `{name, values, codes}`; of messages, as of the first that has one. */
  function categories() {
    const {summary, conversations, messages} = turnlens.report;
    const found = new Map();
    for (const [name, values] of Object.entries(summary.labels.message))
      found.set(name, {name, values, codes: () => earliest(messages[`label:${name}`])});
    for (const [name, values] of Object.entries(summary.labels.conversation))
      found.set(name, {name, values, codes: () => conversations[`label:${name}`]});
    return [...found.values()]
      .filter(({name}) => summary.categories.includes(name))
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .map((each) => ({...each, codes: each.codes()}));
  }

  function earliest(codes) {
    const {conversation} = turnlens.report.messages;
    const first = new Int32Array(turnlens.report.counts.conversation).fill(-1);
    codes.forEach((code, m) => code >= 0 && first[conversation[m]] < 0 && (first[conversation[m]] = code));
    return first;
  }

  return {FEW, FEW_TO_COMPARE, passing, tally, wilson, newcombe, mark, distanceFromZero, integer, percent, percentWithin, plural, day, minute, measured, measureNames, kindOf, statistic, spread, typical, compared, categories};
})();
