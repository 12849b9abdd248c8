/* What passes the filter: as JSON Lines, which turnwise and others read, or as a table for spreadsheets. */
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

  /** Messages as a table, one a row. */
  async function messageTable(selection) {
    const {messages: columns, ids, summary} = turnwise.report;
    const names = Object.keys(summary.labels.message);
    return table(
      ["conversation", "turn", "role", "time", "text", "group", "coarse group", "surprise", ...names],
      passing(selection.message),
      async (m) => [
        ids[columns.conversation[m]],
        columns.turn[m] + 1,
        summary.roles[columns.role[m]],
        time(columns.time[m]),
        await turnwise.texts.get(m),
        ...groupNames("message", columns.group[m]),
        rounded(columns.surprise[m]),
        ...valuesOf(names, labels("message", m)),
      ],
    );
  }

  /** Conversations as a table, one a row, with what each begins with. */
  async function conversationTable(selection) {
    const {conversations: columns, ids, summary} = turnwise.report;
    const names = Object.keys(summary.labels.conversation);
    return table(
      ["conversation", "messages", "time", "begins with", "topic", "coarse topic", "surprise", ...names],
      passing(selection.conversation),
      async (c) => [
        ids[c],
        columns.turns[c],
        time(columns.time[c]),
        await turnwise.parts.subject(c),
        ...groupNames("conversation", columns.group[c]),
        rounded(columns.surprise[c]),
        ...valuesOf(names, labels("conversation", c)),
      ],
    );
  }

  /** The groups of messages as a table, one a row, in the lists of the overview; see also `turnwise cluster --summary`. */
  async function groupTable(selection) {
    const {requests, said, answers} = turnwise.listing.lists();
    const spoken = new Map();
    const counted = (kind, groups) => {
      const rows = groups.map((each) => {
        const role = each.role ?? null;
        if (!spoken.has(role)) spoken.set(role, turnwise.listing.spoken(role, selection));
        const {conversations, total, seriesOf} = spoken.get(role);
        return {each, kind, role, count: conversations.get(each.id)?.size ?? 0, total, change: seriesOf(each.id)?.change};
      });
      return rows.sort((a, b) => b.count - a.count);
    };
    const asked = turnwise.listing.asker() === null ? "message" : "request";
    const header = ["group", "kind", "role", "conversations", "share", "growth", "growth low", "growth high"];
    return table(
      [...header, "keywords", "example", "next message"],
      [...counted(asked, requests), ...counted("answer", answers), ...counted("along the way", said)],
      async ({each, kind, role, count, total, change}) => [
        each.name,
        kind,
        role ?? "",
        count,
        rounded(total ? count / total : 0),
        ...(change ? [change.difference, ...change.interval].map(rounded) : ["", "", ""]),
        each.phrases.slice(0, 5).join(", "),
        await turnwise.texts.get(each.central[0]),
        typeof each.answer === "number" ? await turnwise.texts.get(each.answer) : "",
      ],
    );
  }

  function time(seconds) {
    return Number.isNaN(seconds) ? "" : turnwise.numbers.minute(seconds);
  }

  function groupNames(level, id) {
    const {name, top} = turnwise.report.groups[level];
    return id < 0 ? ["", ""] : [name(id), name(top(id))];
  }

  function rounded(value) {
    return Number.isNaN(value) ? "" : Number(value.toFixed(3));
  }

  function valuesOf(names, labels) {
    return names.map((name) => labels[name] ?? "");
  }

  /** The rows of a mask that are set. */
  function passing(mask) {
    return Array.from(mask.keys()).filter((row) => mask[row]);
  }

  /** CSV that spreadsheets read as Unicode (by its first character), and in which no text is a formula. */
  async function table(header, rows, describe) {
    const parts = ["\ufeff", line(header)];
    for (const row of rows) parts.push(line(await describe(row)));
    return new Blob(parts, {type: "text/csv"});
  }

  function line(cells) {
    return cells.map(cell).join(",") + "\r\n";
  }

  function cell(value) {
    if (typeof value !== "string") return String(value);
    const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  }

  /** Hands a file to the browser. */
  function save(blob, name) {
    const address = URL.createObjectURL(blob);
    turnwise.dom.element("a", {href: address, download: name}).click();
    setTimeout(() => URL.revokeObjectURL(address), 60000);
  }

  return {conversations, messages, conversationTable, messageTable, groupTable, save};
})();
