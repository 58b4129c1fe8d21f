// Turning's ruler: one row of places, or two on a phone.

import { HEAD, PLACES } from "./attention.js";
import { clamp, middle, round, shape, text } from "./drawing.js";

/** The ruler's geometry, for a width in pixels. Positions may be fractional. */
export function ruler(width) {
  const isPhone = width < 560;
  const columns = isPhone ? HEAD.places / 2 : HEAD.places;
  const slot = width / columns;
  const height = isPhone ? 80 : 100; // of a row
  const rows = HEAD.places / columns;
  const rowOf = (position) => clamp(0, Math.floor((position + 0.5) / columns), rows - 1);
  const xIn = (row, position) => (position - row * columns + 0.5) * slot;
  return {
    width,
    slot,
    height,
    rows,
    bottom: rows * height,
    letters: clamp(13, slot * 0.35, isPhone ? 18 : 25), // the size of words
    bracketTop: isPhone ? 8 : 12, // from a row's upper edge
    wordsAt: height - 50, // the line on which words stand, from there
    foot: 30, // from words down to the ruler's line, on which columns stand
    /** The center of a place, and the upper edge of its row. */
    place(position) {
      const row = rowOf(position);
      return [xIn(row, position), row * height];
    },
    /** The position of a point. */
    at(x, y) {
      const row = clamp(0, Math.floor(y / height), rows - 1);
      return row * columns + x / slot - 0.5;
    },
    /** The part of an interval in each row, as [from, to] in x. */
    spans: (from, to) =>
      Array.from({ length: rows }, (_, row) => [from, to].map((edge) => clamp(0, xIn(row, edge), width))),
  };
}

/** What is drawn of a ruler: its line and its numbers. */
export function rulerLines({ width, height, rows, place }) {
  const places = PLACES.map((position) => place(position));
  const numbers = places.map(([x, top], position) => text(x, top + height - 4, position, middle));
  const ticks = places.map(([x, top]) => `M${x},${top + height - 20}v4`);
  const lines = Array.from({ length: rows }, (_, row) => `M0,${(row + 1) * height - 20}H${width}`);
  return [shape("path", { d: [...lines, ...ticks].join(""), class: "thin faint" }), ...numbers];
}

/** A bracket over an interval, open where it goes on in another row, as the data of a path. */
export function bracketPath({ width, height, bracketTop, spans }, low, high) {
  const parts = spans(low, high).map(([from, to], row) => {
    const y = row * height + bracketTop;
    const start = from > 0 ? `M${round(from)},${y + 8}v-8` : `M0,${y}`;
    const finish = `H${round(to)}${to < width ? "v8" : ""}`;
    return from === to ? "" : start + finish;
  });
  return parts.join("") || "M0,0";
}
