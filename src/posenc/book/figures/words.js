// Three words of width 4, and attention whose queries, keys and values are the words themselves.

import { shade } from "./colors.js";
import { clamp, line, middle, place, round, shape, show, text } from "./drawing.js";
import { FIGURES } from "./figure.js";
import { draggable, easing, steppable } from "./motion.js";
import { drawing } from "./scene.js";
import { encode } from "./table.js";

const EMBEDDED = { dog: [2, 0, 0, 1], bites: [0, 1, 1, 0], man: [1, 1, 0, 0] };
const FIRST = Object.keys(EMBEDDED);

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
  const label = { role: "slider", tabindex: 0, "aria-label": word, "aria-valuemin": 1, "aria-valuemax": 3 };
  const back = shape("rect", { x: -50, y: 10, width: 100, height: 38, rx: 6 });
  const card = shape("g", { class: "card", ...label }, back, text(0, 36, word, middle));
  const cells = [0, 1, 2, 3].map((n) =>
    shape("rect", { x: 26 * n - 52, y: 150, width: 25, height: 30, class: "mapped" }),
  );
  const change = text(0, 200, "", { ...middle, class: "soft" });
  const group = shape("g", {}, card, ...cells, change);
  svg.append(group);
  return { card, cells, change, group };
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
    const { svg, height, draw } = drawing(picture, "Three words, what each attends to, and its output", 210);
    svg.setAttribute("role", "group");
    const cards = FIRST.map((word) => wordCard(svg, word));
    const slotOf = (word) => current().order.split(" ").indexOf(word);
    const move = (word, slot) => {
      const others = current().order.split(" ").filter((other) => other !== word);
      set({ order: others.toSpliced(clamp(0, slot, 2), 0, word).join(" ") });
    };
    let step; // the width of a slot, as drawn last
    let held; // the word under the pointer, and how far it is from its slot
    FIRST.forEach((word, n) => {
      steppable(cards[n].card, (by) => move(word, slotOf(word) + by));
      draggable(
        cards[n].card,
        svg,
        (from) => {
          const start = slotOf(word);
          return (to) => {
            const slot = clamp(-0.5, start + (to - from) / step, 2.5);
            held = { word, slot };
            move(word, Math.round(slot));
          };
        },
        () => {
          held = undefined;
          set({}); // draws once more, at rest: the word glides into its slot
        },
      );
    });
    const paint = easing(({ slots, weights, outputs, changes }) => {
      const at = (n) => ((held?.word === FIRST[n] ? held.slot : slots[n]) + 0.5) * step;
      // The thicker a line, the more of a word goes into an output.
      const lines = FIRST.flatMap((_, to) =>
        FIRST.map((_, from) =>
          line({
            x1: at(from),
            y1: 50,
            x2: at(to),
            y2: 146,
            class: "weight",
            style: `stroke-width: ${round(16 * weights[3 * to + from])}px`,
          }),
        ),
      );
      draw(3 * step, height, lines);
      cards.forEach(({ cells, change, group }, n) => {
        group.style.transform = `translateX(${round(at(n))}px)`;
        cells.forEach((cell, j) => cell.setAttribute("fill", shade(outputs[4 * n + j] / 5)));
        change.textContent = changes[n] < 0.005 ? "the same output" : `changed by ${show(changes[n], 2)}`;
      });
    });
    let drawnWidth;
    return ({ order }, values, width) => {
      step = width / 3;
      const shown = inFirstOrder(order, values);
      shown.slots.forEach((slot, n) =>
        place(cards[n].card, { "aria-valuenow": slot + 1, "aria-valuetext": `word ${slot + 1} of 3` }),
      );
      paint(shown, drawnWidth !== width);
      drawnWidth = width;
    };
  },
  say({ order, positions }, { changes }) {
    const start = `With positions {positions}, “${order}”. `;
    if (order === FIRST.join(" ")) return `${start}Move a word, and compare its output.`;
    if (Math.max(...changes) < 1e-9) return `${start}Each output has only moved with its word: the order doesn’t count.`;
    return `${start}The outputs have changed: the order counts.`;
  },
};
