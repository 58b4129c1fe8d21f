// The dot product of two encodings by their offset.

import { axes } from "./axes.js";
import { LINES } from "./constants.js";
import { assign, middle, shape, show, text } from "./drawing.js";
import { omegas } from "./encoding.js";
import { FIGURES } from "./figure.js";
import { level, path } from "./lines.js";
import { drawing } from "./scene.js";

const OFFSETS = Array.from({ length: 128 }, (_, offset) => offset);

FIGURES.kernel = {
  /**
   * - `products`: by offset;
   * - `product`: at this offset, a fraction in a drag;
   * - `nearer`: offsets that look nearer than 1, nearest first.
   */
  compute({ d_model, base, offset }) {
    const frequencies = omegas(d_model, base);
    const productAt = (distance) => frequencies.reduce((sum, frequency) => sum + Math.cos(frequency * distance), 0);
    const products = OFFSETS.map(productAt);
    const nearer = OFFSETS.filter((n) => n > 1 && products[n] > products[1]);
    return { products, product: productAt(offset), nearer: nearer.sort((a, b) => products[b] - products[a]) };
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
    return ({ d_model, offset }, { products, product, nearer }, width) => {
      const limits = [Math.floor(Math.min(0, ...products)), d_model / 2];
      const { x, y, frame } = axes(width, height, 24, OFFSETS.at(-1), limits, "offset");
      const hasRoom = (n) => n === nearer[0] || Math.abs(x(n) - x(nearer[0])) > 24;
      unit = x(1) - x(0);
      draw(
        width,
        height,
        frame,
        level(x(0), x(OFFSETS.at(-1)), y(products[1]), { class: "thin", "stroke-dasharray": "4 4" }),
        path(products.map((one, n) => [x(n), y(one)]), { class: "curve" }),
        nearer.map((n) => shape("circle", { cx: x(n), cy: y(products[n]), r: 5, fill: LINES[3] })),
        nearer.slice(0, 2).filter(hasRoom).map((n) => text(x(n), y(products[n]) - 9, n, middle)),
      );
      assign(dot, { cx: x(offset), cy: y(product) });
    };
  },
  say({ d_model }, { product, nearer }) {
    const more = nearer.length > 6 ? ` and ${nearer.length - 6} more` : "";
    return (
      `PE(k) · PE(k + {offset}) = ${show(product)}, of at most ${d_model / 2}. ` +
      (nearer.length
        ? `Nearer than the next position: ${nearer.slice(0, 6).join(", ")}${more}.`
        : "No offset here looks nearer than the next position, 1.")
    );
  },
};
