// Turning's sentence on the landscape, with the two words that can be moved, alone or by a bracket.

import { FARTHEST, LOOKS_BACK, PLACES } from "./attention.js";
import { clamp, line, middle, place, round, shape } from "./drawing.js";
import { draggable, steppable } from "./motion.js";
import { bracketPath, rulerLines } from "./ruler.js";

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

/** The sentence, a part of Turning: each word stands on the landscape, over a stem from its place. */
export function sentence(svg, set, current) {
  const lines = shape("g", { "aria-hidden": "true" });
  const bracket = shape("path", { class: "bracket" });
  const hold = shape("path", { class: "hold" }); // along the bracket, wide enough for a finger
  const others = OTHERS.map((word) => shape("g", { class: "other" }, line({}), shape("text", middle, word)));
  const stems = { query: line({ class: "query" }), key: line({ class: "key" }) };
  const dot = shape("circle", { class: "dot" }); // of the key's stem
  const goal = shape("rect", { class: "goal" }); // of the guide's first move: where all hands agree
  // The last are on top: a word that dips stays in reach.
  const cards = {
    both: card("both", "‹ both ›", "both, by the bracket"),
    key: card("key", KEY_WORD, `${KEY_WORD}, the key`),
    query: card("query", QUERY_WORD, `${QUERY_WORD}, the query`),
  };
  svg.append(lines, ...others, ...Object.values(stems), dot, goal, bracket, hold, ...Object.values(cards));
  let geometry; // by `arrange`
  const grips = [...Object.entries(cards), ["both", hold], ["key", dot]];
  moveBy(grips, svg, set, current, () => geometry);

  const arrange = (next) => {
    geometry = next;
    lines.replaceChildren(...rulerLines(geometry));
    svg.style.setProperty("--letters", `${geometry.letters}px`);
    for (const node of Object.values(cards)) fit(node.firstChild, node);
    fit(goal, cards.key);
    place(dot, { r: 4 + geometry.letters / 8 });
    for (const { firstChild } of others) place(firstChild, { y1: geometry.foot });
  };
  /** The land at a place, which may be between two, as x, y, and how far it is above the ground. */
  const landAt = (position, score) => {
    const [x, top] = geometry.place(position);
    const level = geometry.level(Math.max(0, score));
    return [round(x), round(top + level), round(geometry.ground - level)];
  };
  /** Put a word on the land at a place, or lower by a dip. */
  const put = (node, position, score, dip = 0) => {
    const [x, y] = landAt(position, score);
    node.style.translate = `${x}px`;
    node.style.transform = `translateY(${y - geometry.foot + dip}px)`;
  };
  const putStem = (stem, position, score) => {
    const [x, y, height] = landAt(position, score);
    place(stem, { x1: x, x2: x, y1: y + height, y2: y });
  };
  const putBracket = (low, high) => {
    for (const path of [bracket, hold]) place(path, { d: bracketPath(geometry, low, high) });
    const [x, top] = geometry.place((low + high) / 2);
    const inside = clamp(27, x, geometry.width - 27);
    cards.both.style.transform = `translate(${round(inside)}px, ${top + geometry.height - 7}px)`;
  };
  const paint = ({ query, key, score, row, curve }) => {
    // The other words take the places that are left, in their order.
    const taken = [Math.round(query), Math.round(key)];
    const free = PLACES.filter((n) => !taken.includes(n));
    others.forEach((node, n) => {
      const height = landAt(free[n], row[free[n]])[2];
      put(node, free[n], row[free[n]]);
      place(node.firstChild, { y2: geometry.foot + height });
    });
    const scoreOfQuery = curve[(curve.length - 1) / 2]; // at distance 0
    putStem(stems.query, query, scoreOfQuery);
    putStem(stems.key, key, score);
    place(dot, { cx: stems.key.getAttribute("x2"), cy: stems.key.getAttribute("y2") });
    put(goal, query - LOOKS_BACK, 8);
    place(goal, { opacity: query < LOOKS_BACK ? 0 : 1 });
    // A key at the query's place dips below it.
    const overlap = Math.max(0, 1 - Math.abs(query - key));
    put(cards.query, query, scoreOfQuery);
    put(cards.key, key, score, overlap * geometry.letters * 1.3);
    const [low, high] = [Math.min(query, key), Math.max(query, key)];
    putBracket(low, high);
    for (const [name, position] of Object.entries({ query, key, both: low })) {
      const rounded = Math.round(position);
      place(cards[name], { "aria-valuenow": rounded, "aria-valuetext": `position ${rounded}` });
    }
  };
  return { arrange, paint };
}
