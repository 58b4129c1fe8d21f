// The encoding.

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
