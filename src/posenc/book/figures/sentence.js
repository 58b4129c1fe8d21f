// Turning's sentence on the landscape, with the two words that can be moved, alone or by a bracket.

import { FARTHEST, LOOKS_BACK, PLACES } from "./attention.js";
import { assign, clamp, line, middle, round, shape } from "./drawing.js";
import { movable } from "./moving.js";
import { BEST, bracketPath, rulerNumbers } from "./ruler.js";

// “the dog saw a cat and ran home as it was cold and the sun set”
export const KEY_WORD = "dog";
export const QUERY_WORD = "ran";
const OTHERS = "the saw a cat and home as it was cold and the sun set".split(" ");

/** A word in a frame, which a pointer or keys can move. */
function makeCard(name, words, label) {
  const attributes = {
    class: `card ${name}`,
    role: "slider",
    tabindex: 0,
    "aria-valuemin": 0,
    "aria-valuemax": FARTHEST,
    "aria-label": label,
  };
  return shape("g", attributes, shape("rect"), shape("text", middle, words));
}

/** Make a card's frame, or another, as large as its word. */
function fit({ firstChild, lastChild: word }, frame = firstChild) {
  const height = 1.5 * parseFloat(getComputedStyle(word).fontSize);
  const width = word.getComputedTextLength() + 0.6 * height;
  assign(frame, { x: -width / 2, y: -0.7 * height, width, height, rx: height / 3 });
}

/** A part of Turning: each word stands on the landscape, the query and the key over a stem. */
export function sentence(svg, set, current) {
  const numbers = shape("g", { "aria-hidden": "true" });
  // In groups, since a text that moves by itself is laid out again.
  const others = OTHERS.map((word) => shape("g", { class: "other" }, shape("text", middle, word)));
  const stems = { query: line({ class: "query" }), key: line({ class: "key" }) };
  const dot = shape("circle", { class: "key dot" }); // on the key's stem
  const goal = shape("rect", { class: "key goal" }); // of the guide's first move: where all hands agree
  const bracket = shape("path", { class: "bracket faint" });
  const hold = shape("path", { class: "hold" }); // along the bracket, wide enough for a finger
  // The last are on top: a word that dips below the other stays in reach.
  const cards = {
    both: makeCard("both", "‹ both ›", "both, by the bracket"),
    key: makeCard("key", KEY_WORD, `${KEY_WORD}, the key`),
    query: makeCard("query", QUERY_WORD, `${QUERY_WORD}, the query`),
  };
  svg.append(numbers, ...others, ...Object.values(stems), dot, goal, bracket, hold, ...Object.values(cards));
  let geometry; // by `arrange`
  const move = (names, ...grips) => {
    for (const grip of grips) movable(grip, names, svg, set, current, (x, y) => geometry.at(x, y));
  };
  move(["query"], cards.query);
  move(["key"], cards.key, dot);
  move(["query", "key"], cards.both, hold);

  const arrange = (next) => {
    geometry = next;
    numbers.replaceChildren(...rulerNumbers(geometry));
    svg.style.setProperty("--letters", `${geometry.letters}px`);
    for (const card of Object.values(cards)) fit(card);
    fit(cards.key, goal);
    assign(dot, { r: 4 + geometry.letters / 8 });
  };
  /** Where the land is at a place, which may be between two, and how high it is there. */
  const landAt = (position, score) => {
    const [x, top] = geometry.place(position);
    const level = geometry.level(score);
    return { x: round(x), y: round(top + level), height: round(geometry.ground - level) };
  };
  /**
   * Put a word on the land, or lower by a dip. Of the other words, turning.css eases `translate`: they
   * slide along, while their height, by `transform`, follows the land at once.
   */
  const put = (node, { x, y }, dip = 0) => {
    node.style.translate = `${x}px`;
    node.style.transform = `translateY(${y - geometry.foot + dip}px)`;
  };
  const putStem = (stem, { x, y, height }) => assign(stem, { x1: x, x2: x, y1: y + height, y2: y });
  /** The other words take the places that are left, in their order; a card that passes one hides it. */
  const putOthers = (cardsAt, row) => {
    const taken = cardsAt.map(Math.round);
    const free = PLACES.filter((position) => !taken.includes(position));
    others.forEach((node, n) => {
      put(node, landAt(free[n], row[free[n]]));
      const nearest = Math.min(...cardsAt.map((position) => Math.abs(position - free[n])));
      node.style.opacity = clamp(0, 4 * nearest - 2.6, 1);
    });
  };
  const putBracket = (low, high) => {
    const d = bracketPath(geometry, low, high);
    for (const path of [bracket, hold]) assign(path, { d });
    // Of a short bracket, the handle leaves both ends.
    const handle = (high - low) * geometry.slot < 72 ? "‹ ›" : "‹ both ›";
    const words = cards.both.lastChild;
    if (words.textContent !== handle) {
      words.textContent = handle;
      fit(cards.both);
    }
    const [x, top] = geometry.place((low + high) / 2);
    const inside = clamp(27, x, geometry.width - 27);
    cards.both.style.transform = `translate(${round(inside)}px, ${top + geometry.ground + 37}px)`;
  };
  const paint = ({ query, key, score, row, curve }) => {
    putOthers([query, key], row);
    // In the middle, at distance 0, the curve has the score at the query.
    const lands = { query: landAt(query, curve[(curve.length - 1) / 2]), key: landAt(key, score) };
    for (const [name, stem] of Object.entries(stems)) putStem(stem, lands[name]);
    assign(dot, { cx: lands.key.x, cy: lands.key.y });
    put(goal, landAt(query - LOOKS_BACK, BEST));
    const isThere = Math.abs(query - LOOKS_BACK - key) < 0.5;
    assign(goal, { opacity: isThere || query < LOOKS_BACK ? 0 : 1 });
    // A key at the query's place dips below it.
    const overlap = Math.max(0, 1 - Math.abs(query - key));
    put(cards.query, lands.query);
    put(cards.key, lands.key, overlap * geometry.letters * 1.3);
    const [low, high] = [Math.min(query, key), Math.max(query, key)];
    putBracket(low, high);
    assign(cards.both, { "aria-valuemax": Math.round(FARTHEST - high + low) });
    for (const [name, position] of Object.entries({ query, key, both: low })) {
      const rounded = Math.round(position);
      assign(cards[name], { "aria-valuenow": rounded, "aria-valuetext": `position ${rounded}` });
    }
  };
  return { arrange, paint };
}
