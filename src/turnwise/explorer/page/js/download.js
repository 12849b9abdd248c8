/* What passes the filter as JSON Lines, which turnwise and others read. */
"use strict";

turnwise.download = (() => {
  function labels(level, row) {
    const {summary} = turnwise.report,
      columns = turnwise.report[`${level}s`];
    const found = {};
    for (const [name, values] of Object.entries(summary.labels[level])) {
      const code = columns[`label:${name}`][row];
      if (code >= 0) found[name] = values[code];
    }
    return found;
  }

  function groupName(level, id) {
    return id < 0 ? null : turnwise.report.groups[level].name(id);
  }

  /** A message as conversations hold it. */
  function message(m, text) {
    const {messages, summary} = turnwise.report;
    return {
      ...labels("message", m),
      role: summary.roles[messages.role[m]],
      content: text,
      ...(Number.isNaN(messages.time[m]) ? {} : {timestamp: new Date(1000 * messages.time[m]).toISOString()}),
      group: groupName("message", messages.group[m]),
    };
  }

  /** Whole conversations, one a line: `{"id", "messages", …labels}`. */
  async function conversations(selection) {
    const {conversations: columns, ids} = turnwise.report;
    return lines(selection.conversation, async (c) => {
      const rows = Array.from({length: columns.turns[c]}, (_, turn) => columns.first[c] + turn);
      const texts = await turnwise.texts.getAll(rows);
      const topic = groupName("conversation", columns.group[c]);
      return {id: ids[c], ...labels("conversation", c), topic, messages: rows.map((m, i) => message(m, texts[i]))};
    });
  }

  /** Messages, one a line, with the conversation and turn they are of. */
  async function messages(selection) {
    const {messages: columns, ids} = turnwise.report;
    return lines(selection.message, async (m) => ({
      conversation: ids[columns.conversation[m]],
      turn: columns.turn[m],
      ...message(m, await turnwise.texts.get(m)),
    }));
  }

  async function lines(mask, describe) {
    const parts = [];
    for (let row = 0; row < mask.length; row++) if (mask[row]) parts.push(JSON.stringify(await describe(row)) + "\n");
    return new Blob(parts, {type: "application/jsonl"});
  }

  /** Hands a file to the browser. */
  function save(blob, name) {
    const address = URL.createObjectURL(blob);
    turnwise.dom.element("a", {href: address, download: name}).click();
    setTimeout(() => URL.revokeObjectURL(address), 60000);
  }

  return {conversations, messages, save};
})();
