/* Boilerplate within messages: shown struck out, since it takes no part in groups and names. */
"use strict";

turnlens.struck = (() => {
  const {element, visible} = turnlens.dom;

  /** Messages as `{text, spans}`: what was said, and from where to where it is boilerplate. */
  async function getAll(messages) {
    const [texts, struck] = await Promise.all([turnlens.texts.getAll(messages), turnlens.data.load("struck")]);
    return texts.map((text, i) => ({text, spans: struck[messages[i]] || []}));
  }

  function isAll({text, spans}) {
    return spans.length === 1 && spans[0][0] === 0 && spans[0][1] === text.length;
  }

  /** What messages say besides boilerplate; all of it where one says nothing else. */
  async function said(messages) {
    const bare = (text, spans) => spans.reduceRight((left, [start, end]) => left.slice(0, start) + left.slice(end), text);
    return (await getAll(messages)).map(({text, spans}) => bare(text, spans).trim() || text);
  }

  /** Somebody's words, as of `dom.quote`, with boilerplate struck out. */
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
  function badge(said) {
    return isAll(said) && element("span", {class: "badge quiet", title: "Word for word the first answer in many conversations, or quoted mail alone"}, "automatic");
  }

  return {getAll, said, quote, badge};
})();
