/* Figures, their intervals (95 %) and how they are written; what is measured of conversations; categories. */
"use strict";

turnlens.numbers = (() => {
  const Z = 1.959963984540054;
  const MOST_VALUES = 20, // of a category
    FEW = 5, // values, of which a mean says little
    RATINGS = 11, // whole numbers at most, of which the low ones are the bad ones
    COUNTED = ["errors", "calls", "branches", "repeats"]; // of what went wrong, and the high ones are the bad ones
  const integers = new Intl.NumberFormat("en");

  /** Wilson's interval of a share of `count` among `total`. */
  function wilson(count, total) {
    if (total === 0) return [0, 1];
    const share = count / total,
      square = Z * Z;
    const centre = (share + square / (2 * total)) / (1 + square / total);
    const half = (Z / (1 + square / total)) * Math.sqrt((share * (1 - share)) / total + square / (4 * total * total));
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

  /** The distance of an interval from zero; negative if zero lies within. */
  function distanceFromZero([low, high]) {
    return Math.max(low, -high);
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
    return turnlens.report.summary.numbers;
  }

  function column(name) {
    return turnlens.report.conversations[`number:${name}`];
  }

  /** The count, mean and standard deviation of a number among some conversations; NaN where unknown. */
  function summaryOf(name, members) {
    const values = column(name);
    let count = 0,
      sum = 0,
      squares = 0;
    for (const c of members) {
      if (Number.isNaN(values[c])) continue;
      count += 1;
      sum += values[c];
    }
    const mean = sum / count;
    for (const c of members) if (!Number.isNaN(values[c])) squares += (values[c] - mean) ** 2;
    return {count, mean, sd: count > 1 ? Math.sqrt(squares / (count - 1)) : NaN};
  }

  /** Returns -1 or 1 if a mean, or a share, is surely lower or higher than that of everything shown (95 %), else 0. */
  function compared({count, mean, sd}, all, share) {
    if (count < FEW) return 0;
    const half = (Z * sd) / Math.sqrt(count);
    const [low, high] = share ? wilson(mean * count, count) : [mean - half, mean + half];
    return high < all.mean ? -1 : low > all.mean ? 1 : 0;
  }

  /** Tests if a number is 1 for yes and 0 for no, so that its mean is a share. */
  function isShare(name) {
    return column(name).every((value) => Number.isNaN(value) || value === 0 || value === 1);
  }

  /** Tests if a number is a rating: few whole numbers, from 0 or 1 on. */
  function isRating(name) {
    if (COUNTED.includes(name)) return false;
    const values = new Set([...column(name)].filter((value) => !Number.isNaN(value)));
    return values.size <= RATINGS && [...values].every((value) => Number.isInteger(value) && value >= 0 && value <= 10);
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
      .filter(({name, values}) => values.length > 1 && values.length <= MOST_VALUES && !measureNames().includes(name))
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .map((each) => ({...each, codes: each.codes()}));
  }

  function earliest(codes) {
    const {conversation} = turnlens.report.messages;
    const first = new Int32Array(turnlens.report.counts.conversation).fill(-1);
    codes.forEach((code, m) => code >= 0 && first[conversation[m]] < 0 && (first[conversation[m]] = code));
    return first;
  }

  return {FEW, wilson, newcombe, distanceFromZero, integer, percent, percentWithin, plural, day, minute, measured, measureNames, summaryOf, compared, isRating, isShare, categories};
})();
