/* The page around the views: reading the report, going from view to view, the keyboard. */
"use strict";

turnlens.app = (() => {
  const {element, button, fill, announce} = turnlens.dom;
  const TABS = [
    ["overview", "Overview"],
    ["map", "Map"],
    ["groups", "Groups"],
    ["flows", "Flows"],
    ["conversations", "Conversations"],
    ["search", "Search"],
  ];
  const TAB_OF = {group: "groups", conversation: "conversations"};
  const main = document.getElementById("main");
  let shown = null; // {view, parts, selection, update, leave}
  let turn = 0,
    count = null; // of messages that pass

  async function start() {
    try {
      await Promise.all([turnlens.data.loadReport(), turnlens.live.detect()]);
    } catch (error) {
      return fill(main, element("p", {class: "error", role: "alert"}, `The report cannot be shown: ${error.message}`));
    }
    document.querySelector(".skip").addEventListener("click", (event) => {
      event.preventDefault(); // its target would be taken for the address of a view
      main.focus();
    });
    window.addEventListener("hashchange", () => render());
    window.addEventListener("themechange", () => render(true));
    document.addEventListener("keydown", onKey);
    header();
    footer();
    fill(document.getElementById("notice"), turnlens.report.summary.notice && element("p", {class: "notice"}, turnlens.report.summary.notice));
    await render();
  }

  /** Shows the view of the address; the same view again is updated in place if it can be. */
  async function render(anew = false) {
    const mine = ++turn;
    const before = turnlens.route.leave();
    const route = turnlens.route.current();
    const view = turnlens.views[route.view] || turnlens.views.overview;
    main.setAttribute("aria-busy", "true");
    let selection;
    try {
      selection = await turnlens.filters.select(route.filter, (share) => {
        announce(`Reading texts: ${Math.round(100 * share)} %`);
      });
    } catch (error) {
      return fill(main, element("p", {class: "error", role: "alert"}, error.message));
    }
    if (mine !== turn) return; // the address has changed meanwhile
    const same = shown && shown.view === view && String(shown.parts) === String(route.parts);
    const isEmpty = selection.filtered && selection.count.conversation === 0 && route.view !== "conversation";
    const scroll = same ? window.scrollY : 0,
      focused = document.activeElement,
      isFirst = shown === null;
    header();
    turnlens.filterBar.show(document.getElementById("filters"), selection);
    if (same && !anew && !isEmpty && shown.update) {
      shown.update(route, selection);
    } else {
      shown?.leave?.();
      shown = {view, parts: route.parts};
      main.replaceChildren();
      if (isEmpty) turnlens.filterBar.showNothing(main, route.filter);
      else Object.assign(shown, view.render(main, route, selection));
      document.title = `${titleOf(main.querySelector("h1"))} – turnlens`;
      if (!shown.scrolls) window.scrollTo(0, scroll);
    }
    if (!isFirst) keepFocus(focused, same);
    if (!same && before) turnlens.route.arrive(before);
    main.removeAttribute("aria-busy");
    if (count !== selection.count.message) announce(`${turnlens.numbers.plural(selection.count.message, "message")} shown`);
    count = selection.count.message;
  }

  /** Gives the focus back to what had it and has been made anew; otherwise, and in another view, to the content. */
  function keepFocus(before, same) {
    const now = document.activeElement;
    if (main.contains(now) || (same && now !== document.body)) return;
    const again = same && before.id && document.getElementById(before.id);
    if (again) again.focus();
    else if (!same || before !== document.body) main.focus({preventScroll: true});
  }

  /** A heading without its sign and badges. */
  function titleOf(heading) {
    const words = [...(heading?.childNodes || [])].filter((node) => !node.matches?.(".sign, .badge"));
    return words.map((node) => node.textContent).join("").trim() || "Conversations";
  }

  function header() {
    const route = turnlens.route.current();
    const tab = TAB_OF[route.view] || route.view;
    const dark = turnlens.theme.isDark();
    fill(
      document.getElementById("header"),
      element("div", {class: "title", dir: "auto"}, turnlens.dom.shortened(turnlens.report.summary.title, 80)),
      element(
        "nav",
        {"aria-label": "Views"},
        TABS.map(([name, label]) =>
          element(
            "a",
            {
              id: `tab-${name}`,
              href: turnlens.route.link(name),
              "aria-current": tab === name ? "page" : null,
            },
            label,
          ),
        ),
      ),
      button(dark ? "☀" : "☾", turnlens.theme.toggle, {
        id: "theme",
        "aria-label": dark ? "Light colours" : "Dark colours",
        title: dark ? "Light colours (T)" : "Dark colours (T)",
      }),
      button("?", help, {id: "help-button", "aria-label": "Help", title: "Help (?)"}),
    );
  }

  function footer() {
    const {summary} = turnlens.report;
    fill(
      document.getElementById("footer"),
      `Made on ${summary.made.slice(0, 10)} by turnlens ${summary.turnlens}. `,
      turnlens.live.isLive() ? "Shown by a server on this machine; " : "A page of files; ",
      "nothing is loaded from elsewhere, and nothing is sent.",
    );
  }

  function onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("dialog")) return;
    if (event.key === "Escape") {
      shown?.key?.(event);
      return turnlens.filterBar.close();
    }
    if (event.target.closest?.("input, select, textarea")) return;
    const number = Number(event.key);
    if (event.key === "/" || event.key === "f") event.preventDefault(); // not typed into the field that gets the focus
    if (event.key === "/") {
      turnlens.route.go("search", [], {type: "1"}); // what is typed next is the query
      document.getElementById("search")?.focus();
    }
    else if (event.key === "t") turnlens.theme.toggle();
    else if (event.key === "f") turnlens.filterBar.toggle();
    else if (event.key === "?") help();
    else if (number >= 1 && number <= TABS.length) turnlens.route.go(TABS[number - 1][0]);
    else shown?.key?.(event);
  }

  function help() {
    const keys = [
      ["1 – 6", "the views, from Overview to Search"],
      ["/", "search"],
      ["f, Escape", "open and close filters"],
      ["t", "light or dark"],
      ["j, k", "next and previous conversation"],
      ["arrows, +, −, 0", "move and zoom the map when it has the focus"],
      ["Enter", "list what is in view of the map"],
      ["l, Escape", "begin and end drawing around points of the map by mouse"],
      ["?", "this help"],
    ];
    const words = [
      ["surprise", "how many random messages of the same role would fit better there; 50 % is what chance would give"],
      ["41 % (38 to 44)", "a share, and between which the true one lies in 95 of 100 cases"],
      ["growing, declining", "the last day, week or month against all before; only changes larger than chance"],
      ["typical, doubtful", "members nearest to the group's middle, and furthest from it"],
      ["keywords", "phrases at least twice as frequent in the group as elsewhere"],
    ];
    const list = (rows, tag) =>
      element(
        "dl",
        null,
        rows.map(([term, what]) => [element("dt", null, element(tag, null, term)), element("dd", null, what)]),
      );
    const dialog = element(
      "dialog",
      {"aria-label": "Help"},
      element("h2", {tabindex: "-1", autofocus: true}, "Keyboard"),
      list(keys, "kbd"),
      element("h2", null, "Words"),
      list(words, "strong"),
      button("Close", () => dialog.close()),
    );
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  }

  return {start, render};
})();

turnlens.app.start();
