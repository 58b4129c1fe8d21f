// The paper's table, a variant of it, and their difference.

import { paint } from "./colors.js";
import { element, show } from "./drawing.js";
import { FIGURES } from "./figure.js";
import { encode, paper } from "./table.js";

/** Variants of the paper's table, by convention or by mistake, under their names in Python. */
const VARIANTS = {
  halves: {
    what: "sines first, then cosines",
    verdict: "a convention: the same columns in another order",
    column: (j, d) => [(2 * (j % (d / 2))) / d, j >= d / 2],
  },
  "cosine first": {
    what: "cosine before sine",
    verdict: "a convention: the same columns in another order",
    column: (j, d) => [(2 * (j >> 1)) / d, 1 - (j % 2)],
  },
  "from 1": {
    what: "positions counted from 1",
    verdict: "a convention: every row is moved up by one",
    column: paper,
    start: 1,
  },
  "minus 1": {
    what: "exponent i/(d/2 − 1)",
    verdict: "a convention: other frequencies, the last one exactly 1/n",
    column: (j, d) => [(j >> 1) / (d / 2 - 1), j % 2],
  },
  "all ones": {
    what: "exponent 0",
    verdict: "a bug: one pair, d/2 times over",
    column: (j) => [0, j % 2],
  },
  "dimension for pair": {
    what: "exponent 2j/d, with the column j",
    verdict: "a bug: no sine has its cosine, and rows differ in length",
    column: (j, d) => [(2 * j) / d, j % 2],
  },
  "own exponent": {
    what: "exponent j/d, with the column j",
    verdict: "a bug: each cosine is slower than its sine",
    column: (j, d) => [j / d, j % 2],
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
    /** Add a canvas with a title, for the values of a key. */
    const panel = (key, title) => {
      const attributes = { role: "img", "aria-label": `Heatmap: ${title}`, "data-values": key };
      const canvas = element("canvas", attributes);
      const name = element("div", { class: "title name" }, title);
      picture.append(element("div", { class: "panel" }, canvas, name));
      return canvas;
    };
    const panels = {
      right: panel("right", "the paper's"),
      other: panel("other", "the variant"),
      difference: panel("difference", "difference"),
    };
    picture.classList.add("three");
    return ({ d_model, seq_len }, { right, other, difference }) => {
      paint(panels.right, right, seq_len, d_model, 1);
      paint(panels.other, other, seq_len, d_model, 1);
      paint(panels.difference, difference, seq_len, d_model, 2); // of two values from −1 to 1
    };
  },
  say({ variant }, { difference }) {
    const largest = difference.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    return `{variant|${VARIANTS[variant].what}}: ${VARIANTS[variant].verdict}. Largest difference: ${show(largest)}.`;
  },
};
