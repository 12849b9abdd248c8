/* Which groups of messages are what people ask, what they are answered, and what is only said along the way. */
"use strict";

turnwise.listing = (() => {
  /** Who asks: as the address says, or else as the report does; null where all are grouped together. */
  function asker() {
    const named = turnwise.route.current().options.asker ?? turnwise.report.summary.asker;
    return fine().some((each) => each.role === named) ? named : null;
  }

  function fine() {
    return turnwise.report.groups.message.list.filter((each) => each.level === 1);
  }

  /** The groups that a reader has moved from one list to the other, by id. */
  function moved() {
    const ids = turnwise.route.current().options.moved;
    return new Set(ids ? ids.split(",").map(Number) : []);
  }

  /** Moves a group to the other list, or back. */
  function move(id) {
    const ids = moved();
    if (!ids.delete(id)) ids.add(id);
    turnwise.route.setOptions({moved: [...ids].join(",")});
  }

  /** The fine groups as `{requests, said, answers}`: what is asked, what those who ask say besides, what others say. */
  function lists() {
    const who = asker(),
      exceptions = moved();
    const theirs = fine().filter((each) => who === null || each.role === who);
    const opens = theirs.some((each) => each.opening);
    const isRequest = (each) => (!each.move && Boolean(each.opening) === opens) !== exceptions.has(each.id);
    return {
      requests: theirs.filter(isRequest),
      said: theirs.filter((each) => !isRequest(each)),
      answers: fine().filter((each) => who !== null && each.role !== who && !each.move),
    };
  }

  /**
   * What passes of one role's messages, of all for null: `{count, conversations, total, seriesOf}`, the number of
   * messages, the conversations of each group (-1 for none), their number, and a group's size over time.
   */
  function spoken(role, selection) {
    const {messages, summary} = turnwise.report;
    const code = summary.roles.indexOf(role);
    const isTheirs = (m) => role === null || messages.role[m] === code;
    const message = selection.message.map((passes, m) => (isTheirs(m) ? passes : 0));
    const conversations = new Map();
    let count = 0;
    for (let m = 0; m < message.length; m++) {
      if (!message[m]) continue;
      if (!conversations.has(messages.group[m])) conversations.set(messages.group[m], new Set());
      conversations.get(messages.group[m]).add(messages.conversation[m]);
      count += 1;
    }
    const times = turnwise.timeline.times("message", {...selection, message});
    const seriesOf = (id) => turnwise.timeline.series(times, conversations.get(id) || new Set());
    return {count, conversations, total: together(conversations.values()), seriesOf};
  }

  /** How many conversations there are in some of these sets. */
  function together(sets) {
    const all = new Set();
    for (const set of sets) for (const conversation of set) all.add(conversation);
    return all.size;
  }

  return {asker, moved, move, lists, spoken, together};
})();
