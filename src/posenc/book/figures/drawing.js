// Elements, words and shapes that figures are made of.
//
// All files of a page's figures are one script with one scope, so that a name at the top of a file
// is taken for all of them. `script` in widgets.py joins them in this order:
// 1. constants: FIELDS (by figure and name: label, initial, and options or min, max, step, log),
//    LINES and PAIRS (colors of curves and pairs), UNSEEN, MAP and DARK_MAP (colors), STYLE (CSS),
//    and FRAMES (the film of Learning, with that figure);
// 2. encoding, drawing, motion, controls and share, for all figures;
// 3. files that some figures need, listed there; 4. the figures; 5. page, which shows them.
// What runs while a file is read may use names of earlier files; functions may use all.
// On the website, text.js follows.
//
// Uses motion.js (draggable), widgets.py (PAIRS).

const maker = (kind) => (name, attributes = {}, ...children) => {
  const made = document.createElementNS(`http://www.w3.org/${kind}`, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
};
const element = maker("1999/xhtml");
const shape = maker("2000/svg");

/** The color of a pair, from fast to slow; wide encodings repeat the last. */
const pairColor = (pair) => PAIRS[Math.min(pair, PAIRS.length - 1)];

const text = (x, y, words, attributes) => shape("text", { x, y, ...attributes }, words);
const line = (attributes) => shape("line", attributes);
const middle = { "text-anchor": "middle" };
const end = { "text-anchor": "end" };
const round = (x) => Math.round(10 * x) / 10;
const clamp = (low, number, high) => Math.max(low, Math.min(high, number));
const path = (places, attributes) => {
  const points = places.map(([x, y]) => `${round(x)},${round(y)}`).join(" ");
  return shape("polyline", { points, ...attributes });
};
const level = (from, to, y, attributes) => path([[from, y], [to, y]], attributes);
/** Set attributes; those that stay cost no style or layout in a frame. */
const place = (node, attributes) => {
  for (const [name, value] of Object.entries(attributes))
    if (node.getAttribute(name) !== `${value}`) node.setAttribute(name, value);
};
/** Set an element's text, unless it stays. */
const write = (node, words) => {
  if (node.textContent !== words) node.textContent = words;
};

const show = (x, digits = 4) => Number(x.toFixed(digits)).toFixed(digits).replace("-", "−");
/** A field's value in words; a fraction is a position between two others. */
const written = (value) => {
  if (typeof value !== "number") return value;
  return Number.isInteger(value) ? value.toLocaleString("en").replace("-", "−") : show(value, 1);
};

/**
 * Add an SVG as wide as its container, `height` pixels high until it is drawn. `draw` replaces
 * what it shows, and sets its size; grips on top stay.
 */
function drawing(picture, label, height) {
  const svg = shape("svg", { role: "img", "aria-label": label, height });
  const scene = shape("g");
  svg.append(scene);
  picture.append(svg);
  const draw = (width, height, ...children) => {
    place(svg, { height, viewBox: `0 0 ${width} ${height}` });
    scene.replaceChildren(...children.flat(2));
  };
  /** A grip, which `take` lets a pointer drag, as in `draggable`; placed by its cx and cy. */
  const grip = (field, take, drop) => {
    const circle = shape("circle", { r: 8, class: "grip", "data-field": field });
    svg.append(circle);
    draggable(circle, svg, take, drop);
    return circle;
  };
  return { svg, height, draw, grip };
}

/**
 * Axes from 0 to `right` and from `bottom` to `top`, in a drawing that leaves `above` free: the
 * scales and their elements.
 */
function axes(width, height, above, right, [bottom, top], label) {
  const [x0, x1, y0, y1] = [34, width - 12, height - 36, above];
  const x = (value) => x0 + (value / right) * (x1 - x0);
  const y = (value) => y0 + ((value - bottom) / (top - bottom)) * (y1 - y0);
  const sizes = [1, 2, 5, 10, 20, 50, 100];
  const step = sizes.find((size) => right / size <= 7);
  const ticks = Array.from({ length: Math.floor(right / step) + 1 }, (_, n) =>
    text(x(n * step), y0 + 16, n * step, { ...middle, class: "tick" }),
  );
  const levels = [...new Set([bottom, 0, top])].flatMap((value) => [
    text(x0 - 6, y(value) + 4, show(value, 0), end),
    level(x0, x1, y(value), { class: "thin grid" }),
  ]);
  const name = text((x0 + x1) / 2, height - 4, label, middle);
  return { x, y, frame: [...levels, ...ticks, name] };
}

/** A clock hand from (cx, cy) toward a point of the unit circle. */
function hand(cx, cy, radius, [right, up], attributes) {
  const tip = { x2: cx + radius * right, y2: cy - radius * up };
  return line({ x1: cx, y1: cy, ...tip, ...attributes });
}

/** An angle, less whole turns, from -π to π. */
const wrapped = (angle) => angle - 2 * Math.PI * Math.round(angle / (2 * Math.PI));
/** A circular sector, counterclockwise for a positive turn, as the data of a path. */
function sector(cx, cy, radius, from, turn) {
  const tip = (angle) => `${round(cx + radius * Math.cos(angle))},${round(cy - radius * Math.sin(angle))}`;
  const [large, clockwise] = [Math.abs(turn) > Math.PI ? 1 : 0, turn < 0 ? 1 : 0];
  return `M${cx},${cy}L${tip(from)}A${radius},${radius} 0 ${large} ${clockwise} ${tip(from + turn)}Z`;
}

/**
 * The figures, one per file, by the file's name. A figure has
 * - `compute(state)`: its values, under the names that Python's `values` has for them;
 * - `build(picture, set, current, isLinked)`: create the picture once, and return
 *   `draw(state, values, width, passing)`, which shows values in it; `set(change, passing)` changes
 *   fields, `current()` is the state, and a linked figure shows what a reader saw, and stays there;
 * - `say(state, values, before)`: a sentence for `phrase`, `before` being the last state at rest;
 * - `limits(state)`, if fields limit each other;
 * - `grips`: names of fields that are moved in the picture, so that they need no slider.
 */
const FIGURES = {};
