// The frequencies of an encoding: the turn of each pair from one position to the next, in radians.

export const omega = (pair, d, base) => base ** ((-2 * pair) / d);
export const omegas = (d, base) => Array.from({ length: d / 2 }, (_, pair) => omega(pair, d, base));
