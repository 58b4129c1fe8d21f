// Elements, words and shapes that figures are made of.

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
const place = (node, attributes) => {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
};

const show = (x, digits = 4) => Number(x.toFixed(digits)).toFixed(digits).replace("-", "−");
/** A field's value in words; a fraction is a position between two others. */
const written = (value) => {
  if (typeof value !== "number") return value;
  return Number.isInteger(value) ? value.toLocaleString("en").replace("-", "−") : show(value, 1);
};

/** Add an SVG as wide as its container: what is drawn into it can be replaced, grips on top stay. */
function drawing(picture, label, height) {
  const svg = shape("svg", { role: "img", "aria-label": label, height });
  const scene = shape("g");
  svg.append(scene);
  picture.append(svg);
  const draw = (width, ...children) => {
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
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

/** Axes from 0 to `right` and from `bottom` to `top`: the scales and their elements. */
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
 * The figures, one per file. A figure has `compute` (state → values), `build`, which creates the
 * picture once and returns the function that draws values into it, and `say` (what it shows).
 * `grips` names fields that are moved in the picture, so that they need no slider. Python has the
 * fields and their limits.
 */
const FIGURES = {};
