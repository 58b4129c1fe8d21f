// Turning's ruler: one row of places, or two on a phone.

import { HEAD } from "./attention.js";
import { clamp, level, middle, round, shape, text } from "./drawing.js";

/** The ruler's geometry, for a width in pixels. Positions may be fractional. */
export function ruler(width) {
  const isPhone = width < 560;
  const columns = isPhone ? HEAD.places / 2 : HEAD.places;
  const slot = width / columns;
  const height = isPhone ? 76 : 92; // of a row
  const rows = HEAD.places / columns;
  const rowOf = (position) => clamp(0, Math.floor((position + 0.5) / columns), rows - 1);
  const xIn = (row, position) => (position - row * columns + 0.5) * slot;
  return {
    width,
    slot,
    height,
    rows,
    bottom: rows * height,
    letters: clamp(14, slot * 0.34, 26), // the size of words
    bracketTop: isPhone ? 3 : 11, // from a row's upper edge
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

/** What is drawn of a ruler: its lines, its numbers, and the band beyond the trained length. */
export function rulerLines({ width, slot, height, rows, place }) {
  const numbers = Array.from({ length: HEAD.places }, (_, position) => {
    const [x, top] = place(position);
    return text(x, top + height - 8, position, middle);
  });
  const lines = Array.from({ length: rows }, (_, row) =>
    level(0, width, (row + 1) * height - 21, { class: "thin grid" }),
  );
  const [center, top] = place(HEAD.trained);
  const x = center - slot / 2;
  const band = { x, y: top + 21, width: width - x, height: height - 23, class: "beyond" };
  const words = text(x + 6, top + height - 32, "longer than in training", { class: "longer" });
  return [shape("rect", band), words, ...lines, ...numbers];
}

/** A bracket over an interval, open where it goes on in another row, as the data of a path. */
export function bracketPath({ width, height, bracketTop, spans }, low, high) {
  const parts = spans(low, high).map(([from, to], row) => {
    const y = row * height + bracketTop;
    const start = from > 0 ? `${y + 7}V${y}` : y;
    const finish = to < width ? `V${y + 7}` : "";
    return from === to ? "" : `M${round(from)},${start}H${round(to)}${finish}`;
  });
  return parts.join("") || "M0,0";
}
