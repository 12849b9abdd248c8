/* What mice, fingers and pens do on the map: one drags or draws, two pinch. */
"use strict";

turnlens.pointers = (() => {
  const CLICK = 5; // a drag of fewer pixels is a press

  /** @param act `pan`, `zoom`, `hover`, `leave`, `press`, `isLasso(event)`, `drawing(corners)`, `drawn(corners)`. */
  function listen(canvas, act) {
    const down = new Map();
    let moved = 0,
      corners = null;

    const place = (event) => {
      const box = canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    canvas.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        act.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), ...place(event));
      },
      {passive: false},
    );
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      canvas.setPointerCapture(event.pointerId);
      down.set(event.pointerId, place(event));
      moved = 0;
      corners = down.size === 1 && act.isLasso(event) ? [place(event)] : null;
    });
    canvas.addEventListener("pointermove", (event) => {
      const now = place(event),
        before = down.get(event.pointerId);
      if (!before) return act.hover(...now);
      moved += Math.hypot(now[0] - before[0], now[1] - before[1]);
      if (corners) {
        corners.push(now);
        act.drawing(corners);
      } else if (down.size === 1) {
        act.pan(now[0] - before[0], now[1] - before[1]);
      } else {
        const other = [...down].find(([id]) => id !== event.pointerId)[1];
        const distance = (point) => Math.max(1, Math.hypot(point[0] - other[0], point[1] - other[1]));
        act.zoom(distance(now) / distance(before), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
      }
      down.set(event.pointerId, now);
    });
    const up = (event) => {
      if (!down.delete(event.pointerId)) return;
      if (corners) {
        act.drawing([]);
        if (corners.length > 3 && moved > 4 * CLICK) act.drawn(corners);
      } else if (moved < CLICK && event.type === "pointerup") {
        act.press(...place(event));
      }
      corners = null;
    };
    canvas.addEventListener("pointerup", up);
    canvas.addEventListener("pointercancel", up);
    canvas.addEventListener("pointerleave", act.leave);
  }

  return {listen};
})();
