// Turning's ruler: one row of places, or two on a phone.

import { HEAD } from "./attention.js";
import { clamp, end, middle, round, shape, text } from "./drawing.js";

/** The ruler's geometry, for a width in pixels. Positions may be fractional. */
export function ruler(width) {
  const isPhone = width < 560;
  const columns = isPhone ? HEAD.places / 2 : HEAD.places;
  const slot = width / columns;
  const height = isPhone ? 66 : 88; // of a row
  const rows = HEAD.places / columns;
  const rowOf = (position) => clamp(0, Math.floor((position + 0.5) / columns), rows - 1);
  const xIn = (row, position) => (position - row * columns + 0.5) * slot;
  return {
    width,
    slot,
    height,
    rows,
    bottom: rows * height,
    letters: clamp(13, slot * 0.37, isPhone ? 18 : 25), // the size of words
    bracketTop: isPhone ? 8 : 12, // from a row's upper edge
    wordsAt: height - 33, // the line on which words stand, from there
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

/** What is drawn of a ruler: its line and its numbers, and the band beyond training. */
export function rulerLines({ width, slot, height, rows, place }) {
  const places = Array.from({ length: HEAD.places }, (_, position) => place(position));
  const numbers = places.map(([x, top], position) => text(x, top + height - 4, position, middle));
  const ticks = places.map(([x, top]) => `M${x},${top + height - 20}v4`);
  const lines = Array.from({ length: rows }, (_, row) => `M0,${(row + 1) * height - 20}H${width}`);
  const [center, top] = places[HEAD.trained];
  const x = center - slot / 2;
  const band = { x, y: top + 16, width: width - x, height: height - 36, class: "beyond" };
  const [from, anchor, below] = rows > 1 ? [width, end, 14] : [x, {}, 22];
  const words = text(from, rows * height + below, "beyond training", { ...anchor, class: "beyond" });
  return [
    shape("rect", band),
    words,
    shape("path", { d: [...lines, ...ticks].join(""), class: "thin faint" }),
    ...numbers,
  ];
}

/** A bracket over an interval, open where it goes on in another row, as the data of a path. */
export function bracketPath({ width, height, bracketTop, spans }, low, high) {
  const parts = spans(low, high).map(([from, to], row) => {
    const y = row * height + bracketTop;
    const bend = round(Math.min(8, (to - from) / 2));
    const start = from > 0 ? `${round(from)},${y + 8}q0,-8 ${bend},-8` : `0,${y}`;
    const finish = to < width ? `${round(to - bend)}q${bend},0 ${bend},8` : width;
    return from === to ? "" : `M${start}H${finish}`;
  });
  return parts.join("") || "M0,0";
}
