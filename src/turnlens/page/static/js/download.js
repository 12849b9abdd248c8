/* Files of the rows that pass the filter: CSV, JSON Lines; and the requests as TOML for `--seeds`. */
"use strict";

turnlens.download = (() => {
  const GROUP = ["group", "group_name", "coarse_group", "coarse_group_name"];
  const {passing} = turnlens.numbers;
  const EXAMPLES = 5, // of a request, as TOML
    LONGEST_NAME = 200;

  function labels(level, row) {
    return Object.fromEntries(turnlens.parts.labelled(level, row));
  }

  function groupName(level, id) {
    return id < 0 ? null : turnlens.report.groups[level].name(id);
  }

  /** A message as conversations hold it. */
  function message(m, text) {
    const {messages, summary} = turnlens.report;
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
    const {conversations: columns, ids} = turnlens.report;
    return lines(selection.conversation, async (c) => {
      const rows = Array.from({length: columns.turns[c]}, (_, turn) => columns.first[c] + turn);
      const texts = await turnlens.texts.getAll(rows);
      const topic = groupName("conversation", columns.group[c]);
      return {id: ids[c], ...labels("conversation", c), topic, messages: rows.map((m, i) => message(m, texts[i]))};
    });
  }

  /** Messages, one a line, with the conversation and turn they are of. */
  async function messages(selection) {
    const {messages: columns, ids} = turnlens.report;
    return lines(selection.message, async (m) => ({
      conversation: ids[columns.conversation[m]],
      turn: columns.turn[m],
      ...message(m, await turnlens.texts.get(m)),
    }));
  }

  async function lines(mask, describe) {
    const parts = [];
    for (const row of passing(mask)) parts.push(JSON.stringify(await describe(row)) + "\n");
    return new Blob(parts, {type: "application/jsonl"});
  }

  /** Messages as a table, one a row, with the columns of `turnlens cluster --output`. */
  async function messageTable(selection) {
    const {messages: columns, ids, summary} = turnlens.report;
    const header = ["id", "turn", "role", "text", "time", ...GROUP, "surprise"];
    const names = [...new Set([...Object.keys(summary.labels.conversation), ...Object.keys(summary.labels.message)])];
    return table([...header, ...names.map(column(header))], passing(selection.message), async (m) => {
      const c = columns.conversation[m];
      return [
        ids[c],
        columns.turn[m],
        summary.roles[columns.role[m]],
        await turnlens.texts.get(m),
        time(columns.time[m]),
        ...groupCells("message", columns.group[m]),
        rounded(columns.surprise[m]),
        ...valuesOf(names, {...labels("conversation", c), ...labels("message", m)}),
      ];
    });
  }

  /** Conversations as a table, one a row, with what each begins with. */
  async function conversationTable(selection) {
    const {conversations: columns, ids, summary} = turnlens.report;
    const header = ["id", "turns", "time", ...GROUP, "begins_with", "surprise"];
    const numbers = numberNames();
    const names = Object.keys(summary.labels.conversation).filter((name) => !numbers.includes(name));
    const all = [...numbers, ...names].map(column(header));
    return table([...header, ...all], passing(selection.conversation), async (c) => [
      ids[c],
      columns.turns[c],
      time(columns.time[c]),
      ...groupCells("conversation", columns.group[c]),
      await turnlens.parts.subject(c),
      rounded(columns.surprise[c]),
      ...numbers.map((name) => rounded(columns[`number:${name}`][c])),
      ...valuesOf(names, labels("conversation", c)),
    ]);
  }

  /** The groups of messages, joined as the page shows them, as a table with the columns of `turnlens cluster --summary`. */
  async function groupTable(selection) {
    const {numbers, groupLists} = turnlens;
    const {requests, asides, answers} = groupLists.lists();
    const byRole = new Map();
    const ofRole = (role) => {
      if (!byRole.has(role)) byRole.set(role, groupLists.ofRole(role, selection));
      return byRole.get(role);
    };
    const counted = (kind, joined) =>
      joined
        .map((all) => ({all, ids: all.map(({id}) => id), kind, role: all[0].role ?? null}))
        .map((row) => ({...row, members: groupLists.together(row.ids, ofRole(row.role))}))
        .sort((a, b) => b.members.size - a.members.size);
    const apart = (groups) => groups.map((each) => [each]);
    const asker = groupLists.asker();
    const rest = {kind: "no request", role: asker, members: groupLists.without(requests, ofRole(asker))};
    const names = numberNames(),
      categories = numbers.categories();
    const header = ["group", "group_name", "kind", "role", "conversations", "share", "growth", "growth_low", "growth_high"];
    const texts = ["keywords", "example", "example_2", "next_message"];
    const further = [
      ...names.flatMap((name) => ["median", "above", "known"].map((what) => `${name}_${what}`)),
      ...categories.flatMap(({name, values}) => values.map((value) => `${name}: ${value}`)),
    ];
    return table(
      [...header, ...texts, ...further],
      [
        ...counted(asker === null ? "message" : "request", groupLists.joined(requests)),
        ...counted("answer", apart(answers)),
        ...counted("along the way", apart(asides)),
        ...(asker === null ? [] : [rest]),
      ],
      async ({all: joined = [], ids, kind, role, members}) => {
        const {all, changeOf} = ofRole(role);
        const [each] = joined;
        const change = each && changeOf(...ids);
        const text = async (m) => (typeof m === "number" ? (await turnlens.texts.withoutBoilerplate([m]))[0] : "");
        return [
          each?.id ?? "",
          joined.map(({name}) => name).join(" + "),
          kind,
          role ?? "",
          members.size,
          rounded(all.size ? members.size / all.size : 0),
          ...(change ? [change.difference, ...change.interval].map(rounded) : ["", "", ""]),
          each?.phrases.slice(0, 5).join(", ") ?? "",
          ...(await Promise.all([each?.central[0], each?.central[1], each?.answer].map(text))),
          ...names.flatMap((name) => {
            const {count, median, above} = numbers.spread(name, members);
            return [rounded(median), rounded(above), count];
          }),
          ...categories.flatMap(({values, codes}) => {
            const counts = values.map(() => 0);
            for (const c of members) if (codes[c] >= 0) counts[codes[c]] += 1;
            return counts;
          }),
        ];
      },
    );
  }

  /** The numbers but for those of labels of yes and no, which are texts in tables. */
  function numberNames() {
    return turnlens.numbers.measureNames().filter((name) => !turnlens.report.summary.categories.includes(name));
  }

  /** The column of a label, which must not take the name of another column. */
  function column(header) {
    return (name) => (header.includes(name) ? `label_${name}` : name);
  }

  function time(seconds) {
    return Number.isNaN(seconds) ? "" : new Date(1000 * seconds).toISOString().slice(0, 19).replace("T", " ");
  }

  function groupCells(level, id) {
    const {name, top} = turnlens.report.groups[level];
    return id < 0 ? ["", "", "", ""] : [id, name(id), top(id), name(top(id))];
  }

  function rounded(value) {
    return Number.isNaN(value) ? "" : Number(value.toPrecision(6));
  }

  function valuesOf(names, labels) {
    return names.map((name) => labels[name] ?? "");
  }

  /** CSV that spreadsheets read as Unicode (by its first character), and in which no text is a formula. */
  async function table(header, rows, describe) {
    const lines = [header];
    for (const row of rows) lines.push(await describe(row));
    return new Blob(["\ufeff", ...lines.map((cells) => cells.map(cell).join(",") + "\r\n")], {type: "text/csv"});
  }

  function cell(value) {
    if (typeof value !== "string") return String(value);
    const safe = /^'*[=+@\t\r\n＝＋－＠-]/.test(value) ? `'${value}` : value;
    return /[",;\t\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  }

  /** Hands a file to the browser. */
  function save(blob, name) {
    const address = URL.createObjectURL(blob);
    turnlens.dom.element("a", {href: address, download: name}).click();
    setTimeout(() => URL.revokeObjectURL(address), 60000);
  }

  /** A string of TOML, which escapes as JSON does. */
  function string(text) {
    const line = text.toWellFormed().replace(/\s+/g, " ").trim();
    return JSON.stringify(line).replaceAll("\x7f", "\\u007f");
  }

  /** One group, or several that are joined, under the name of the first. */
  async function seed(groups) {
    const rows = groups.flatMap((each) => each.central.slice(0, EXAMPLES));
    const examples = new Set((await turnlens.texts.withoutBoilerplate(rows)).filter((text) => text.trim()).map(string));
    return `${string(groups[0].name.slice(0, LONGEST_NAME))} = [${[...examples].join(", ")}]\n`;
  }

  /** The list of requests, with examples, for `--seeds`: the next export is listed like this one. */
  async function seeds() {
    const {requests, asides} = turnlens.groupLists.lists(),
      moved = turnlens.groupLists.moved();
    const aside = asides.filter((each) => each.aside || moved.has(each.id));
    const all = await Promise.all(turnlens.groupLists.joined(requests).map(seed));
    const others = await Promise.all(aside.map((each) => seed([each])));
    const text = [...all, others.length ? '\n["said along the way"]\n' : "", ...others];
    return new Blob(["# turnlens explore next.csv --seeds requests.toml\n", ...text], {type: "application/toml"});
  }

  return {conversations, messages, conversationTable, messageTable, groupTable, seeds, save};
})();
