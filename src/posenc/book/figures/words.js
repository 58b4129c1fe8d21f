// Three words of width 4, and attention whose queries, keys and values are the words themselves.

import { shade } from "./colors.js";
import { assign, clamp, line, middle, round, shape, show, text, write } from "./drawing.js";
import { FIGURES } from "./figure.js";
import { draggable, easing, steppable } from "./motion.js";
import { drawing, named } from "./scene.js";
import { encode } from "./table.js";

const EMBEDDED = { dog: [2, 0, 0, 1], bites: [0, 1, 1, 0], man: [1, 1, 0, 0] };
const FIRST = Object.keys(EMBEDDED);
// Heights in the picture: a card's lower edge, the upper one of the cells of its output, and all.
const CARD = 48;
const CELLS = 150;
const HEIGHT = 210;
const LARGEST = 3; // output: a word's 2, and a sine or cosine of at most 1

/** The attention weights and outputs of three words, row by row. */
function attend(words, positions) {
  const encoding = positions === "on" ? encode(3, 4, 10_000) : new Float64Array(12);
  const rows = words.map((word, k) => EMBEDDED[word].map((x, j) => x + encoding[4 * k + j]));
  const weights = rows.map((query) => {
    const scores = rows.map((key) => Math.exp(query.reduce((sum, x, j) => sum + x * key[j], 0)));
    return scores.map((score) => score / scores.reduce((sum, other) => sum + other));
  });
  const outputs = weights.map((row) =>
    [0, 1, 2, 3].map((j) => row.reduce((sum, weight, m) => sum + weight * rows[m][j], 0)),
  );
  return { weights, outputs };
}

/**
 * What is drawn of a state, in the first order of words, so that a word keeps its card: where each
 * stands, its output, and the weight that it (row) gives to each (column). Flat, for `easing`.
 */
function inFirstOrder(order, { weights, outputs, changes }) {
  const words = order.split(" ");
  const slots = FIRST.map((word) => words.indexOf(word));
  return {
    slots,
    weights: slots.flatMap((to) => slots.map((from) => weights[to][from])),
    outputs: slots.flatMap((slot) => outputs[slot]),
    changes,
  };
}

/** A word that can be dragged, and the four colored cells of its output, which go with it. */
function wordCard(svg, word) {
  const tint = { dog: "key", man: "query" }[word] ?? ""; // as in Turning
  const label = { role: "slider", tabindex: 0, "aria-label": word, "aria-valuemin": 1, "aria-valuemax": 3 };
  const back = shape("rect", { x: -50, y: 10, width: 100, height: CARD - 10, rx: 6 });
  const grip = shape("g", { class: `card ${tint}`, ...label }, back, text(0, CARD - 12, word, named));
  const cells = [0, 1, 2, 3].map((n) =>
    shape("rect", { x: 26 * n - 51, y: CELLS, width: 24, height: 30, class: "mapped" }),
  );
  const change = text(0, CELLS + 50, "", middle);
  const group = shape("g", {}, grip, ...cells, change);
  svg.append(group);
  return { word, grip, cells, change, group };
}

/** Show a card at a place, with its output and how far that is from the first order's. */
function showCard({ cells, change, group }, x, output, by) {
  group.style.transform = `translateX(${round(x)}px)`;
  cells.forEach((cell, j) => assign(cell, { fill: shade(output[j] / LARGEST) }));
  write(change, by < 0.005 ? "the same output" : `changed by ${show(by, 2)}`);
}

/** Lines from all words to all outputs; the thicker one is, the more of the word goes in. */
function weightLines(places, weights) {
  return places.flatMap((x2, to) =>
    places.map((x1, from) => {
      const style = `stroke-width: ${round(10 * weights[3 * to + from])}px`;
      return line({ x1, y1: CARD + 12, x2, y2: CELLS - 12, class: "weight", style });
    }),
  );
}

/**
 * Let words change places with others, by keys and by a pointer; `slotWidth()` is in pixels. Return
 * a function of a word: the slot, fractional, at which a pointer holds it, if one does.
 */
function moveWords(cards, svg, set, current, slotWidth) {
  const wordsNow = () => current().order.split(" ");
  /** Swap the word at a slot of an order with that at another slot; in a drag, it is `passing`. */
  const swap = (words, slot, other, passing) => {
    const target = clamp(0, other, 2);
    set({ order: words.with(slot, words[target]).with(target, words[slot]).join(" ") }, passing);
  };
  let held = {};
  for (const { word, grip } of cards) {
    const take = (from) => {
      const words = wordsNow();
      const start = words.indexOf(word);
      return (to) => {
        const slot = clamp(-0.5, start + (to - from) / slotWidth(), 2.5);
        held = { word, slot };
        swap(words, start, Math.round(slot), true);
      };
    };
    const drop = () => {
      held = {};
      set({}); // at rest, the word glides into its slot
    };
    draggable(grip, svg, take, drop);
    steppable(grip, (by) => {
      const slot = wordsNow().indexOf(word);
      swap(wordsNow(), slot, slot + by);
    });
  }
  return (word) => (held.word === word ? held.slot : undefined);
}

FIGURES.words = {
  grips: ["order"],
  compute({ order, positions }) {
    const words = order.split(" ");
    const { weights, outputs } = attend(words, positions);
    const before = attend(FIRST, positions).outputs;
    const changes = FIRST.map((word, n) =>
      Math.max(...before[n].map((x, j) => Math.abs(x - outputs[words.indexOf(word)][j]))),
    );
    return { weights, outputs, changes };
  },
  build(picture, set, current) {
    const { svg, draw } = drawing(picture, "Three words, what each attends to, and its output");
    svg.setAttribute("role", "group");
    const cards = FIRST.map((word) => wordCard(svg, word));
    let slotWidth; // as drawn last
    const heldAt = moveWords(cards, svg, set, current, () => slotWidth);
    const paint = easing(({ slots, weights, outputs, changes }) => {
      // A word follows its pointer at once. Noted in what is shown, its slot is where it glides from later.
      FIRST.forEach((word, n) => (slots[n] = heldAt(word) ?? slots[n]));
      const places = slots.map((slot) => (slot + 0.5) * slotWidth);
      draw(3 * slotWidth, HEIGHT, weightLines(places, weights));
      cards.forEach((card, n) => showCard(card, places[n], outputs.slice(4 * n, 4 * n + 4), changes[n]));
    });
    return ({ order }, values, width, passing, before) => {
      slotWidth = Math.max(112, width / 3); // at 320 pixels, all is smaller
      const shown = inFirstOrder(order, values);
      shown.slots.forEach((slot, n) =>
        assign(cards[n].grip, { "aria-valuenow": slot + 1, "aria-valuetext": `word ${slot + 1} of 3` }),
      );
      paint(shown, !before);
    };
  },
  say({ order, positions }, { changes }) {
    const start = `With positions {positions}, “${order}.” `;
    if (order === FIRST.join(" ")) return `${start}Move a word, and compare its output.`;
    if (Math.max(...changes) < 1e-9) return `${start}Each output has only moved with its word: the order doesn’t count.`;
    return `${start}The outputs have changed: the order counts.`;
  },
};
