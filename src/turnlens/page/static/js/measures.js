/* What is measured of conversations, such as ratings and minutes, and the categories that they can be split by. */
"use strict";

turnlens.measures = (() => {
  const MOST_VALUES = 20, // of a category
    FEW = 5, // values, of which a mean says little
    RATINGS = 11, // whole numbers at most, of which the low ones are the bad ones
    COUNTED = ["errors", "calls", "branches", "repeats"]; // of what went wrong, and the high ones are the bad ones
  const {Z} = turnlens.numbers;

  function names() {
    return turnlens.report.summary.numbers;
  }

  function column(name) {
    return turnlens.report.conversations[`number:${name}`];
  }

  /** Of some conversations: in how many a number is known, its mean and its standard deviation; NaN where unknown. */
  function of(name, members) {
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

  /** Whether a mean, or a share, is surely lower (-1) or higher (1) than that of everything shown, by its 95 % interval. */
  function compared({count, mean, sd}, all, share) {
    if (count < FEW) return 0;
    const half = (Z * sd) / Math.sqrt(count);
    const [low, high] = share ? turnlens.numbers.wilson(mean * count, count) : [mean - half, mean + half];
    return high < all.mean ? -1 : low > all.mean ? 1 : 0;
  }

  /** Whether a number is 1 for yes and 0 for no, so that its mean is a share. */
  function isShare(name) {
    return column(name).every((value) => Number.isNaN(value) || value === 0 || value === 1);
  }

  /** Whether a number is a rating: few whole numbers, from 0 or 1 on. */
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
      .filter(({name, values}) => values.length > 1 && values.length <= MOST_VALUES && !names().includes(name))
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .map((each) => ({...each, codes: each.codes()}));
  }

  function earliest(codes) {
    const {conversation} = turnlens.report.messages;
    const first = new Int32Array(turnlens.report.counts.conversation).fill(-1);
    codes.forEach((code, m) => code >= 0 && first[conversation[m]] < 0 && (first[conversation[m]] = code));
    return first;
  }

  return {names, of, compared, isRating, isShare, categories, FEW};
})();
