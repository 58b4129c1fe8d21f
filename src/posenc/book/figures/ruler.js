// Turning's ruler, the ground that the landscape stands on: one row of places, or two on a phone.

import { HEAD, PLACES } from "./attention.js";
import { clamp, middle, round, text } from "./drawing.js";

export const BEST = 8; // the score of hands that all agree; YaRN's goes up to 9.2, into the sky

/** The ruler's geometry, for a width in pixels. Positions may be fractional. */
export function ruler(width) {
  const rows = width < 560 ? 2 : 1;
  const columns = HEAD.places / rows;
  const slot = width / columns;
  const letters = clamp(13, slot * 0.35, 25); // the size of words
  // Of a row, over the summit: there stand a word, of one letter size, and the score, of 1.45 (turning.css).
  const sky = 2.45 * letters + 21;
  const land = clamp(60, width * 0.17, 182); // from the ground up to the summit
  const ground = Math.round(sky + land);
  // Under a row's ground stand the numbers of places, 15 down, and the bracket, 33 down, with the card
  // "both" 4 below it (sentence.js). A second row's sky, which is seldom full, begins beside them.
  const shared = 20 * (rows - 1);
  const height = ground + 39 - shared;
  const xIn = (row, position) => (position - row * columns + 0.5) * slot;
  return {
    width,
    slot,
    letters,
    ground, // from a row's upper edge
    height, // from a row to the next
    rows,
    bottom: rows * height + shared,
    foot: 13 + 0.45 * letters, // from the line of a word's letters down to the land
    xIn,
    /** How far from a row's upper edge the landscape is for a score; for one below 0, it is flat. */
    level: (score) => ground - (Math.max(0, score) / BEST) * land,
    /** The center of a place, and the upper edge of its row. */
    place(position) {
      const row = clamp(0, Math.floor((position + 0.5) / columns), rows - 1);
      return [xIn(row, position), row * height];
    },
    /** The position of a point. */
    at(x, y) {
      const row = clamp(0, Math.floor((y - shared) / height), rows - 1);
      return row * columns + x / slot - 0.5;
    },
  };
}

/** The numbers of a ruler's places. */
export const rulerNumbers = ({ ground, place }) =>
  PLACES.map((position) => {
    const [x, top] = place(position);
    return text(x, top + ground + 15, position, middle);
  });

/** A bracket under an interval, as the data of a path; turning.css cuts off what is in another row. */
export function bracketPath({ rows, height, ground, xIn }, low, high) {
  const parts = Array.from({ length: rows }, (_, row) => {
    const [from, to] = [low, high].map((position) => round(xIn(row, position)));
    return `M${from},${row * height + ground + 27}v6H${to}v-6`;
  });
  return parts.join("");
}
