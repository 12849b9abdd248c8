/* What was said: files of some 20,000 messages each, read when they are needed. */
"use strict";

turnlens.texts = (() => {
  const folded = new Map();

  function file(number) {
    return turnlens.data.load(`texts-${String(number).padStart(5, "0")}`);
  }

  /** The text of a message. */
  async function get(message) {
    const size = turnlens.report.summary.texts_per_file;
    return (await file(Math.floor(message / size)))[message % size];
  }

  function getAll(messages) {
    return Promise.all(Array.from(messages, get));
  }

  /** What searches compare: without case and accents. */
  function fold(text) {
    return text.toLowerCase().normalize("NFKD").replace(/\p{M}/gu, "");
  }

  /** Marks the messages that hold all words of a query; reads every text the first time. */
  async function matching(query, onProgress = () => {}) {
    const words = fold(query).split(/\s+/).filter(Boolean);
    const {summary} = turnlens.report;
    const mask = new Uint8Array(summary.counts.messages);
    const files = Math.ceil(mask.length / summary.texts_per_file);
    for (let number = 0; number < files; number++) {
      if (!folded.has(number)) folded.set(number, (await file(number)).map(fold));
      const start = number * summary.texts_per_file;
      folded.get(number).forEach((text, i) => {
        mask[start + i] = words.every((word) => text.includes(word)) ? 1 : 0;
      });
      onProgress((number + 1) / files);
    }
    return mask;
  }

  function forget() {
    folded.clear();
  }

  return {get, getAll, matching, fold, forget};
})();
