// The dot product of two encodings by their offset.

import { axes } from "./axes.js";
import { LINES } from "./constants.js";
import { level, middle, path, place, shape, show, text } from "./drawing.js";
import { omegas } from "./encoding.js";
import { FIGURES } from "./figure.js";
import { drawing } from "./scene.js";

const OFFSETS = Array.from({ length: 128 }, (_, offset) => offset);

FIGURES.kernel = {
  /** Products by offset, and the offsets that look nearer than 1, nearest first. */
  compute({ d_model, base }) {
    const frequencies = omegas(d_model, base);
    const products = OFFSETS.map((offset) =>
      frequencies.reduce((sum, frequency) => sum + Math.cos(frequency * offset), 0),
    );
    const nearer = OFFSETS.filter((offset) => offset > 1 && products[offset] > products[1]);
    return { products, nearer: nearer.sort((a, b) => products[b] - products[a]) };
  },
  build(picture, set, current) {
    const height = 250;
    const { draw, grip } = drawing(picture, "Dot product of two encodings, by their offset");
    let unit;
    const dot = grip(
      "offset",
      (from) => {
        const { offset } = current();
        return (to) => set({ offset: offset + (to - from) / unit }, true);
      },
      () => set({}),
    );
    return ({ d_model, base, offset }, { products, nearer }, width) => {
      const limits = [Math.floor(Math.min(0, ...products)), d_model / 2];
      const { x, y, frame } = axes(width, height, 24, OFFSETS.at(-1), limits, "offset");
      const apart = (n) => n === nearer[0] || Math.abs(x(n) - x(nearer[0])) > 24;
      unit = x(1) - x(0);
      draw(
        width,
        height,
        frame,
        level(x(0), x(OFFSETS.at(-1)), y(products[1]), { class: "thin", "stroke-dasharray": "4 4" }),
        path(products.map((product, n) => [x(n), y(product)]), { class: "curve" }),
        nearer.map((n) => shape("circle", { cx: x(n), cy: y(products[n]), r: 5, fill: LINES[3] })),
        nearer.slice(0, 2).filter(apart).map((n) => text(x(n), y(products[n]) - 9, n, middle)),
      );
      const product = omegas(d_model, base).reduce((sum, one) => sum + Math.cos(one * offset), 0);
      place(dot, { cx: x(offset), cy: y(product) });
    };
  },
  say({ d_model, offset }, { products, nearer }) {
    const more = nearer.length > 6 ? ` and ${nearer.length - 6} more` : "";
    return (
      `PE(k) · PE(k + {offset}) = ${show(products[Math.round(offset)])}, of at most ${d_model / 2}. ` +
      (nearer.length
        ? `Nearer than the next position: ${nearer.slice(0, 6).join(", ")}${more}.`
        : "No offset looks nearer than the next position, 1.")
    );
  },
};
