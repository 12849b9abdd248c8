/* Points drawn with WebGL 2, which can be moved, zoomed, pointed at and drawn around. */
"use strict";

turnlens.scatter = (() => {
  const {extentOf, mainExtentOf, gridOf} = turnlens.geometry;
  const VERTEX = `#version 300 es
    in float x;
    in float y;
    in vec4 colour;  // red, green, blue; alpha holds the shape
    in float passes;
    uniform vec2 centre;
    uniform vec2 scale;
    uniform float size;
    uniform float wanted;
    flat out vec3 fill;
    flat out int shape;
    void main() {
      bool drawn = passes == wanted;
      gl_Position = drawn ? vec4((vec2(x, y) - centre) * scale, 0, 1) : vec4(2, 2, 2, 1);
      gl_PointSize = size;
      fill = colour.rgb;
      shape = int(colour.a * 255.0 + 0.5);
    }`;
  const FRAGMENT = `#version 300 es
    precision highp float;
    flat in vec3 fill;
    flat in int shape;
    uniform float opacity;
    uniform float size;
    uniform vec4 faint;  // colour and weight
    out vec4 result;
    // How far a place is outside the shape, in halves of the point; the order is that of the palette's signs.
    float outside(vec2 p) {
      if (shape == 1) return max(abs(p.x), abs(p.y)) - 0.8;
      if (shape == 2) return max(abs(p.x) * 0.9 + p.y * 0.5 - 0.45, -p.y - 0.8);
      if (shape == 3) return abs(p.x) + abs(p.y) - 1.0;
      if (shape == 4) return min(max(abs(p.x) - 0.3, abs(p.y) - 0.95), max(abs(p.y) - 0.3, abs(p.x) - 0.95));
      return length(p) - 0.95;
    }
    void main() {
      vec2 p = vec2(2.0 * gl_PointCoord.x - 1.0, 1.0 - 2.0 * gl_PointCoord.y);
      float alpha = opacity * clamp(0.5 - outside(p) * size * 0.5, 0.0, 1.0);
      if (alpha < 0.01) discard;
      result = vec4(mix(fill, faint.rgb, faint.a) * alpha, alpha);
    }`;
  const CLICK = 5; // pixels; a shorter drag is a press
  const NEAR = 14; // pixels between the pointer and the point it shows
  const SLOW = 80,
    SKIPPED = 8; // milliseconds for a frame; of so many points one is drawn then

  function programOf(gl) {
    const program = gl.createProgram();
    for (const [type, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(type);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (gl.getProgramParameter(program, gl.LINK_STATUS)) return program;
    throw new Error(`This browser cannot draw the map: ${gl.getProgramInfoLog(program)}`);
  }

  /**
   * A map of points on a canvas.
   * @param x, y Float32Arrays.
   * @param on `change()` after moves, `point(index or -1, {x, y})` at the pointer, `press(index)`, `lasso(polygon)`.
   * @throws Error without WebGL 2.
   */
  function create(canvas, x, y, on) {
    const gl = canvas.getContext("webgl2", {antialias: false, premultipliedAlpha: true});
    if (!gl) throw new Error("This browser offers no WebGL 2, which the map is drawn with. All other views work.");
    const program = programOf(gl);
    const uniform = (name) => gl.getUniformLocation(program, name);
    const uniforms = Object.fromEntries(["centre", "scale", "wanted", "size", "opacity", "faint"].map((name) => [name, uniform(name)]));
    const n = x.length;
    const attributes = {
      x: {components: 1, type: gl.FLOAT, bytes: 4},
      y: {components: 1, type: gl.FLOAT, bytes: 4},
      colour: {components: 4, type: gl.UNSIGNED_BYTE, bytes: 4, normalized: true},
      passes: {components: 1, type: gl.UNSIGNED_BYTE, bytes: 1},
    };
    for (const [name, attribute] of Object.entries(attributes)) {
      attribute.place = gl.getAttribLocation(program, name);
      attribute.buffer = gl.createBuffer();
      gl.enableVertexAttribArray(attribute.place);
    }
    const passes = new Uint8Array(n).fill(1);
    load("x", x);
    load("y", y);
    load("colour", new Uint8Array(4 * n));
    load("passes", passes);
    const whole = extentOf(x, y),
      main = mainExtentOf(x, y),
      grid = gridOf(x, y, whole);
    const view = {x: 0, y: 0, scale: 1};
    let fitted = 1,
      mask = passes,
      drawn = [1],
      faint = [0.6, 0.6, 0.6],
      lassoing = false,
      frame = 0;
    let isSlow = false,
      rest = 0; // without a graphics card, some of the points have to do while the map moves

    function load(name, values) {
      gl.bindBuffer(gl.ARRAY_BUFFER, attributes[name].buffer);
      gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
    }

    /** Fills the view with most points; zooming counts from there. */
    function fit() {
      look(main);
      fitted = view.scale;
    }

    function look({left, low, width, height}) {
      const stage = size();
      view.x = left + width / 2;
      view.y = low + height / 2;
      view.scale = 0.94 * Math.min(stage.width / width, stage.height / height);
      redraw();
    }

    /** Calls back with the place on the canvas of every point that passes. */
    function eachPoint(callback) {
      const {width, height} = size();
      for (let i = 0; i < n; i++)
        if (mask[i]) callback(width / 2 + (x[i] - view.x) * view.scale, height / 2 - (y[i] - view.y) * view.scale);
    }

    function size() {
      return {width: canvas.clientWidth || 1, height: canvas.clientHeight || 1};
    }

    function redraw() {
      if (!frame) frame = requestAnimationFrame(draw);
    }

    function draw() {
      frame = 0;
      if (!canvas.isConnected) return;
      const ratio = window.devicePixelRatio || 1,
        {width, height} = size();
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      gl.viewport(0, 0, canvas.width, canvas.height);
      gl.clearColor(0, 0, 0, 0);
      gl.clear(gl.COLOR_BUFFER_BIT);
      gl.enable(gl.BLEND);
      gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
      const step = isSlow && rest ? SKIPPED : 1,
        began = performance.now();
      gl.useProgram(program);
      for (const {place, buffer, components, type, bytes, normalized = false} of Object.values(attributes)) {
        gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
        gl.vertexAttribPointer(place, components, type, normalized, step * bytes, 0);
      }
      gl.uniform2f(uniforms.centre, view.x, view.y);
      gl.uniform2f(uniforms.scale, (2 * view.scale) / width, (2 * view.scale) / height);
      const points = Math.sqrt((width * height) / Math.max(1, n));
      const pixels = Math.min(18, Math.max(2.2, Math.min(8, 0.6 * points)) * Math.pow(view.scale / fitted, 0.4));
      for (const wanted of drawn) {
        gl.uniform1f(uniforms.wanted, wanted);
        gl.uniform1f(uniforms.size, ratio * pixels * (wanted ? 1 : 0.8));
        gl.uniform1f(uniforms.opacity, wanted ? (n > 50000 ? 0.55 : 0.85) : 0.35);
        gl.uniform4f(uniforms.faint, ...faint, wanted ? 0 : 1);
        gl.drawArrays(gl.POINTS, 0, Math.floor(n / step));
      }
      if (step === 1) requestAnimationFrame(() => (isSlow = performance.now() - began > SLOW));
      on.change();
    }

    /** Draws while the map moves, and all points when it rests. */
    function redrawMoving() {
      clearTimeout(rest);
      rest = setTimeout(() => {
        rest = 0;
        redraw();
      }, 200);
      redraw();
    }

    /** From data to pixels, and back. */
    function screen(px, py) {
      const {width, height} = size();
      return [width / 2 + (px - view.x) * view.scale, height / 2 - (py - view.y) * view.scale];
    }

    function data(sx, sy) {
      const {width, height} = size();
      return [view.x + (sx - width / 2) / view.scale, view.y - (sy - height / 2) / view.scale];
    }

    /** The corners of what is in view, in data. */
    function corners() {
      const {width, height} = size();
      return [data(0, 0), data(width, 0), data(width, height), data(0, height)];
    }

    function pan(dx, dy) {
      view.x -= dx / view.scale;
      view.y += dy / view.scale;
      redrawMoving();
    }

    /** Zooms by a factor around a place on the canvas; by default around its middle. */
    function zoom(factor, sx = size().width / 2, sy = size().height / 2) {
      const [px, py] = data(sx, sy);
      view.scale = Math.min(400 * fitted, Math.max(0.1 * fitted, view.scale * factor));
      const [nx, ny] = data(sx, sy);
      view.x += px - nx;
      view.y += py - ny;
      redrawMoving();
    }

    /** The passing point nearest to a place on the canvas, or -1. */
    function nearest(sx, sy) {
      const [px, py] = data(sx, sy),
        radius = NEAR / view.scale;
      let best = -1,
        least = radius * radius;
      grid.each(px - radius, py - radius, px + radius, py + radius, (i) => {
        const distance = (x[i] - px) ** 2 + (y[i] - py) ** 2;
        if (mask[i] && distance < least) [best, least] = [i, distance];
      });
      return best;
    }

    /** Colours and shapes, four bytes for each point, and the colour of those that do not pass. */
    function paint(bytes, faintColour) {
      faint = faintColour.map((value) => value / 255);
      load("colour", bytes);
      redraw();
    }

    function setMask(bytes) {
      mask = bytes;
      drawn = [0, 1].filter((wanted) => bytes.includes(wanted));
      load("passes", bytes);
      redraw();
    }

    listen(canvas, {
      pan,
      zoom,
      data,
      isLasso: (event) => lassoing || event.shiftKey,
      hover: (sx, sy) => on.point(nearest(sx, sy), {x: sx, y: sy}),
      leave: () => on.point(-1),
      press: (sx, sy) => on.press(nearest(sx, sy)),
      drawing: (corners) => on.drawing(corners),
      drawn: (corners) =>
        on.lasso(
          turnlens.geometry.thinned(
            corners.map(([sx, sy]) => data(sx, sy)),
            1.5 / view.scale,
          ),
        ),
    });
    const observer = new ResizeObserver(redraw);
    observer.observe(canvas);
    fit();
    return {
      fit,
      fitWhole: () => look(whole),
      eachPoint,
      corners,
      pan,
      zoom,
      screen,
      paint,
      setMask,
      redraw,
      zoomed: () => view.scale / fitted,
      setLasso: (wanted) => (lassoing = wanted),
      destroy() {
        observer.disconnect();
        gl.getExtension("WEBGL_lose_context")?.loseContext();
      },
    };
  }

  /**
   * Moves, zooms, points and draws with mice, fingers and pens: one drags or draws, two pinch.
   * @param act `pan`, `zoom`, `hover`, `leave`, `press`, `isLasso(event)`, `drawing(corners)`, `drawn(corners)`.
   */
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

  return {create};
})();
