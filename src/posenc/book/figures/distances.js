// How far all positions are from one, as binary digits and as pairs: digits jump, pairs don't.

import { axes } from "./axes.js";
import { PAIRS } from "./constants.js";
import { assign, end, shape, show, text } from "./drawing.js";
import { omegas } from "./encoding.js";
import { FIGURES } from "./figure.js";
import { path } from "./lines.js";
import { drawing } from "./scene.js";

const LINE = Array.from({ length: 64 }, (_, k) => k);

FIGURES.distances = {
  /** Distances of all positions from one, by digits and by pairs; of two neighbors by pairs, `step`. */
  compute({ d_model, base, position }) {
    const here = Math.round(position);
    const flips = (k) => (k ^ here).toString(2).replaceAll("0", "").length;
    const frequencies = omegas(d_model, base);
    // Two hands, apart by an angle, have tips 2 sin(angle / 2) apart.
    const chord = (offset) =>
      Math.hypot(...frequencies.map((frequency) => 2 * Math.sin((frequency * offset) / 2)));
    return {
      step: chord(1),
      digits: LINE.map((k) => Math.sqrt(flips(k))),
      pairs: LINE.map((k) => chord(k - position)),
    };
  },
  build(picture, set, current) {
    const height = 260;
    const { draw, grip } = drawing(picture, "Distance of all positions from one");
    let unit;
    const dot = grip(
      "position",
      (from) => {
        const { position } = current();
        return (to) => set({ position: position + (to - from) / unit }, true);
      },
      () => set({}),
    );
    return ({ d_model, position }, { digits, pairs }, width) => {
      const { x, y, frame } = axes(width, height, 30, 63, [0, Math.ceil(Math.sqrt(2 * d_model))], "position");
      unit = x(1) - x(0);
      const [bits, hands] = [digits, pairs].map((far) => far.map((distance, k) => [x(k), y(distance)]));
      draw(
        width,
        height,
        frame,
        path(bits, { class: "curve" }),
        bits.map(([cx, cy]) => shape("circle", { cx, cy, r: 3, fill: "currentColor" })),
        path(hands, { stroke: PAIRS[2], "stroke-width": 3 }),
        text(x(0), 14, "as binary digits", { class: "name" }),
        text(x(63), 14, "as clocks", { ...end, class: "name", style: `fill: ${PAIRS[2]}` }),
      );
      assign(dot, { cx: x(position), cy: y(0) });
    };
  },
  say({ position }, { digits, step }) {
    const here = Math.round(position); // in a drag, a position may lie between two
    const jump = digits[here + 1];
    const flips = Math.round(jump ** 2);
    return (
      `One step on from {position|${here}}, ${flips} digit${flips === 1 ? " flips" : "s flip"}: distance ${show(jump, 2)}. ` +
      `The clocks move by ${show(step, 2)}, as after each step.`
    );
  },
};
