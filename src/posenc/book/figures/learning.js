// A head that learns to look three words back: a film of its training, recorded every three steps.

import { FIELDS, FRAMES } from "./constants.js";
import { element, middle, round, shape, show, text } from "./drawing.js";
import { omega } from "./encoding.js";
import { FIGURES } from "./figure.js";
import { face, hand, pairColor } from "./hands.js";
import { glide } from "./motion.js";
import { beforeControls, drawing, named } from "./scene.js";

const BACK = 3;
const STEPS_APART = 3;
const BARS = 130; // the height of the bars, with
const UNDER = 24; // what is written below them
const LAST_STEP = FIELDS.learning.step.max;
// By the width and base of the model that was filmed, in chapter 3.
const TARGETS = [0, 1, 2, 3].map((pair) => -BACK * omega(pair, 32, 10_000));

/** The film at a step, which may lie between two recorded ones. */
function frameAt(step) {
  const place = step / STEPS_APART;
  const [before, after] = [Math.floor(place), Math.ceil(place)].map((n) => FRAMES[n]);
  const mixed = (a, b) => a + (place % 1) * (b - a);
  return {
    turns: before.turns.map((turn, pair) => turn.map((x, n) => mixed(x, after.turns[pair][n]))),
    weights: before.weights.map((weight, back) => mixed(weight, after.weights[back])),
  };
}

/** One clock: gray, how far it should turn; in its color, how far the head turns it. */
function learner(cx, cy, radius, pair, [up, right]) {
  const size = Math.min(1, Math.hypot(up, right)); // at first, a head hardly asks for anything
  const angle = Math.atan2(up, right);
  const point = (turn, length) => [length * Math.cos(turn), length * Math.sin(turn)];
  return [
    face(cx, cy, radius),
    hand(cx, cy, radius, point(TARGETS[pair], 1), { class: "hand target" }),
    hand(cx, cy, radius, point(angle, size), { class: "hand", stroke: pairColor(pair) }),
    text(cx, cy + radius + 17, `clock ${pair}`, named),
  ];
}

/** The mean weight that a word gives to the words before it, as bars. */
function weightBars(weights, left, width, top) {
  const step = width / weights.length;
  const base = top + BARS - UNDER;
  const tall = BARS - UNDER - 20; // a number stands on the highest bar
  return weights.flatMap((weight, back) => {
    const x = left + (weights.length - 1 - back) * step; // a text runs from left to right
    const size = round(weight * tall);
    return [
      shape("rect", {
        x: x + 3,
        y: base - size,
        width: step - 6,
        height: size,
        class: back === BACK ? "key" : "weight-bar",
      }),
      text(x + step / 2, base + 16, back ? `−${back}` : "here", middle),
      back === BACK ? text(x + step / 2, base - size - 6, show(weight, 2), named) : "",
    ];
  });
}

FIGURES.learning = {
  compute: ({ step }) => frameAt(step),
  build(picture, set, current) {
    const { draw } = drawing(picture, "A head in training: its clocks, and its weights");
    const play = element("button", { type: "button" }, "Play");
    let stop = () => {};
    play.addEventListener("click", () => {
      stop();
      const start = current().step < LAST_STEP ? current().step : 0;
      const run = (share) => set({ step: start + share * (LAST_STEP - start) }, true);
      stop = glide(6000, run, () => set({ step: LAST_STEP }));
    });
    beforeControls(picture, play);
    return (state, { turns, weights }, width, passing, before) => {
      // The film's own states pass; one at rest was set by the reader, or by the text.
      if (before && !passing) stop();
      const isWide = width >= 460;
      const across = isWide ? width / 2 : width;
      const radius = Math.round(Math.min(44, across / 4 / 2 - 4));
      // Beside the bars, they stand on one line with them; under the faces, as under the bars, are names.
      const down = isWide ? BARS - UNDER - radius : radius + 2;
      const height = isWide ? BARS : 2 * radius + 24 + BARS;
      const clocks = turns.map((numbers, pair) =>
        learner(((pair + 0.5) * across) / 4, down, radius, pair, numbers),
      );
      const bars = isWide
        ? weightBars(weights, across + 20, across - 20, 0)
        : weightBars(weights, 0, width, height - BARS);
      draw(width, height, ...clocks, bars);
    };
  },
  say: (_, { weights }) =>
    `After {step} steps of training, the word three back gets ${show(100 * weights[BACK], 0)}% of the weight.`,
};
