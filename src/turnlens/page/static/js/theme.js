/* Light or dark, before anything is painted: what was chosen, else what the system prefers. */
"use strict";

window.turnlens = {views: {}};

turnlens.theme = (() => {
  const KEY = "turnlens-theme";
  const system = window.matchMedia("(prefers-color-scheme: dark)");

  function stored() {
    try {
      return localStorage.getItem(KEY);
    } catch {
      return null; // storage may be forbidden, as in a sandboxed frame
    }
  }

  function isDark() {
    return document.documentElement.dataset.theme === "dark";
  }

  function apply(name) {
    document.documentElement.dataset.theme = name;
    window.dispatchEvent(new Event("themechange"));
  }

  function toggle() {
    const name = isDark() ? "light" : "dark";
    try {
      localStorage.setItem(KEY, name);
    } catch {
      // kept for this page only
    }
    apply(name);
  }

  apply(stored() || (system.matches ? "dark" : "light"));
  system.addEventListener("change", () => stored() || apply(system.matches ? "dark" : "light"));
  return {isDark, toggle};
})();
