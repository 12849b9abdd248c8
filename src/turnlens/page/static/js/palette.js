/* Colours that colour-blind people can tell apart (Okabe and Ito, 2008), with a shape for each time they repeat. */
"use strict";

turnlens.palette = (() => {
  const LIGHT = ["#0072b2", "#d55e00", "#009e73", "#b8860b", "#cc5a9a", "#3a9fd6", "#5b3fa0"];
  const DARK = ["#56a8e0", "#ff8a3c", "#2fc79a", "#f0c43c", "#e78ac3", "#9fd8ff", "#b39ddb"];
  const NONE = {light: "#a3a9b1", dark: "#5f6671"};
  const SHAPES = ["●", "■", "▲", "◆", "✚"];
  // Cividis, made for colour-blind readers: from what is expected to what surprises.
  const RAMP = [
    "#00224e",
    "#123570",
    "#3b496c",
    "#575d6d",
    "#707173",
    "#8a8678",
    "#a59c74",
    "#c3b369",
    "#e1cc55",
    "#fee838",
  ];

  function colours() {
    return turnlens.theme.isDark() ? DARK : LIGHT;
  }

  /** Of a group or another category: its colour, the shape that tells apart those of one colour, and its number. */
  function category(index) {
    if (index < 0) return {colour: NONE[turnlens.theme.isDark() ? "dark" : "light"], shape: 0, sign: "○"};
    const list = colours();
    const shape = Math.floor(index / list.length) % SHAPES.length;
    return {colour: list[index % list.length], shape, sign: SHAPES[shape]};
  }

  /** Of a share from 0 to 1. */
  function continuous(share) {
    const ramp = turnlens.theme.isDark() ? RAMP : [...RAMP].reverse();
    return ramp[Math.max(0, Math.min(RAMP.length - 1, Math.floor(share * RAMP.length)))];
  }

  function bytes(colour) {
    return [1, 3, 5].map((start) => parseInt(colour.slice(start, start + 2), 16));
  }

  return {category, continuous, bytes, size: LIGHT.length};
})();
