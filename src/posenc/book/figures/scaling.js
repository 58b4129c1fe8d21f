// Longer texts: rules that map trained frequencies to scaled ones, as `rotary_frequencies` in Python.

import { clamp } from "./drawing.js";
import { omegas } from "./encoding.js";

/** A frequency, with a share of it, clamped to 0…1, divided by the factor. */
export function slowed(frequency, factor, share) {
  const part = clamp(0, share, 1);
  return (frequency / factor) * part + frequency * (1 - part);
}

/** Each maps the frequencies in training, given the width, base, trained length and factor. */
export const SCALINGS = {
  "as trained": (plain) => plain,
  interpolation: (plain, { factor }) => plain.map((frequency) => frequency / factor),
  "NTK-aware": (plain, { d_model, base, factor }) =>
    omegas(d_model, base * factor ** (d_model / (d_model - 2))),
  YaRN(plain, { d_model, base, trained, factor }) {
    // The fractional index of the pair that makes so many turns over the trained length.
    const pairWith = (turns) =>
      (d_model * Math.log(trained / (turns * 2 * Math.PI))) / (2 * Math.log(base));
    const low = Math.max(Math.floor(pairWith(32)), 0);
    const high = Math.min(Math.ceil(pairWith(1)), d_model - 1);
    const width = high === low ? 0.001 : high - low;
    return plain.map((frequency, pair) => slowed(frequency, factor, (pair - low) / width));
  },
};
