// How much each place counts for the output at the last one, through layers of random weights.

import { end, middle, shape, show, text } from "./drawing.js";
import { FIGURES } from "./figure.js";
import { level } from "./lines.js";
import { easing } from "./motion.js";
import { drawing, named } from "./scene.js";

const INPUTS = Array.from({ length: 128 }, (_, place) => place);
const MIDDLE_INPUT = 64;
const LAST_INPUT = 127;
const WINDOW = 16;
const ATTENDED = 1 / 7; // of a layer's output; the residual connection keeps the rest
const HEAD_SLOPES = [2, 4, 6, 8].map((power) => 2 ** -power); // ALiBi's, of four heads
const RARE = 0.01; // times the mean: what is less is drawn so

const times = (influence, digits) => (influence < RARE ? "under 0.01" : show(influence, digits));

const meanOf = (numbers) => numbers.reduce((sum, number) => sum + number, 0) / numbers.length;

/** The weights that a place gives to all, in a head with a slope. */
function weightsOf(to, slope, isSeen) {
  const weights = INPUTS.map((from) => (isSeen(to, from) ? Math.exp(-slope * Math.abs(to - from)) : 0));
  const total = meanOf(weights) * INPUTS.length;
  return weights.map((weight) => weight / total);
}

/** The weights that each place gives to all (rows), as a mean over heads and random weights. */
function attentionIn({ mask, encoding }, isLocal) {
  const isSeen = (to, from) =>
    (mask === "none" || from <= to) && (!isLocal || Math.abs(to - from) < WINDOW);
  const slopes = encoding === "ALiBi" ? HEAD_SLOPES : [0];
  return INPUTS.map((to) => {
    const heads = slopes.map((slope) => weightsOf(to, slope, isSeen));
    return INPUTS.map((from) => meanOf(heads.map((head) => head[from])));
  });
}

/** Bars up or down from the mean, and what three of them say. */
function influenceBars(influence, x, y) {
  const kinds = (place) => (place === LAST_INPUT ? "asks" : influence[place] > 1 ? "heard" : "unheard");
  const bars = INPUTS.map((place) => {
    const [top, bottom] = [y(influence[place]), y(1)].sort((a, b) => a - b);
    return shape("rect", { x: x(place), y: top, width: x(1) - x(0), height: bottom - top, class: kinds(place) });
  });
  const anchors = { 0: {}, [MIDDLE_INPUT]: middle, [LAST_INPUT]: end };
  const numbers = Object.entries(anchors).map(([place, anchor]) => {
    const across = place < MIDDLE_INPUT ? x(0) : place > MIDDLE_INPUT ? x(INPUTS.length) : x(MIDDLE_INPUT);
    return text(across, y(Math.max(1, influence[place])) - 5, `${times(influence[place], 1)}×`, anchor);
  });
  return [bars, numbers];
}

FIGURES.influence = {
  /** How many times the mean each place counts for the last output. */
  compute(state) {
    const { depth, encoding } = state;
    const [global, local] = [false, true].map((isLocal) => attentionIn(state, isLocal));
    let influence = INPUTS.map((place) => (place === LAST_INPUT ? INPUTS.length : 0));
    for (let layer = Math.round(depth) - 1; layer >= 0; layer--) {
      const isLocal = encoding === "windows" || (encoding === "hybrid" && layer % 2 === 0);
      const attention = isLocal ? local : global;
      const after = influence;
      influence = INPUTS.map((from) => {
        const heard = INPUTS.reduce((sum, to) => sum + after[to] * attention[to][from], 0);
        return (1 - ATTENDED) * after[from] + ATTENDED * heard;
      });
    }
    return { influence };
  },
  build(picture) {
    const height = 250;
    const { draw } = drawing(picture, "How much each place counts for the last output");
    let width;
    const paint = easing(({ influence }) => {
      const [x0, x1, y0, y1] = [44, width, height - 36, 20];
      const x = (place) => x0 + (place / INPUTS.length) * (x1 - x0);
      const share = (times) => Math.log(Math.max(RARE, times) / RARE) / Math.log(INPUTS.length / RARE);
      const y = (times) => y0 - share(times) * (y0 - y1);
      const levels = [0.01, 0.1, 1, 10, 100].map((times) => [
        level(x0, x1, y(times), { class: "thin grid" }),
        text(x0 - 6, y(times) + 4, times === 1 ? "mean" : `${times}×`, end),
      ]);
      const names = [
        text(x0, y0 + 16, "first"),
        text((x0 + x1) / 2, height - 4, "place", named),
        text(x1, y0 + 16, "last", end),
      ];
      draw(width, height, levels, names, influenceBars(influence, x, y));
    });
    return (_, values, newWidth, passing, before) => {
      width = newWidth;
      paint(values, !before);
    };
  },
  say({ depth, mask, encoding }, { influence }) {
    const [first, center, last] = [0, MIDDLE_INPUT, LAST_INPUT].map((place) => times(influence[place], 2));
    const layers = depth === 1 ? "layer" : "layers";
    const isOpen = mask === "none" || depth === 1;
    return (
      `Through {depth} ${layers}, the first place counts ${first} times the mean, the middle ${center}, ` +
      `the last ${last}. ${INFLUENCE_SAYS[encoding](isOpen)}`
    );
  },
};

const byPaths = (isOpen) =>
  isOpen
    ? "All places but the last count alike."
    : "With each layer, more paths lead here from what stands early.";

/** Why, by encoding; `isOpen` says that no mask favors early places yet. */
const INFLUENCE_SAYS = {
  none: byPaths,
  rotary: (isOpen) => `Random scores, turned, are as random as before: the same as without positions. ${byPaths(isOpen)}`,
  ALiBi: (isOpen) => `ALiBi lifts what is near${isOpen ? "." : ", and the first place less."}`,
  windows: () => "Beyond a window of 16, words arrive through several layers, if at all.",
  hybrid: (isOpen) => `Every second layer sees everything${isOpen ? "." : ", so the first place counts again."}`,
};
