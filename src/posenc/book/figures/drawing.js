// Colors, elements, and drawing helpers.

/** The heatmaps' color map: 256 steps, interpolated linearly between eleven colors. */
const STEPS = Array.from({ length: 256 }, (_, n) => {
  const where = (n / 255) * 10;
  const left = Math.min(9, Math.floor(where));
  return [16, 8, 0].map((bits) => {
    const [a, b] = [MAP[left], MAP[left + 1]].map((color) => (color >> bits) & 255);
    return Math.floor(a + (b - a) * (where - left) + 1e-9);
  });
});

/** The steps as opaque RGBA pixels. */
const PIXELS = new Uint32Array(Uint8Array.from(STEPS.flatMap((rgb) => [...rgb, 255])).buffer);

/** The color of a value between -1 and 1. */
const shade = (x) => `rgb(${STEPS[Math.max(0, Math.min(255, Math.floor(128 * (x + 1))))]})`;

/** Paint a table of values between -limit and limit, one pixel each. */
function paint(canvas, table, rows, columns, limit) {
  if (canvas.width !== columns) canvas.width = columns;
  if (canvas.height !== rows) canvas.height = rows;
  const image = new ImageData(columns, rows);
  const pixels = new Uint32Array(image.data.buffer);
  for (let n = 0; n < table.length; n++) {
    const step = Math.floor(((table[n] + limit) / (2 * limit)) * 256);
    pixels[n] = PIXELS[Math.max(0, Math.min(255, step))];
  }
  canvas.getContext("2d").putImageData(image, 0, 0);
}

const maker = (kind) => (name, attributes = {}, ...children) => {
  const made = document.createElementNS(`http://www.w3.org/${kind}`, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
};
const element = maker("1999/xhtml");
const shape = maker("2000/svg");

const text = (x, y, words, attributes) => shape("text", { x, y, ...attributes }, words);
const middle = { "text-anchor": "middle" };
const end = { "text-anchor": "end" };
const round = (x) => Math.round(10 * x) / 10;
const path = (places, attributes) => {
  const points = places.map(([x, y]) => `${round(x)},${round(y)}`).join(" ");
  return shape("polyline", { points, ...attributes });
};
const level = (from, to, y, attributes) => path([[from, y], [to, y]], attributes);
const corner = (x0, y0, x1, y1) => path([[x0, y1], [x0, y0], [x1, y0]], { class: "thin axes" });

const show = (x, digits = 4) => Number(x.toFixed(digits)).toFixed(digits).replace("-", "−");
const grouping = new Intl.NumberFormat("en", { maximumFractionDigits: 20 });
const group = (x) => grouping.format(x).replaceAll(",", " ");
/** A field's value in words. */
const written = (value) => (typeof value === "number" ? group(value).replace("-", "−") : value);

/**
 * Add an SVG as wide as its container: its height, and a function that draws into it. Each grip is
 * [x, y, field, move, radius]: a pointer near (x, y) takes hold of it, and move(x, y) follows it.
 */
function drawing(picture, label, height, attributes = { height }) {
  const svg = shape("svg", { role: "img", "aria-label": label, ...attributes });
  picture.append(svg);
  let grips = [];
  let held = -1;
  const place = ({ clientX, clientY }) => {
    const { x, y } = new DOMPoint(clientX, clientY).matrixTransform(svg.getScreenCTM().inverse());
    return [x, y];
  };
  const nearest = (event) => {
    const [x, y] = place(event);
    const far = grips.map((grip) => Math.hypot(grip[0] - x, grip[1] - y));
    return far.indexOf(Math.min(24, ...far));
  };
  const touched = (event) => nearest(event.touches[0]) >= 0 && event.preventDefault(); // no scroll
  svg.addEventListener("touchstart", touched, { passive: false });
  svg.addEventListener("pointerdown", (event) => {
    held = nearest(event);
    if (held >= 0) svg.setPointerCapture(event.pointerId);
  });
  svg.addEventListener("pointermove", (event) => held >= 0 && grips[held]?.[3](...place(event)));
  svg.addEventListener("lostpointercapture", () => (held = -1));
  const draw = (width, children, taken = []) => {
    const down = attributes.height ?? svg.clientHeight; // else CSS sets it, by width
    svg.setAttribute("viewBox", `0 0 ${width} ${down}`);
    grips = taken;
    const dots = grips.map(([cx, cy, field, , r = 7]) =>
      shape("circle", { cx, cy, r, class: "grip", "data-field": field }),
    );
    svg.replaceChildren(...children.flat(), ...dots);
  };
  return { height, draw };
}

/** Axes from 0 to `right` and from -top to top: the scales and their elements. */
function axes(width, height, above, right, top, label) {
  const [x0, x1, y0, y1] = [34, width - 12, height - 36, above];
  const x = (value) => x0 + (value / right) * (x1 - x0);
  const y = (value) => y0 + ((value + top) / (2 * top)) * (y1 - y0);
  const sizes = Array.from({ length: 30 }, (_, n) => [1, 2, 5][n % 3] * 10 ** Math.floor(n / 3));
  const step = sizes.find((size) => right / size <= 7);
  const ticks = Array.from({ length: Math.floor(right / step) + 1 }, (_, n) =>
    text(x(n * step), y0 + 16, group(n * step), { ...middle, class: "tick" }),
  );
  for (const tick of [-top, 0, top]) ticks.push(text(x0 - 6, y(tick) + 4, show(tick, 0), end));
  const zero = level(x0, x1, y(0), { class: "thin faint" });
  const name = text((x0 + x1) / 2, height - 4, label, middle);
  return { x, y, frame: [corner(x0, y0, x1, y1), zero, ...ticks, name] };
}

/** A clock hand from (cx, cy) toward a point of the unit circle. */
function hand(cx, cy, radius, [right, up], attributes) {
  const tip = { x2: cx + radius * right, y2: cy - radius * up };
  return shape("line", { x1: cx, y1: cy, ...tip, ...attributes });
}

/** A grip at the tip of a hand that turns by `frequency` per step; it reports whole steps. */
function turning(cx, cy, radius, angle, frequency, field, moved) {
  const tip = [cx + radius * Math.cos(angle), cy - radius * Math.sin(angle)];
  const move = (x, y) => {
    const turn = Math.atan2(cy - y, x - cx) - angle;
    moved(Math.round((turn - 2 * Math.PI * Math.round(turn / (2 * Math.PI))) / frequency));
  };
  return [...tip, field, move, Math.min(7, radius / 6)];
}

/**
 * The figures, one per file. A figure has `compute` (state → values), `build`, which creates the
 * picture once and returns the function that draws values into it, and `say` (what it shows).
 * `play` names the fields that the buttons step; a figure that `runs` plays automatically while in
 * view, and animates between steps. The Python class defines the controls and their limits.
 */
const FIGURES = {};
