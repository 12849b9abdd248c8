/* Elements made of tags, attributes and texts; texts of the data never become HTML. */
"use strict";

turnlens.dom = (() => {
  const SVG = "http://www.w3.org/2000/svg";

  /**
   * An element.
   * @param attributes `class` and any other; `on` listeners, `style` properties; null and false are left out.
   * @param children elements, texts, or lists of them; null and false are left out.
   */
  function element(tag, attributes, ...children) {
    return filled(document.createElement(tag), attributes, children);
  }

  function svg(tag, attributes, ...children) {
    return filled(document.createElementNS(SVG, tag), attributes, children);
  }

  function filled(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name === "on") for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
      else if (name === "style") for (const [key, set] of Object.entries(value)) node.style.setProperty(key, set);
      else if (value === true) node.setAttribute(name, "");
      else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value);
    }
    node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
    return node;
  }

  /** Adds children, as of `element`, to a node. */
  function add(node, ...children) {
    return filled(node, null, children);
  }

  /** Replaces what a node holds. */
  function fill(node, ...children) {
    node.replaceChildren();
    return filled(node, null, children);
  }

  /** A text as it can be shown: characters that would be invisible, or turn others round, by their codes. */
  function visible(text) {
    return text.replace(
      /[\0-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]/g,
      (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
    );
  }

  /** The beginning of a text, in one piece of at most `length` characters. */
  function shortened(text, length) {
    if (text.length <= length) return visible(text);
    const cut = text.slice(0, length);
    return visible(cut.replace(/[\ud800-\udbff]$/, "")) + " …";
  }

  /** Somebody's words: isolated, in their own direction. */
  function quote(text, length = 300, attributes = {}) {
    return element(
      "span",
      {dir: "auto", ...attributes, class: `quote ${attributes.class || ""}`},
      shortened(text, length),
    );
  }

  function button(label, onClick, attributes = {}) {
    return element("button", {type: "button", ...attributes, on: {click: onClick}}, label);
  }

  /** A labelled drop-down list of [value, label] pairs; its id keeps the focus on it when it is made anew. */
  function choice(label, options, value, onChange, attributes = {}) {
    const select = element(
      "select",
      {id: `choose-${label.toLowerCase().replaceAll(" ", "-")}`, ...attributes, on: {change: () => onChange(select.value)}},
      options.map(([each, name]) => element("option", {value: each, selected: String(each) === String(value)}, name)),
    );
    return element("label", {class: "field"}, element("span", null, label), select);
  }

  /**
   * Applies the value of a field when it is complete: picked, or typed and then left or confirmed by Enter. Every digit
   * of a date, and every arrow key in a closed list, is a change of its own, and would be applied half-way.
   */
  function whenComplete(field, apply) {
    let isTyping = false;
    const done = () => {
      isTyping = false;
      apply();
    };
    field.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && isTyping) {
        event.preventDefault(); // it would open a list
        done();
      } else if (event.key.length === 1 || /^(Arrow|Page|Home|End|Backspace|Delete)/.test(event.key))
        isTyping = event.key !== " " && !event.altKey; // these open what is picked from
    });
    field.addEventListener("change", () => isTyping || done());
    field.addEventListener("blur", () => isTyping && done());
  }

  /** Runs what a button was pressed for; until then a further press does nothing, and the focus stays on it. */
  async function whilePressed(pressed, work) {
    if (pressed.ariaDisabled === "true") return;
    pressed.ariaDisabled = "true";
    try {
      await work();
    } finally {
      pressed.ariaDisabled = null;
    }
  }

  function announce(text) {
    document.getElementById("announcer").textContent = text;
  }

  return {element, svg, add, fill, visible, shortened, quote, button, choice, whenComplete, whilePressed, announce};
})();
