/* Figures and their intervals (95 %), and how they are written. */
"use strict";

turnlens.numbers = (() => {
  const Z = 1.959963984540054;
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

  return {Z, measured, wilson, newcombe, integer, percent, percentWithin, plural, day, minute};
})();
