/**
 * Figures of the sinusoidal encoding that a reader moves. No dependency, no build step: the website
 * inlines this file, Jupyter loads it through anywidget, and the tests run both.
 *
 * A figure is its fields (what can be moved), `compute` (state → values), `build` (which makes the
 * picture once and returns the function that draws values into it) and `say` (what it shows).
 */

// ---------------------------------------------------------------- the encoding

/** Exponent of each column, as a fraction of 1, and whether it is a cosine. */
const paper = (j, d) => [(2 * (j >> 1)) / d, j % 2];

const omega = (pair, d, base) => base ** ((-2 * pair) / d);
const omegas = (d, base) => Array.from({ length: d / 2 }, (_, pair) => omega(pair, d, base));

/** Table of positions start, …, start + length - 1, row by row. */
function encode(length, d, base, column = paper, start = 0) {
  const table = new Float64Array(length * d);
  for (let j = 0; j < d; j++) {
    const [exponent, cosine] = column(j, d);
    const frequency = base ** -exponent;
    const wave = cosine ? Math.cos : Math.sin;
    for (let k = 0; k < length; k++) table[k * d + j] = wave((start + k) * frequency);
  }
  return table;
}

const point = (angle) => [Math.sin(angle), Math.cos(angle)];

/** Other tables than the paper's: by convention, or by mistake. */
const VARIANTS = {
  halves: {
    label: "sines first, then cosines",
    verdict: "a convention: the same columns in another order",
    column: (j, d) => [(2 * (j % (d / 2))) / d, j >= d / 2],
  },
  "cosine first": {
    label: "cosine before sine",
    verdict: "a convention: the same columns in another order",
    column: (j, d) => [(2 * (j >> 1)) / d, 1 - (j % 2)],
  },
  "from 1": {
    label: "positions counted from 1",
    verdict: "a convention: every row is moved up by one",
    column: paper,
    start: 1,
  },
  "minus 1": {
    label: "exponent i/(d/2 − 1)",
    verdict: "a convention: other frequencies, the last one exactly 1/n",
    column: (j, d) => [(j >> 1) / (d / 2 - 1), j % 2],
  },
  ones: {
    label: "exponent 0",
    verdict: "a bug: one pair, d/2 times over",
    column: (j) => [0, j % 2],
  },
  "dimension for pair": {
    label: "exponent 2j/d, with the dimension j",
    verdict: "a bug: no sine has its cosine, and rows differ in length",
    column: (j, d) => [(2 * j) / d, j % 2],
  },
  "own exponent": {
    label: "exponent j/d, with the dimension j",
    verdict: "a bug: each cosine is slower than its sine",
    column: (j, d) => [j / d, j % 2],
  },
};

// ---------------------------------------------------------------- colors

/** matplotlib's PuOr_r: eleven colors, and 256 steps on the lines between them. */
const ANCHORS = [
  0x2d004b, 0x542788, 0x8073ac, 0xb2abd2, 0xd8daeb, 0xf7f7f7, 0xfee0b6, 0xfdb863, 0xe08214,
  0xb35806, 0x7f3b08,
];
const STEPS = Array.from({ length: 256 }, (_, n) => {
  const where = (n / 255) * 10;
  const left = Math.min(9, Math.floor(where));
  return [16, 8, 0].map((bits) => {
    const [a, b] = [ANCHORS[left], ANCHORS[left + 1]].map((color) => (color >> bits) & 255);
    return Math.floor(a + (b - a) * (where - left) + 1e-9);
  });
});

/** The steps as pixels: red, green, blue and opaque. */
const PIXELS = new Uint32Array(Uint8Array.from(STEPS.flatMap((rgb) => [...rgb, 255])).buffer);

/** Paint a table of values between -limit and limit, a pixel each. */
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

const LINES = ["#7a5fc4", "#c8680a", "#008a72"];

// ---------------------------------------------------------------- elements

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function shape(name, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const text = (x, y, words, attributes) => shape("text", { x, y, ...attributes }, words);
const middle = { "text-anchor": "middle" };
const end = { "text-anchor": "end" };
const round = (x) => Math.round(10 * x) / 10;
const path = (points, attributes) =>
  shape("polyline", {
    points: points.map(([x, y]) => `${round(x)},${round(y)}`).join(" "),
    ...attributes,
  });

const show = (x, digits = 4) => (Number(x.toFixed(digits)) + 0).toFixed(digits).replace("-", "−");
const group = (x) => String(x).replace(/\d(?=(\d{3})+$)/g, "$& ");

/** An SVG of a fixed height, and as wide as its place. */
function drawing(picture, label, height) {
  const svg = shape("svg", { role: "img", "aria-label": label, height });
  picture.append(svg);
  return (width, ...children) => {
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.replaceChildren(...children.flat());
  };
}

/** Axes from 0 to `right` and from -top to top: scales, and what to draw of them. */
function axes(width, height, above, right, top, label) {
  const [x0, x1, y0, y1] = [34, width - 12, height - 36, above];
  const x = (value) => x0 + (value / right) * (x1 - x0);
  const y = (value) => y0 + ((value + top) / (2 * top)) * (y1 - y0);
  const step = [1, 2, 5, 10, 20, 50, 100].find((size) => right / size <= 7);
  const ticks = [];
  for (let tick = 0; tick <= right; tick += step) ticks.push(text(x(tick), y0 + 16, tick, middle));
  for (const tick of [-top, 0, top]) ticks.push(text(x0 - 6, y(tick) + 4, show(tick, 0), end));
  const frame = path(
    [
      [x0, y1],
      [x0, y0],
      [x1, y0],
    ],
    { class: "thin" },
  );
  const zero = path(
    [
      [x0, y(0)],
      [x1, y(0)],
    ],
    { class: "thin faint" },
  );
  return { x, y, frame: [frame, zero, ...ticks, text((x0 + x1) / 2, height - 4, label, middle)] };
}

/** The hand of a circle around (cx, cy), to a point of the unit circle. */
function hand(cx, cy, radius, [right, up], attributes) {
  return shape("line", {
    x1: cx,
    y1: cy,
    x2: cx + radius * right,
    y2: cy - radius * up,
    ...attributes,
  });
}

// ---------------------------------------------------------------- fields

/** A whole number; `top` is its limit where that depends on other fields. */
const whole = (label, initial, min, max, top = () => max) => ({
  label,
  initial,
  min,
  max,
  step: 1,
  top,
});
const modelWidth = (initial, min, max) => ({ ...whole("width d", initial, min, max), step: 2 });
const seqLength = (initial, min, max) => whole("length L", initial, min, max);
const logBase = { label: "base n", initial: 10000, min: 1, max: 1000000, log: true };
const lastPair = (state) => state.d_model / 2 - 1;
const lastPosition = (state) => state.seq_len - 1;

/** The value that `given` stands for, or undefined if the field can't take it. */
function parse(field, given) {
  if (field.options) return Object.hasOwn(field.options, given) ? given : undefined;
  const value = typeof given === "string" && given.trim() === "" ? NaN : Number(given ?? NaN);
  const fits = value >= field.min && value <= field.max;
  return fits && (field.log || (value - field.min) % field.step === 0) ? value : undefined;
}

/** A whole state from what is given: defaults for what is missing or bad, and limits kept. */
function complete(kind, given) {
  const state = {};
  for (const [name, field] of Object.entries(FIGURES[kind].fields)) {
    state[name] = parse(field, given[name]) ?? field.initial;
    if (field.top) state[name] = Math.min(state[name], field.top(state));
  }
  return state;
}

// ---------------------------------------------------------------- figures

const heatmap = {
  fields: {
    d_model: modelWidth(64, 2, 256),
    base: logBase,
    seq_len: seqLength(64, 2, 128),
    position: whole("position k", 5, 0, 127, lastPosition),
    dimension: whole("dimension j", 8, 0, 255, (state) => state.d_model - 1),
  },
  play: "d_model",
  compute: ({ d_model, base, seq_len }) => ({ table: encode(seq_len, d_model, base) }),
  build(picture, set) {
    const canvas = element("canvas", { role: "img", "aria-label": "Heatmap of the encoding" });
    const cell = element("div", { class: "cell" });
    const [bottom, right] = [element("span"), element("span")];
    const scale = element("div", { class: "scale" }, "−1", element("i"), "1");
    picture.classList.add("map");
    picture.append(
      element("div", { class: "down" }, element("span", {}, "0"), "position", bottom),
      element("div", { class: "panel" }, canvas, cell),
      element("div", { class: "across" }, element("span", {}, "0"), "dimension", right),
      scale,
    );
    const pick = (event) => {
      const box = canvas.getBoundingClientRect();
      const part = (at, from, size, count) =>
        Math.max(0, Math.min(count - 1, Math.floor(((at - from) / size) * count)));
      set({
        position: part(event.clientY, box.top, box.height, canvas.height),
        dimension: part(event.clientX, box.left, box.width, canvas.width),
      });
    };
    canvas.addEventListener("pointerdown", pick);
    canvas.addEventListener("pointermove", pick);
    let painted;
    return (state, { table }) => {
      const { d_model, seq_len, position, dimension } = state;
      if (painted !== table) paint(canvas, (painted = table), seq_len, d_model, 1);
      bottom.textContent = seq_len - 1;
      right.textContent = d_model - 1;
      cell.style.cssText = `left: ${(dimension / d_model) * 100}%; top: ${(position / seq_len) * 100}%;
        width: ${100 / d_model}%; height: ${100 / seq_len}%`;
    };
  },
  say({ d_model, base, position, dimension }, { table }) {
    const value = show(table[position * d_model + dimension]);
    const wave = dimension % 2 ? "cos" : "sin";
    const formula = `${wave}(${position} / ${base}^(${dimension - (dimension % 2)}/${d_model}))`;
    return `Position ${position}, dimension ${dimension}: ${formula} = ${value}`;
  },
};

const curves = {
  fields: {
    d_model: modelWidth(64, 2, 256),
    base: logBase,
    seq_len: seqLength(64, 2, 128),
    pair: whole("first pair i", 0, 0, 127, lastPair),
    stride: whole("pairs apart", 4, 1, 32),
  },
  /** Sine and cosine of up to three pairs, at two or four points a position. */
  compute({ d_model, base, seq_len, pair, stride }) {
    const pairs = [pair, pair + stride, pair + 2 * stride].filter((i) => i < d_model / 2);
    const frequencies = pairs.map((i) => omega(i, d_model, base));
    const parts = seq_len > 64 ? 2 : 4;
    const points = Array.from({ length: parts * (seq_len - 1) + 1 }, (_, n) => n / parts);
    const waves = (wave) => frequencies.map((frequency) => points.map((k) => wave(k * frequency)));
    const wavelengths = frequencies.map((frequency) => (2 * Math.PI) / frequency);
    return { pairs, wavelengths, points, sines: waves(Math.sin), cosines: waves(Math.cos) };
  },
  build(picture) {
    const draw = drawing(picture, "Sine and cosine of each pair, over positions", 290);
    return (state, { pairs, wavelengths, points, sines, cosines }, width) => {
      const { x, y, frame } = axes(width, 290, 70, state.seq_len - 1, 1, "position");
      const line = (values, stroke, dashes) =>
        path(
          values.map((value, n) => [x(points[n]), y(value)]),
          { stroke, "stroke-dasharray": dashes },
        );
      const named = pairs.map((pair, n) => [
        path(
          [
            [34, 12 + 19 * n],
            [58, 12 + 19 * n],
          ],
          { stroke: LINES[n] },
        ),
        text(66, 16 + 19 * n, `pair ${pair}: wavelength ${show(wavelengths[n], 2)} positions`),
        line(sines[n], LINES[n], "none"),
        line(cosines[n], LINES[n], "5 4"),
      ]);
      draw(width, frame, named.flat());
    };
  },
  say: (_, { pairs, wavelengths }) =>
    pairs
      .map((pair, n) => `Pair ${pair} turns once in ${show(wavelengths[n], 2)} positions.`)
      .join(" ") + " Solid lines are sines, dashed ones cosines.",
};

const clock = {
  fields: {
    d_model: modelWidth(32, 2, 32),
    base: logBase,
    position: whole("position k", 5, 0, 255),
  },
  play: "position",
  compute: ({ d_model, base, position }) => ({
    row: encode(1, d_model, base, paper, position),
    bits: Array.from({ length: 8 }, (_, bit) => (position >> bit) & 1),
  }),
  build(picture) {
    const draw = drawing(picture, "One clock hand for each pair, and the binary digits", 230);
    return ({ d_model }, { row, bits }, width) => {
      const columns = Math.min(d_model / 2, 8);
      const step = Math.min(62, width / 8);
      const radius = step * 0.38;
      const below = d_model > 16 ? 166 : 90;
      const hands = Array.from({ length: d_model / 2 }, (_, pair) => {
        const [cx, cy] = [((pair % columns) + 0.5) * step, 36 + Math.floor(pair / columns) * 76];
        return [
          shape("circle", { cx, cy, r: radius, class: "thin faint" }),
          hand(cx, cy, radius, row.slice(2 * pair, 2 * pair + 2), { class: "accent" }),
          text(cx, cy + 42, pair, middle),
        ];
      });
      const counter = bits.map((bit, n) => [
        shape("rect", {
          x: (n + 0.5) * step - 12,
          y: below,
          width: 24,
          height: 24,
          class: bit ? "full" : "thin faint",
        }),
        text((n + 0.5) * step, below + 17, bit, { ...middle, class: bit ? "on" : "" }),
        text((n + 0.5) * step, below + 40, 2 ** n, middle),
      ]);
      draw(width, hands.flat(), counter.flat());
    };
  },
  say: ({ position }, { bits }) =>
    `Position ${position}. Above, one hand for each pair, sine across and cosine upwards. Below, ${position} in binary, lowest digit first: ${bits.join("")}.`,
};

const rotation = {
  fields: {
    d_model: modelWidth(16, 2, 256),
    base: logBase,
    pair: whole("pair i", 1, 0, 127, lastPair),
    position: whole("position k", 5, 0, 255),
    offset: whole("offset φ", 3, -64, 64),
  },
  compute({ d_model, base, pair, position, offset }) {
    const frequency = omega(pair, d_model, base);
    const theta = frequency * offset;
    return { theta, from: point(position * frequency), to: point((position + offset) * frequency) };
  },
  build(picture) {
    const draw = drawing(picture, "One pair before and after a shift, from 0 and from k", 200);
    return ({ d_model, base, pair, position, offset }, { theta, from, to }, width) => {
      const radius = Math.min(74, width / 4 - 18);
      const start = position * omega(pair, d_model, base);
      const circle = (cx, k, angle, before, after) => {
        const arc = Array.from({ length: 201 }, (_, n) => {
          const [up, right] = point(angle + (theta * n) / 200);
          const size = radius * (0.35 + (0.4 * n) / 200);
          return [cx + size * right, 82 - size * up];
        });
        return [
          shape("circle", { cx, cy: 82, r: radius, class: "thin faint" }),
          hand(cx, 82, radius, before.toReversed(), { stroke: LINES[1] }),
          hand(cx, 82, radius, after.toReversed(), { class: "accent" }),
          path(arc, { class: "thin" }),
          text(cx, 186, `${k} to ${show(k + offset, 0)}`, middle),
        ];
      };
      draw(
        width,
        circle(width / 4, 0, 0, [0, 1], point(theta)),
        circle((3 * width) / 4, position, start, from, to),
      );
    };
  },
  say({ pair, position, offset }, { theta, from, to }) {
    const [before, after] = [from, to].map((pair) => `(${pair.map((x) => show(x)).join(", ")})`);
    return (
      `Pair ${pair} at ${position} is ${before}, at ${show(position + offset, 0)} it is ${after}. ` +
      `From 0 or from ${position}, it turns by ω·φ = ${show(theta)} rad = ${show((theta * 180) / Math.PI, 1)}°. Cosine across, sine upwards.`
    );
  },
};

const offsets = {
  fields: {
    d_model: modelWidth(8, 2, 128),
    base: logBase,
    seq_len: seqLength(128, 8, 256),
    offset: whole("offset φ", 63, 0, 255, lastPosition),
  },
  /** Products by offset, and the offsets that look nearer than 1 does, nearest first. */
  compute({ d_model, base, seq_len }) {
    const frequencies = omegas(d_model, base);
    const products = Array.from({ length: seq_len }, (_, offset) =>
      frequencies.reduce((sum, frequency) => sum + Math.cos(frequency * offset), 0),
    );
    const nearer = [...products.keys()].filter(
      (offset) => offset > 1 && products[offset] > products[1],
    );
    return { products, nearer: nearer.sort((a, b) => products[b] - products[a]) };
  },
  build(picture) {
    const draw = drawing(picture, "Product of two encodings, by their offset", 250);
    return ({ d_model, seq_len, offset }, { products, nearer }, width) => {
      const { x, y, frame } = axes(width, 250, 24, seq_len - 1, d_model / 2, "offset φ");
      draw(
        width,
        frame,
        path(
          [
            [x(0), y(products[1])],
            [x(seq_len - 1), y(products[1])],
          ],
          { class: "thin", "stroke-dasharray": "4 4" },
        ),
        path(
          products.map((product, n) => [x(n), y(product)]),
          { stroke: LINES[0] },
        ),
        nearer.map((n) => shape("circle", { cx: x(n), cy: y(products[n]), r: 4, fill: LINES[1] })),
        nearer.slice(0, 2).map((n) => text(x(n), y(products[n]) - 9, n, middle)),
        shape("circle", { cx: x(offset), cy: y(products[offset]), r: 7, class: "thin" }),
      );
    };
  },
  say({ d_model, offset }, { products, nearer }) {
    const more = nearer.length > 6 ? ` and ${nearer.length - 6} more` : "";
    return (
      `PE(k)·PE(k + ${offset}) = ${show(products[offset])}, of at most ${d_model / 2}. ` +
      (nearer.length
        ? `Nearer than the next position: ${nearer.slice(0, 6).join(", ")}${more}.`
        : "No offset looks nearer than the next position, 1.")
    );
  },
};

const convention = {
  fields: {
    d_model: modelWidth(16, 4, 64),
    base: logBase,
    seq_len: seqLength(64, 2, 128),
    variant: { label: "variant", initial: "halves", options: VARIANTS },
  },
  compute({ d_model, base, seq_len, variant }) {
    const { column, start } = VARIANTS[variant];
    const right = encode(seq_len, d_model, base);
    const other = encode(seq_len, d_model, base, column, start);
    return { right, other, difference: other.map((value, n) => value - right[n]) };
  },
  build(picture) {
    const panels = ["the paper's", "the variant", "difference"].map((title) => {
      const canvas = element("canvas", { role: "img", "aria-label": `Heatmap: ${title}` });
      picture.append(
        element("div", { class: "panel" }, canvas, element("div", { class: "title" }, title)),
      );
      return canvas;
    });
    picture.classList.add("three");
    return ({ d_model, seq_len }, { right, other, difference }) => {
      [right, other, difference].forEach((table, n) =>
        paint(panels[n], table, seq_len, d_model, n < 2 ? 1 : 2),
      );
    };
  },
  say({ variant }, { difference }) {
    const largest = difference.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    return `${VARIANTS[variant].label}: ${VARIANTS[variant].verdict}. Largest difference: ${show(largest)}.`;
  },
};

const FIGURES = { heatmap, curves, clock, rotation, kernel: offsets, switch: convention };

// ---------------------------------------------------------------- a figure in its place

const STYLE = `
:host { color: var(--pst-color-text-base, var(--jp-ui-font-color1, inherit)); display: block; text-align: left;
  --accent: var(--pst-color-primary, var(--jp-brand-color1, #7a5fc4)); }
* { box-sizing: border-box; }
.live { container-type: inline-size; font-size: 0.875rem; line-height: 1.4; }
.picture { position: relative; }
svg { display: block; fill: none; stroke-width: 2; width: 100%; }
text { fill: currentColor; font-size: 12px; }
line { stroke-linecap: round; }
.thin { stroke: currentColor; stroke-width: 1; }
.faint { opacity: 0.5; }
.accent { stroke: var(--accent); stroke-width: 2.5; }
.full { fill: currentColor; }
text.on { fill: var(--pst-color-background, var(--jp-layout-color0, #fff)); }
canvas { cursor: crosshair; display: block; height: 240px; image-rendering: pixelated; width: 100%; }
.map { display: grid; gap: 2px 6px; grid-template-columns: auto 1fr; }
.panel { min-width: 0; position: relative; }
.cell { box-shadow: 0 0 0 1px #fff, 0 0 0 3px #000; min-height: 3px; min-width: 3px; pointer-events: none; position: absolute; }
.down, .across { display: flex; font-size: 12px; justify-content: space-between; }
.down { writing-mode: vertical-rl; }
.across { grid-column: 2; }
.scale { align-items: center; display: flex; font-size: 12px; gap: 6px; grid-column: 2; }
.scale i { background: linear-gradient(90deg, ${STEPS.filter((_, n) => n % 51 === 0).map((rgb) => `rgb(${rgb})`)}); height: 8px; width: 120px; }
.three { display: grid; gap: 8px; grid-template-columns: repeat(3, 1fr); }
.three canvas { cursor: auto; height: 200px; }
.title { font-size: 12px; text-align: center; }
.say { margin: 6px 0; min-height: 5.6em; overflow-wrap: anywhere; }
@container (min-width: 500px) { .say { min-height: 2.8em; } }
.fields { display: grid; gap: 2px 20px; grid-template-columns: repeat(auto-fill, minmax(min(100%, 250px), 1fr)); }
.field { align-items: center; display: grid; gap: 8px; grid-template-columns: 5.6em 1fr 5em; min-height: 28px; }
.field.choice { grid-template-columns: 5.6em 1fr; }
.field span { font-variant-numeric: tabular-nums; }
input, select, button { accent-color: var(--accent); color: inherit; font: inherit; height: 28px; margin: 0; min-width: 0; width: 100%; }
select, button { background: none; border: 1px solid currentColor; border-radius: 4px; padding: 0 8px; }
option { background: Canvas; color: CanvasText; }
.buttons { display: flex; flex-wrap: wrap; gap: 8px; margin-top: 6px; }
button { cursor: pointer; width: auto; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.hidden { clip-path: inset(50%); height: 1px; overflow: hidden; position: absolute; width: 1px; }
slot { display: none; }
@media print { .live { display: none; } slot { display: contents; } }
`;

/** The control of one field: what to put on the page, and how to bring it up to date. */
function control(name, field, set) {
  const id = `field-${name}`;
  const label = element("label", { for: id }, field.label);
  if (field.options) {
    const options = Object.entries(field.options).map(([value, { label }]) =>
      element("option", { value }, label),
    );
    const select = element("select", { id }, ...options);
    select.addEventListener("change", () => set({ [name]: select.value }));
    return [
      element("div", { class: "field choice" }, label, select),
      (state) => (select.value = state[name]),
    ];
  }
  const range = field.log ? { min: 0, max: 6, step: 0.25 } : { min: field.min, step: field.step };
  const input = element("input", { id, type: "range", ...range });
  const value = element("span", { "aria-hidden": "true" });
  const read = () => (field.log ? Number((10 ** input.value).toPrecision(2)) : Number(input.value));
  input.addEventListener("input", () => set({ [name]: read() }));
  return [
    element("div", { class: "field" }, label, input, value),
    (state) => {
      if (field.top) input.max = field.top(state);
      const shown = group(state[name]).replace("-", "−");
      if (value.textContent === shown) return;
      input.value = field.log ? Math.log10(state[name]) : state[name];
      value.textContent = shown;
      input.setAttribute("aria-valuetext", shown);
    },
  ];
}

/** A button that moves `name` on by itself, a step at a time; slower for who wants less motion. */
function player(name, field, current, set) {
  const { min, max, step: size } = field;
  const step = (by) => {
    const count = (max - min) / size + 1;
    set({ [name]: min + ((((current()[name] - min) / size + by + count) % count) * size) });
  };
  const [back, play, forward] = ["Back", "Play", "Forward"].map((words) =>
    element("button", { type: "button" }, words),
  );
  let timer;
  const stop = () => {
    clearInterval(timer);
    timer = undefined;
    play.textContent = "Play";
  };
  back.addEventListener("click", () => step(-1));
  forward.addEventListener("click", () => step(1));
  play.addEventListener("click", () => {
    if (timer) return stop();
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    play.textContent = "Pause";
    timer = setInterval(() => (play.isConnected ? step(1) : stop()), calm ? 1000 : 250);
  });
  return [back, play, forward];
}

/** Put the view into the page's address, and copy that. */
async function copyLink(id, state, say) {
  const url = new URL(location.href);
  url.search = new URLSearchParams({ figure: id, ...state });
  url.hash = id;
  history.replaceState(null, "", url);
  try {
    await navigator.clipboard.writeText(url.href);
    say("Link copied.");
  } catch {
    say("The link is in the address bar.");
  }
}

/** The state that the page's address holds for the figure `id`. */
function linked(id) {
  const query = new URLSearchParams(location.search);
  return id && query.get("figure") === id ? Object.fromEntries(query) : {};
}

/** Draw a figure into the shadow of `host`; tell `onchange` of each state that the reader makes. */
function mount(host, kind, given, onchange = () => {}, id = "") {
  const { fields, play, compute, build, say } = FIGURES[kind];
  const picture = element("div", { class: "picture" });
  const said = element("p", { class: "say", "aria-hidden": "true" });
  const spoken = element("output", { class: "hidden", "aria-live": "polite" });
  const buttons = element("div", { class: "buttons" });
  const figure = { state: complete(kind, given), update };
  const set = (change) => {
    update({ ...figure.state, ...change });
    onchange(figure.state);
  };
  const controls = Object.entries(fields).map(([name, field]) => control(name, field, set));
  const draw = build(picture, set);
  let calm;
  let width = 0;

  function redraw() {
    if (width) draw(figure.state, figure.values, width);
  }

  function update(given) {
    figure.state = complete(kind, given);
    figure.values = compute(figure.state);
    for (const [, refresh] of controls) refresh(figure.state);
    redraw();
    said.textContent = say(figure.state, figure.values);
    clearTimeout(calm);
    calm = setTimeout(() => {
      if (spoken.value !== said.textContent) spoken.value = said.textContent;
    }, 500);
  }

  if (play) buttons.append(...player(play, fields[play], () => figure.state, set));
  if (id) {
    const copy = element("button", { type: "button" }, "Copy link to this view");
    copy.addEventListener("click", () =>
      copyLink(id, figure.state, (words) => (spoken.value = copy.textContent = words)),
    );
    buttons.append(copy);
  }
  const rows = element("div", { class: "fields" }, ...controls.map(([row]) => row));
  const live = element("div", { class: "live" }, picture, said, spoken, rows, buttons);
  host.attachShadow({ mode: "open" }).append(element("style", {}, STYLE), live, element("slot"));
  update(figure.state);
  clearTimeout(calm);
  spoken.value = said.textContent;
  new ResizeObserver(([{ contentRect }]) => {
    width = contentRect.width;
    redraw();
  }).observe(picture);
  return figure;
}

/** On the website: <posenc-figure kind="heatmap" d-model="64">, with a picture inside. */
function define() {
  class PosencFigure extends HTMLElement {
    connectedCallback() {
      const kind = this.getAttribute("kind");
      if (this.figure || !Object.hasOwn(FIGURES, kind)) return;
      const id = this.closest("[id]")?.id;
      const given = linked(id);
      for (const [name, field] of Object.entries(FIGURES[kind].fields)) {
        if (parse(field, given[name]) === undefined)
          given[name] = this.getAttribute(name.replace("_", "-"));
      }
      this.figure = mount(this, kind, given, undefined, id);
    }
  }
  if (!customElements.get("posenc-figure")) customElements.define("posenc-figure", PosencFigure);
}

/** In Jupyter: anywidget calls this with the model that Python shares. */
function render({ model, el }) {
  const kind = model.get("_kind");
  const names = Object.keys(FIGURES[kind].fields);
  const read = () => Object.fromEntries(names.map((name) => [name, model.get(name)]));
  const host = element("div", { "data-lm-suppress-shortcuts": "true" }); // arrow keys are the sliders'
  el.append(host);
  const figure = mount(host, kind, read(), (state) => {
    model.set(state);
    model.save_changes();
  });
  const follow = () => {
    const state = read();
    if (names.some((name) => state[name] !== figure.state[name])) figure.update(state);
  };
  model.on(names.map((name) => `change:${name}`).join(" "), follow);
  return () => model.off(null, follow);
}

export default { render };
