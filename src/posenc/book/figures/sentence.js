// Turning's sentence on a ruler, with the two words that can be moved, alone or by a bracket.

import { FARTHEST, LOOKS_BACK, PLACES } from "./attention.js";
import { clamp, middle, place, round, shape } from "./drawing.js";
import { draggable, steppable } from "./motion.js";
import { bracketPath, ruler, rulerLines } from "./ruler.js";

const SENTENCE = ["the", "dog", "saw", "a", "cat", "and", "ran", "home"];
export const KEY_WORD = "dog";
export const QUERY_WORD = "ran";
const OTHERS = SENTENCE.filter((word) => word !== KEY_WORD && word !== QUERY_WORD);

/** A word in a frame, which a pointer or keys can move. */
function card(name, words, label) {
  const limits = { "aria-valuemin": 0, "aria-valuemax": FARTHEST, "aria-label": label };
  const parts = [shape("rect"), shape("text", middle, words)];
  return shape("g", { class: `card ${name}`, role: "slider", tabindex: 0, ...limits }, ...parts);
}

/** Make a frame as large as a card's word. */
function fit(frame, { lastChild: word }) {
  const high = 1.5 * parseFloat(getComputedStyle(word).fontSize);
  const wide = word.getComputedTextLength() + 0.6 * high;
  place(frame, { x: -wide / 2, y: -0.7 * high, width: wide, height: high, rx: high / 3 });
}

/**
 * Let grips, pairs of a name and an element, move the query, the key, or both, as far as the ruler
 * reaches. `geometry()` is the ruler of now.
 */
function moveBy(grips, svg, set, current, geometry) {
  /** Move from a state by a distance. */
  const move = (name, start, by, passing) => {
    const names = name === "both" ? ["query", "key"] : [name];
    const places = names.map((one) => start[one]);
    const step = clamp(-Math.min(...places), by, FARTHEST - Math.max(...places));
    set(Object.fromEntries(names.map((one) => [one, start[one] + step])), passing);
  };
  for (const [name, grip] of grips) {
    steppable(grip, (by) => move(name, current(), by));
    draggable(
      grip,
      svg,
      (...point) => {
        const start = current();
        const from = geometry().at(...point);
        return (...next) => move(name, start, geometry().at(...next) - from, true);
      },
      () => set({}),
    );
  }
}

/** The sentence, a part of Turning; `arrange` returns its lower edge. */
export function sentence(svg, set, current) {
  const lines = shape("g", { "aria-hidden": "true" });
  const bracket = shape("path", { class: "bracket" });
  const hold = shape("path", { class: "hold" }); // along the bracket, wide enough for a finger
  // Words stand on columns, as high as the score that the query gives to each.
  const column = () => shape("rect", { class: "column" });
  const others = OTHERS.map((word) => shape("g", { class: "other" }, column(), shape("text", middle, word)));
  const keyColumn = shape("g", {}, column());
  // For the guide's first move: where all hands agree, and what columns are.
  const goal = shape("rect", { class: "first" });
  const note = shape("text", { class: "first" }, `Columns: how much ${QUERY_WORD} looks at each word`);
  // The last are on top: a word that hops stays in reach.
  const cards = {
    both: card("both", "‹ both ›", "both, by the bracket"),
    key: card("key", KEY_WORD, `${KEY_WORD}, the key`),
    query: card("query", QUERY_WORD, `${QUERY_WORD}, the query`),
  };
  svg.append(lines, note, ...others, keyColumn, goal, bracket, hold, ...Object.values(cards));
  let geometry; // by `arrange`
  const grips = [...Object.entries(cards), ["both", hold]];
  moveBy(grips, svg, set, current, () => geometry);

  const arrange = (width) => {
    geometry = ruler(width);
    lines.replaceChildren(...rulerLines(geometry));
    svg.style.setProperty("--letters", `${geometry.letters}px`);
    for (const node of Object.values(cards)) fit(node.firstChild, node);
    fit(goal, cards.key);
    const [x, top] = geometry.place(SENTENCE.length);
    place(note, { x: x - geometry.slot / 3, y: top + geometry.wordsAt + 22 });
    for (const { firstChild } of [...others, keyColumn])
      place(firstChild, { x: -0.45 * geometry.slot, width: 0.9 * geometry.slot });
    return geometry.bottom;
  };
  /** Put a word on a place, which may be between two, or hopping above it. */
  const put = (node, position, hop = 0) => {
    const [x, top] = geometry.place(position);
    node.style.transform = `translate(${x}px, ${top + geometry.wordsAt - hop}px)`;
  };
  const putBracket = (low, high) => {
    for (const path of [bracket, hold]) place(path, { d: bracketPath(geometry, low, high) });
    const [x, top] = geometry.place((low + high) / 2);
    const inside = clamp(27, x, geometry.width - 27);
    cards.both.style.transform = `translate(${round(inside)}px, ${top + geometry.bracketTop + 4}px)`;
  };
  /** Put what stands on a column, its first child, on a place. */
  const putOn = (node, position, score) => {
    put(node, position);
    const height = round(2.5 * Math.max(0, score));
    place(node.firstChild, { y: geometry.foot - height, height });
  };
  const paint = ({ query, key, score, row }) => {
    // The other words take the places that are left, in their order.
    const taken = [Math.round(query), Math.round(key)];
    const free = PLACES.filter((n) => !taken.includes(n));
    others.forEach((node, n) => putOn(node, free[n], row[free[n]]));
    putOn(keyColumn, key, score);
    put(goal, query - LOOKS_BACK);
    place(goal, { opacity: query < LOOKS_BACK ? 0 : 1 });
    // A key at the query's place hops over it.
    const overlap = Math.max(0, 1 - Math.abs(query - key));
    put(cards.query, query);
    put(cards.key, key, overlap * geometry.letters * 1.3);
    const [low, high] = [Math.min(query, key), Math.max(query, key)];
    putBracket(low, high);
    for (const [name, position] of Object.entries({ query, key, both: low })) {
      const rounded = Math.round(position);
      place(cards[name], { "aria-valuenow": rounded, "aria-valuetext": `position ${rounded}` });
    }
  };
  return { arrange, paint };
}
