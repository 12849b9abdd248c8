/* The messages and conversations that pass the filter of the address; every view shows these. */
"use strict";

turnlens.filters = (() => {
  let cached = {key: null, selection: null};

  /**
   * A message passes if it and its conversation fulfil all conditions; a conversation, if it fulfils those on
   * conversations and one of its messages passes.
   */
  async function select(filter, onProgress) {
    const key = JSON.stringify(filter);
    if (cached.key !== key || cached.report !== turnlens.report) {
      const text = filter.text ? await turnlens.texts.matching(filter.text.join(" "), onProgress) : null;
      cached = {key, report: turnlens.report, text, selection: compute(turnlens.report, filter, text)};
    }
    return cached.selection;
  }

  /** The selection without some kinds of conditions, such as "role", of the last filter. */
  function without(filter, ...names) {
    const others = Object.fromEntries(Object.entries(filter).filter(([name]) => !names.includes(name)));
    if (Object.keys(others).length === Object.keys(filter).length) return cached.selection;
    return compute(turnlens.report, others, names.includes("text") ? null : cached.text);
  }

  function compute(report, filter, text) {
    const ofMessages = messageConditions(report, filter, text);
    const ofConversations = conversationConditions(report, filter);
    const {counts, messages} = report;
    const conversations = new Uint8Array(counts.conversation);
    for (let c = 0; c < conversations.length; c++)
      conversations[c] = ofConversations.every((holds) => holds(c)) ? 1 : 0;
    const passing = new Uint8Array(counts.message),
      touched = new Uint8Array(counts.conversation);
    let messageCount = 0;
    for (let m = 0; m < passing.length; m++) {
      const c = messages.conversation[m];
      if (!conversations[c] || !ofMessages.every((holds) => holds(m))) continue;
      passing[m] = touched[c] = 1;
      messageCount += 1;
    }
    if (ofMessages.length) conversations.set(touched);
    const conversationCount = conversations.reduce((sum, value) => sum + value, 0);
    return {
      message: passing,
      conversation: conversations,
      filtered: Object.keys(filter).length > 0,
      count: {message: messageCount, conversation: conversationCount},
    };
  }

  function messageConditions(report, filter, text) {
    const {messages, summary} = report;
    const conditions = [];
    if (text) conditions.push((m) => text[m]);
    if (filter.role) conditions.push(among(messages.role, codes(summary.roles, filter.role)));
    if (filter.group) conditions.push(among(messages.group, groupIds(report.groups.message, filter.group)));
    const times = timeRange(filter);
    if (times)
      conditions.push((m) =>
        times(Number.isNaN(messages.time[m]) ? report.conversations.time[messages.conversation[m]] : messages.time[m]),
      );
    conditions.push(...labelConditions(messages, summary.labels.message, filter, "m."));
    const area = lasso(filter);
    if (area?.level === "message")
      conditions.push(
        (m) =>
          (area.role === null || messages.role[m] === area.role) &&
          turnlens.geometry.inside(area.points, messages.x[m], messages.y[m]),
      );
    return conditions;
  }

  function conversationConditions(report, filter) {
    const {conversations, summary} = report;
    const conditions = labelConditions(conversations, summary.labels.conversation, filter, "c.");
    if (filter.topic) conditions.push(among(conversations.group, groupIds(report.groups.conversation, filter.topic)));
    const area = lasso(filter);
    if (area?.level === "conversation") {
      conditions.push((c) => turnlens.geometry.inside(area.points, conversations.x[c], conversations.y[c]));
    }
    return conditions;
  }

  function labelConditions(columns, values, filter, prefix) {
    return Object.keys(filter)
      .filter((name) => name.startsWith(prefix))
      .map((name) => {
        const label = name.slice(prefix.length);
        const column = columns[`label:${label}`];
        return column ? among(column, codes(values[label], filter[name])) : () => false;
      });
  }

  function among(column, allowed) {
    return (row) => allowed.has(column[row]);
  }

  function codes(values, wanted) {
    return new Set(wanted.map((value) => values.indexOf(value)).filter((code) => code >= 0));
  }

  /** Ids with those of the groups within; "none" is no group. */
  function groupIds(grouping, wanted) {
    const ids = wanted.map((id) => (id === "none" ? -1 : Number(id)));
    return new Set(ids.flatMap((id) => [id, ...grouping.children(id).map((group) => group.id)]));
  }

  /** The seconds of days as in 2025-03-14, both included; NaN where there is no such condition. */
  function days(filter) {
    return [Date.parse(filter.from?.[0]) / 1000, Date.parse(filter.to?.[0]) / 1000 + 86400];
  }

  function timeRange(filter) {
    const [from, to] = days(filter);
    if (Number.isNaN(from) && Number.isNaN(to)) return null;
    return (time) => !Number.isNaN(time) && !(time < from) && !(time >= to);
  }

  /** `message:x,y;x,y;…`: what was drawn on the map; `message:x,y;…:0` where it showed only the first role. */
  function lasso(filter) {
    const [level, corners, role] = (filter.lasso?.[0] || "").split(":");
    const points = (corners || "").split(";").map((corner) => corner.split(",").map(Number));
    return points.length > 2 && points.flat().every(Number.isFinite)
      ? {level, points, role: role ? Number(role) : null}
      : null;
  }

  return {select, without, groupIds, days};
})();
