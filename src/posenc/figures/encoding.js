// The encoding, and its variants.

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

/** Other tables than the paper's, by convention or by mistake; their names are Python's. */
const VARIANTS = {
  halves: {
    verdict: "a convention: the same columns in another order",
    column: (j, d) => [(2 * (j % (d / 2))) / d, j >= d / 2],
  },
  "cosine first": {
    verdict: "a convention: the same columns in another order",
    column: (j, d) => [(2 * (j >> 1)) / d, 1 - (j % 2)],
  },
  "from 1": {
    verdict: "a convention: every row is moved up by one",
    column: paper,
    start: 1,
  },
  "minus 1": {
    verdict: "a convention: other frequencies, the last one exactly 1/n",
    column: (j, d) => [(j >> 1) / (d / 2 - 1), j % 2],
  },
  ones: {
    verdict: "a bug: one pair, d/2 times over",
    column: (j) => [0, j % 2],
  },
  "dimension for pair": {
    verdict: "a bug: no sine has its cosine, and rows differ in length",
    column: (j, d) => [(2 * j) / d, j % 2],
  },
  "own exponent": {
    verdict: "a bug: each cosine is slower than its sine",
    column: (j, d) => [j / d, j % 2],
  },
};
