/*
 * The figures. Each is `compute` (state → values), `build`, which makes the picture once and returns
 * the function that draws values into it, and `say` (what it shows). `play` names the field that a
 * button moves. What can be moved, and how far, is said by the class in Python.
 */

const FIGURES = {};

FIGURES.heatmap = {
  play: "d_model",
  compute: ({ d_model, base, seq_len }) => ({ table: encode(seq_len, d_model, base) }),
  build(picture, set) {
    const canvas = element("canvas", { role: "img", "aria-label": "Heatmap of the encoding" });
    const cell = element("div", { class: "cell" });
    const [bottom, right] = [element("span"), element("span")];
    const colors = STEPS.filter((_, n) => n % 51 === 0).map((rgb) => `rgb(${rgb})`);
    const style = `background: linear-gradient(90deg, ${colors})`;
    const scale = element("div", { class: "scale" }, "−1", element("i", { style }), "1");
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

FIGURES.curves = {
  /** Sine and cosine of up to three pairs, at two or four points per position. */
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
    const { height, draw } = drawing(picture, "Sine and cosine of each pair, over positions", 290);
    return (state, { pairs, wavelengths, points, sines, cosines }, width) => {
      const { x, y, frame } = axes(width, height, 70, state.seq_len - 1, 1, "position");
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

FIGURES.clock = {
  play: "position",
  compute: ({ d_model, base, position }) => ({
    row: encode(1, d_model, base, paper, position),
    bits: Array.from({ length: 8 }, (_, bit) => (position >> bit) & 1),
  }),
  build(picture) {
    const { draw } = drawing(picture, "One clock hand for each pair, and the binary digits", 230);
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

FIGURES.rotation = {
  compute({ d_model, base, pair, position, offset }) {
    const frequency = omega(pair, d_model, base);
    const theta = frequency * offset;
    return { theta, from: point(position * frequency), to: point((position + offset) * frequency) };
  },
  build(picture) {
    const { draw } = drawing(picture, "One pair before and after a shift, from 0 and from k", 200);
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

FIGURES.kernel = {
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
    const { height, draw } = drawing(picture, "Product of two encodings, by their offset", 250);
    return ({ d_model, seq_len, offset }, { products, nearer }, width) => {
      const { x, y, frame } = axes(width, height, 24, seq_len - 1, d_model / 2, "offset φ");
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

FIGURES.switch = {
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
    return `${FIELDS.switch.variant.options[variant]}: ${VARIANTS[variant].verdict}. Largest difference: ${show(largest)}.`;
  },
};
