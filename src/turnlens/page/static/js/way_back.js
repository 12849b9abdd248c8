/* The way back to a list: at the place, and on the link, at which it was left. */
"use strict";

turnlens.wayBack = (() => {
  const WAIT = 5000; // milliseconds, after which texts that have not arrived are not waited for
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

  return {leave, arrive};
})();
