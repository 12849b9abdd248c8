/* The address: `#/view/part?option=…&filter=…`. Filters go along from view to view, so that a link shows the same. */
"use strict";

turnlens.route = (() => {
  const FILTERS = ["text", "role", "from", "to", "group", "topic", "lasso"];
  const KEPT = ["asker", "moved", "period", "fine"]; // options that concern more than one view

  /** Tests if a parameter is a filter; labels are `m.NAME` of messages and `c.NAME` of conversations. */
  function isFilter(name) {
    return FILTERS.includes(name) || /^[mc]\./.test(name);
  }

  function parse(hash) {
    const [path, query] = hash.replace(/^#?\/?/, "").split(/\?(.*)/s);
    const [view, ...parts] = path.split("/").map(decoded);
    const filter = {},
      options = {};
    for (const [name, value] of new URLSearchParams(query || "")) {
      if (isFilter(name)) (filter[name] ||= []).push(value);
      else options[name] = value;
    }
    return {view: view || "overview", parts, filter, options};
  }

  function decoded(part) {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  }

  function format({view, parts = [], filter = {}, options = {}}) {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(options)) if (value !== null && value !== "") query.append(name, value);
    for (const [name, values] of Object.entries(filter)) for (const value of values) query.append(name, value);
    const text = query.toString();
    return "#/" + [view, ...parts].map(encodeURIComponent).join("/") + (text ? `?${text}` : "");
  }

  function current() {
    return parse(location.hash);
  }

  /** The address of a view, by default under the current filter. */
  function link(view, parts = [], options = {}, filter = current().filter) {
    const now = current().options;
    const kept = Object.fromEntries(KEPT.filter((name) => name in now).map((name) => [name, now[name]]));
    return format({view, parts, options: {...kept, ...options}, filter});
  }

  /** The address of a message, within its conversation. */
  function place(m) {
    const {conversation, turn} = turnlens.report.messages;
    return link("conversation", [conversation[m]], {turn: turn[m] + 1});
  }

  function go(view, parts, options) {
    location.hash = link(view, parts, options);
  }

  /** Changes options of the current view. */
  function setOptions(changes) {
    const now = current();
    location.hash = format({...now, options: {...now.options, ...changes}});
  }

  /** Changes filters: name to list of values; an empty list takes it away. */
  function setFilter(changes) {
    const now = current();
    const filter = {...now.filter, ...changes};
    for (const name of Object.keys(filter)) if (filter[name].length === 0) delete filter[name];
    location.hash = format({...now, filter});
  }

  // The way back to a list: to the place, and to the link, at which it was left.
  const WAIT = 5000; // milliseconds for texts to arrive
  const places = new Map(), // of entries of the history: {scroll, href}
    main = document.getElementById("main");
  let entry = number();
  history.scrollRestoration = "manual";

  /** Keeps the place in what is shown still, and gives that of the entry that is shown next, if it was seen before. */
  function leave() {
    const here = document.activeElement;
    places.set(entry, {scroll: window.scrollY, href: main.contains(here) ? here.getAttribute("href") : null});
    entry = number();
    return places.get(entry);
  }

  /** The number of the current entry of the history. */
  function number() {
    if (history.state === null) history.replaceState(Math.random(), "");
    return history.state;
  }

  /** Goes to a place as soon as what was there has been made. */
  function arrive({scroll, href}) {
    if (href === null) return window.scrollTo(0, scroll);
    const mine = entry;
    const look = () => {
      const link = [...main.querySelectorAll("a")].find((each) => each.getAttribute("href") === href);
      if (!link || entry !== mine) return;
      stop();
      link.focus({preventScroll: true});
      window.scrollTo(0, scroll);
    };
    const watch = new MutationObserver(look),
      timer = setTimeout(stop, WAIT);
    function stop() {
      watch.disconnect();
      clearTimeout(timer);
    }
    watch.observe(main, {childList: true, subtree: true});
    look();
  }

  return {current, link, place, go, setOptions, setFilter, leave, arrive};
})();
