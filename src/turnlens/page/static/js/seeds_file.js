/* The list of requests, with examples, as a file for `--seeds`: so that the next export is listed like this one. */
"use strict";

turnlens.seedsFile = (() => {
  const EXAMPLES = 5,
    LONGEST_NAME = 200;

  /** A string of TOML, which escapes as JSON does. */
  function string(text) {
    const line = text.toWellFormed().replace(/\s+/g, " ").trim();
    return JSON.stringify(line).replaceAll("\x7f", "\\u007f");
  }

  /** One group, or several that are joined, under the name of the first. */
  async function seed(groups) {
    const rows = groups.flatMap((each) => each.central.slice(0, EXAMPLES));
    const examples = new Set((await turnlens.struck.said(rows)).filter((text) => text.trim()).map(string));
    return `${string(groups[0].name.slice(0, LONGEST_NAME))} = [${[...examples].join(", ")}]\n`;
  }

  async function write() {
    const {requests, said} = turnlens.listing.lists(),
      moved = turnlens.listing.moved();
    const aside = said.filter((each) => each.aside || moved.has(each.id));
    const all = await Promise.all(turnlens.fineness.joined(requests).map(seed));
    const others = await Promise.all(aside.map((each) => seed([each])));
    const text = [...all, others.length ? '\n["said along the way"]\n' : "", ...others];
    return new Blob(["# turnlens explore next.csv --seeds requests.toml\n", ...text], {type: "application/toml"});
  }

  return {write};
})();
