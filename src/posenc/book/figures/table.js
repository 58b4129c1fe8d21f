// The table of an encoding, by the paper or by a variant of it.

/** Exponent of each column, as a fraction of 1, and whether it is a cosine. */
export const paper = (j, d) => [(2 * (j >> 1)) / d, j % 2];

/** Table of positions start, …, start + length - 1, row by row. */
export function encode(length, d, base, column = paper, start = 0) {
  const table = new Float64Array(length * d);
  for (let j = 0; j < d; j++) {
    const [exponent, cosine] = column(j, d);
    const frequency = base ** -exponent;
    const wave = cosine ? Math.cos : Math.sin;
    for (let k = 0; k < length; k++) table[k * d + j] = wave((start + k) * frequency);
  }
  return table;
}
