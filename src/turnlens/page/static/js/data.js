/* The report's data: scripts that call `turnlens.put`, since a page opened from a file may not fetch. */
"use strict";

turnlens.data = (() => {
  const TYPES = {
    uint8: Uint8Array,
    uint16: Uint16Array,
    int16: Int16Array,
    uint32: Uint32Array,
    int32: Int32Array,
    float32: Float32Array,
    float64: Float64Array,
  };
  const arrived = new Map();
  const loading = new Map();
  const COLOURED = 21; // groups of a role: seven colours, three signs
  let version = 0;

  /* Where the browser knows trusted types, no other text can become the address of a script, or HTML at all. */
  const policy = window.trustedTypes
    ? trustedTypes.createPolicy("turnlens", {createScriptURL: checked})
    : {createScriptURL: checked};

  function checked(address) {
    if (!/^data\/[a-z]+(-\d+)?\.js(\?v=\d+)?$/.test(address)) throw new TypeError(`no data of a report: ${address}`);
    return address;
  }

  /** Called by the data's scripts. */
  function put(name, value) {
    arrived.set(name, value);
  }

  /** The value of data/NAME.js; loaded once. */
  function load(name) {
    if (!loading.has(name)) loading.set(name, new Promise((resolve, reject) => request(name, resolve, reject)));
    return loading.get(name);
  }

  function request(name, resolve, reject) {
    const script = document.createElement("script");
    script.src = policy.createScriptURL(`data/${name}.js` + (version ? `?v=${version}` : ""));
    script.onload = () => {
      script.remove();
      if (arrived.has(name)) resolve(arrived.get(name));
      else reject(new Error(`data/${name}.js holds no data`));
      arrived.delete(name);
    };
    script.onerror = () => {
      loading.delete(name);
      reject(new Error(`data/${name}.js could not be read`));
    };
    document.head.append(script);
  }

  /** A typed array of base64, little endian as all of today's browsers are. */
  function decode(column) {
    const binary = atob(column.data);
    const bytes = new Uint8Array(binary.length);
    for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
    return new TYPES[column.type](bytes.buffer);
  }

  function decodeAll(columns) {
    return Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, decode(column)]));
  }

  /** Reads everything but texts into `turnlens.report`. */
  async function loadReport() {
    const names = ["summary", "messages", "conversations", "ids"];
    const [summary, messages, conversations, ids] = await Promise.all(names.map(load));
    if (summary.format !== 1) throw new Error(`the report has format ${summary.format}, this page reads format 1`);
    turnlens.report = {
      summary,
      ids,
      messages: decodeAll(messages),
      conversations: decodeAll(conversations),
      groups: {message: grouping(summary.groups.message), conversation: grouping(summary.groups.conversation)},
      counts: {message: summary.counts.messages, conversation: summary.counts.conversations},
    };
    for (const name of names) loading.delete(name); // the base64 is not needed any more
  }

  /** Groups by id, and their two levels. */
  function grouping(list) {
    const byId = new Map(list.map((group) => [group.id, group]));
    const top = (id) => {
      const group = byId.get(id);
      return group && group.parent !== null && byId.has(group.parent) ? group.parent : id;
    };
    const children = new Map();
    for (const group of list) {
      const parent = top(group.id);
      if (parent === group.id) continue;
      if (!children.has(parent)) children.set(parent, []);
      children.get(parent).push(group);
    }
    const coarse = list.filter((group) => top(group.id) === group.id);
    const fine = list.filter((group) => !children.has(group.id));
    // The largest groups of each role have a colour and a sign of their own, requests first; the others are grey.
    const ranks = new Map();
    for (const group of [...fine].sort((a, b) => a.move - b.move || b.size - a.size)) {
      const rank = ranks.get(group.role) || 0;
      ranks.set(group.role, rank + 1);
      group.colour = rank < COLOURED ? rank : -1;
    }
    for (const [id, within] of children) byId.get(id).colour = within.reduce((a, b) => (b.size > a.size ? b : a)).colour;
    return {
      list,
      byId,
      top,
      coarse,
      fine,
      children: (id) => children.get(id) || [],
      name: (id) => (id < 0 ? "in no group" : (byId.get(id)?.name ?? `group ${id}`)),
    };
  }

  /** Reads the report anew, after the server has written another. */
  function reload() {
    version += 1;
    loading.clear();
    return loadReport();
  }

  turnlens.put = put;
  return {load, loadReport, reload};
})();
