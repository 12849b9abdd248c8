/* The lists of groups: requests, answers, and what is said along the way; joined as coarsely as the reader wants. */
"use strict";

turnlens.groupLists = (() => {
  const {element} = turnlens.dom;
  const LEAST = 2; // lists, however coarse

  /** The role that asks, by the address or else by the report; null where all are grouped together. */
  function asker() {
    const named = turnlens.route.current().options.asker ?? turnlens.report.summary.asker;
    return fine().some((each) => each.role === named) ? named : null;
  }

  function fine() {
    return turnlens.report.groups.message.list.filter((each) => each.level === 1);
  }

  /** The groups that a reader has moved from one list to the other, by id. */
  function moved() {
    const ids = turnlens.route.current().options.moved;
    return new Set(ids ? ids.split(",").map(Number) : []);
  }

  /** Moves a group to the other list, or back: where a server keeps it, for good; else in the address. */
  async function move({id, name}, pressed) {
    const buttons = [...document.querySelectorAll(".move")].filter((each) => each.textContent === pressed.textContent);
    const place = buttons.indexOf(pressed);
    const isRequest = lists().requests.some((each) => each.id === id);
    (buttons[place + 1] || buttons[place - 1])?.focus(); // the reader goes on in this list
    if (turnlens.live.isLive()) {
      await turnlens.live.edit(isRequest ? "aside" : "request", "message", [id]);
      await turnlens.app.render(true);
    } else {
      const ids = moved();
      if (!ids.delete(id)) ids.add(id);
      turnlens.route.setOptions({moved: [...ids].join(",")});
    }
    turnlens.dom.announce(`${name} is now ${isRequest ? "along the way" : "in the list above"}`);
  }

  /** A button that moves a group to the other list. */
  function moving(each, label) {
    return turnlens.dom.button(label, ({currentTarget}) => move(each, currentTarget), {
      id: `move-${each.id}`,
      class: "quiet move",
      "aria-label": `${label}: ${turnlens.dom.shortened(each.name, 80)}`,
    });
  }

  /** The fine groups as `{requests, asides, answers}`; asides are what those who ask say along the way. */
  function lists() {
    const who = asker(),
      exceptions = moved();
    const theirs = fine().filter((each) => who === null || each.role === who);
    const opens = theirs.some((each) => each.opening);
    const listed = (each) => (each.aside === null ? !each.move && Boolean(each.opening) === opens : !each.aside);
    const isRequest = (each) => listed(each) !== exceptions.has(each.id);
    return {
      requests: theirs.filter(isRequest),
      asides: theirs.filter((each) => !isRequest(each)),
      answers: fine().filter((each) => who !== null && each.role !== who && !each.move),
    };
  }

  /**
   * The shown messages of one role, or of all for null, as `{count, conversations, all, seriesOf, changeOf, compared}`:
   * their number, the conversations of each group (-1 for none), all conversations, a group's size over time, the
   * change of its share, and the compared times.
   */
  function ofRole(role, selection) {
    const {filter} = turnlens.route.current();
    const shown = within(role, selection),
      wide = filter.from || filter.to ? within(role, turnlens.filters.without(filter, "from", "to")) : shown;
    const compared = turnlens.timeline.periods(wide.times);
    return {
      ...shown,
      compared,
      seriesOf: (...ids) => turnlens.timeline.series(shown.times, together(ids, shown)),
      changeOf: (...ids) => turnlens.timeline.change(wide.times, together(ids, wide), compared),
    };
  }

  /** The conversations that are in any of some groups. */
  function together(ids, {conversations}) {
    return new Set(ids.flatMap((id) => [...(conversations.get(id) || [])]));
  }

  function within(role, selection) {
    const {messages, summary} = turnlens.report;
    const code = summary.roles.indexOf(role);
    const message = selection.message.map((passes, m) => (role === null || messages.role[m] === code ? passes : 0));
    const conversations = new Map(),
      all = new Set();
    let count = 0;
    for (let m = 0; m < message.length; m++) {
      if (!message[m]) continue;
      if (!conversations.has(messages.group[m])) conversations.set(messages.group[m], new Set());
      conversations.get(messages.group[m]).add(messages.conversation[m]);
      all.add(messages.conversation[m]);
      count += 1;
    }
    return {count, conversations, all, times: turnlens.timeline.times("message", {...selection, message})};
  }

  /** The conversations that are in none of some groups. */
  function without(groups, {conversations, all}) {
    const rest = new Set(all);
    for (const {id} of groups) for (const c of conversations.get(id) || []) rest.delete(c);
    return rest;
  }

  /** The number of lists that the address asks for, of `all`; all by default. */
  function wanted(all) {
    const number = Number(turnlens.route.current().options.fine) || all;
    return Math.max(LEAST, Math.min(all, number));
  }

  /** The groups as lists of those that are joined, the largest of each first. */
  function joined(groups) {
    const byId = new Map(groups.map((each) => [each.id, each]));
    const count = wanted(groups.length);
    const lists = new Map(groups.map((each) => [each.id, [each]]));
    for (const each of [...groups].sort((a, b) => b.joined_at - a.joined_at)) {
      if (count >= groups.length || each.joined_at < count || !byId.has(each.joins)) continue;
      lists.get(each.joins).push(...lists.get(each.id));
      lists.delete(each.id);
    }
    return [...lists.values()];
  }

  /** A slider from few requests to all that were found. */
  function slider(groups) {
    if (groups.length <= LEAST || groups.every((each) => each.joins === null)) return null;
    const count = wanted(groups.length);
    const input = element("input", {
      type: "range",
      id: "fineness",
      min: LEAST,
      max: groups.length,
      value: count,
      "aria-valuetext": `${count} of ${groups.length} requests`,
      on: {change: () => turnlens.route.setOptions({fine: Number(input.value) < groups.length ? input.value : ""})},
    });
    return element(
      "label",
      {class: "field"},
      element("span", null, "Coarse to fine"),
      input,
      element("span", {class: "muted"}, count < groups.length ? `${count} of ${groups.length}` : "as found"),
    );
  }

  return {asker, moved, moving, lists, ofRole, together, without, joined, slider};
})();
