/* Texts of messages: files of some 20,000 messages each, read when needed; and the boilerplate in it. */
"use strict";

turnlens.texts = (() => {
  const {element, visible} = turnlens.dom;
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

  /** A text without case and accents, for search. */
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

  /** Messages as `{text, spans}`; the spans are boilerplate, which takes no part in groups and names. */
  async function withBoilerplate(messages) {
    const [texts, struck] = await Promise.all([getAll(messages), turnlens.data.load("struck")]);
    return texts.map((text, i) => ({text, spans: struck[messages[i]] || []}));
  }

  function isAll({text, spans}) {
    return spans.length === 1 && spans[0][0] === 0 && spans[0][1] === text.length;
  }

  /** Texts of messages without boilerplate; whole where there is nothing else. */
  async function withoutBoilerplate(messages) {
    const bare = (text, spans) => spans.reduceRight((left, [start, end]) => left.slice(0, start) + left.slice(end), text);
    return (await withBoilerplate(messages)).map(({text, spans}) => bare(text, spans).trim() || text);
  }

  /** A text as `dom.quote` shows it, with boilerplate struck out. */
  function quote({text, spans}, length = 300) {
    if (text === "") return element("em", {class: "muted"}, "(empty)");
    const kept = text.length <= length ? text : text.slice(0, length).replace(/[\ud800-\udbff]$/, "");
    const pieces = [];
    let at = 0;
    for (const [start, end] of [...spans, [kept.length, kept.length]]) {
      pieces.push(visible(kept.slice(at, start)));
      if (start < kept.length) pieces.push(element("s", {title: "Boilerplate: takes no part in groups and names"}, visible(kept.slice(start, end))));
      at = end;
    }
    return element("span", {dir: "auto", class: "quote"}, pieces, kept.length < text.length && " …");
  }

  /** A mark for a message that is nothing but boilerplate. */
  function badge(message) {
    return isAll(message) && element("span", {class: "badge quiet", title: "Word for word the first answer in many conversations, or quoted mail alone"}, "automatic");
  }

  return {get, getAll, matching, forget, withBoilerplate, withoutBoilerplate, quote, badge};
})();
