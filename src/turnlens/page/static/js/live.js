/* What only a running server can do: search by meaning, next replies, changes of groups. */
"use strict";

turnlens.live = (() => {
  let live = false;

  /** Finds out whether a server stands behind the page; a report in a folder has none. */
  async function detect() {
    if (!location.protocol.startsWith("http")) return;
    try {
      live = (await get("session")).live === true;
    } catch {
      live = false; // a report on somebody's web server
    }
  }

  async function get(name, query = {}) {
    return answer(await fetch(`api/${name}?${new URLSearchParams(query)}`));
  }

  async function post(name, body) {
    return answer(await send(name, body));
  }

  function send(name, body) {
    return fetch(`api/${name}`, {
      method: "POST",
      headers: {"Content-Type": "application/json"},
      body: JSON.stringify(body),
    });
  }

  async function answer(response) {
    const value = await response.json().catch(() => ({}));
    if (!response.ok) throw new Error(value.detail || `the server answered ${response.status}`);
    return value;
  }

  function search(query, mode, limit) {
    return get("search", {q: query, mode, limit});
  }

  function next(conversation, turn) {
    return get("next", {conversation, turn});
  }

  /** Renames, merges or splits groups, then reads the changed report; gives the ids of what there is now. */
  async function edit(action, level, ids, name = null) {
    const groups = await post("groups", {action, level, ids, name});
    await turnlens.data.reload();
    return groups;
  }

  return {detect, search, next, edit, isLive: () => live};
})();
