// Turning's sentence on a ruler, with the two words that can be moved.

import { DISTANCES, FARTHEST, HEAD } from "./attention.js";
import { clamp, level, middle, place, round, shape, text } from "./drawing.js";
import { draggable, steppable } from "./motion.js";

const SENTENCE = ["the", "dog", "saw", "a", "cat", "and", "ran", "home"];
export const KEY_WORD = "dog";
export const QUERY_WORD = "ran";

/** The ruler's geometry: one row of places, or two on a phone. */
export function ruler(width) {
  const columns = width < 560 ? HEAD.places / 2 : HEAD.places;
  const slot = width / columns;
  const height = width < 560 ? 82 : 92;
  const rows = HEAD.places / columns;
  const rowOf = (position) => clamp(0, Math.floor((position + 0.5) / columns), rows - 1);
  return {
    width,
    slot,
    height,
    bottom: rows * height,
    letters: clamp(15, slot * 0.38, 26),
    lift: width < 560 ? 1 : 11, // of the bracket, from a row's upper edge
    rowOf,
    /** The center of a place, and the upper edge of its row. */
    place: (position) => [
      (position - rowOf(position) * columns + 0.5) * slot,
      rowOf(position) * height,
    ],
    /** The position of a point, fractional. */
    at(x, y) {
      const row = clamp(0, Math.floor(y / height), rows - 1);
      return row * columns + x / slot - 0.5;
    },
    /** The part of a bracket in each row, as [from, to] in x. */
    spans: (from, to) =>
      Array.from({ length: rows }, (_, row) => [
        clamp(0, (from - row * columns + 0.5) * slot, width),
        clamp(0, (to - row * columns + 0.5) * slot, width),
      ]),
  };
}

/**
 * Words on the ruler, with the two that can be moved, and the bracket that moves both.
 * Order: `arrange(width)` before the first `paint`, and a pointer only after it: both read the
 * ruler's geometry, which `arrange` makes.
 */
export function sentence(svg, set, current) {
  const ticks = shape("g", { class: "ticks", "aria-hidden": "true" });
  const bracket = shape("path", { class: "bracket" });
  const others = SENTENCE.filter((word) => word !== KEY_WORD && word !== QUERY_WORD).map((word) =>
    shape("text", { ...middle, class: "other" }, word),
  );
  const card = (name, words, label) => {
    const back = shape("rect", { rx: 6 });
    const front = shape("text", middle, words);
    const limits = { "aria-valuemin": 0, "aria-valuemax": FARTHEST, "aria-label": label };
    return shape("g", { class: `card ${name}`, role: "slider", tabindex: 0, ...limits }, back, front);
  };
  const cards = {
    key: card("key", KEY_WORD, `${KEY_WORD}, the key`),
    query: card("query", QUERY_WORD, `${QUERY_WORD}, the query`),
    both: card("both", "‹ both ›", "both, by the bracket"),
  };
  svg.append(ticks, ...others, bracket, ...Object.values(cards));

  let geometry; // by `arrange`
  /** Set the positions that a grip moves; it moves both, as far as the ruler reaches. */
  const move = (name, start, by, passing) => {
    const names = name === "both" ? ["query", "key"] : [name];
    const places = names.map((one) => start[one]);
    const step = clamp(-Math.min(...places), by, FARTHEST - Math.max(...places));
    const rest = (number) => (passing ? number : Math.round(number));
    set(Object.fromEntries(names.map((one) => [one, rest(start[one] + step)])), passing);
  };
  for (const [name, grip] of Object.entries(cards)) {
    steppable(grip, (by) => move(name, current(), by));
    draggable(
      grip,
      svg,
      (...point) => {
        const start = current();
        const from = geometry.at(...point);
        return (...next) => move(name, start, geometry.at(...next) - from, true);
      },
      () => move(name, current(), 0),
    );
  }

  const arrange = (width) => {
    geometry = ruler(width);
    const { place: center, height, slot } = geometry;
    const marks = Array.from({ length: HEAD.places }, (_, position) => {
      const [x, top] = center(position);
      return text(x, top + height - 8, position, { ...middle, class: "tick" });
    });
    const [x, top] = center(HEAD.trained);
    const band = { x: x - slot / 2, y: top + 21, width: width - x + slot / 2, height: height - 23 };
    const longer = text(band.x + 6, top + height - 32, "longer than in training", { class: "longer" });
    const scale = geometry.spans(-0.5, FARTHEST + 0.5).map(([from, to], row) =>
      level(from, to, (row + 1) * height - 21, { class: "thin grid" }),
    );
    ticks.replaceChildren(shape("rect", { ...band, class: "beyond" }), longer, ...scale, ...marks);
    svg.style.setProperty("--letters", `${geometry.letters}px`);
    for (const { firstChild: back, lastChild: word } of Object.values(cards)) {
      const [wide, high] = [word.getComputedTextLength() + 14, 1.5 * parseFloat(getComputedStyle(word).fontSize)];
      place(back, { x: -wide / 2, y: -0.72 * high, width: wide, height: high });
    }
  };

  const put = (node, position, hop = 0) => {
    const [x, top] = geometry.place(position);
    node.style.transform = `translate(${x}px, ${top + geometry.height - 36 - hop}px)`;
  };
  /** Put the words where they are now, which may be between two places. */
  const paint = ([query], [key]) => {
    // The other words take the places that are left, in their order.
    const taken = [Math.round(query), Math.round(key)];
    const free = DISTANCES.filter((n) => n >= 0 && n % 1 === 0 && !taken.includes(n));
    others.forEach((word, n) => put(word, free[n]));
    // A key at the query's place hops over it.
    const overlap = Math.max(0, 1 - Math.abs(query - key));
    put(cards.query, query);
    put(cards.key, key, overlap * geometry.letters * 1.3);
    const [low, high] = [Math.min(query, key), Math.max(query, key)];
    const { lift } = geometry;
    const spans = geometry.spans(low, high).map(([from, to], row) => {
      const y = row * geometry.height + lift;
      const [start, finish] = [from > 0 ? `${y + 7}V${y}` : y, to < geometry.width ? `V${y + 7}` : ""];
      return from === to ? "" : `M${round(from)},${start}H${round(to)}${finish}`;
    });
    place(bracket, { d: spans.join("") || "M0,0" });
    const [x, top] = geometry.place((low + high) / 2);
    const inside = clamp(24, x, geometry.width - 24);
    cards.both.style.transform = `translate(${round(inside)}px, ${top + lift + 4}px)`;
    describe({ query, key, both: low });
  };
  const described = {}; // what assistive technology was told last, by card
  const describe = (positions) => {
    for (const [name, position] of Object.entries(positions)) {
      const rounded = Math.round(position);
      if (described[name] === rounded) continue;
      described[name] = rounded;
      place(cards[name], { "aria-valuenow": rounded, "aria-valuetext": `position ${rounded}` });
    }
  };
  return { arrange, paint };
}
