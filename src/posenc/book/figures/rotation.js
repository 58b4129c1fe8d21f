// One clock before and after a shift, from position 0 and from another position.

import { sector } from "./angles.js";
import { FIELDS } from "./constants.js";
import { assign, round, shape, show, text, written } from "./drawing.js";
import { omega } from "./encoding.js";
import { FIGURES } from "./figure.js";
import { face, hand, pairColor, tip, turnable } from "./hands.js";
import { path } from "./lines.js";
import { drawing, named } from "./scene.js";

const WIDTH = 16; // of the encoding, as in Python
/** Hands that can be dragged: the field that each changes, its dial (left or right), and its angle. */
const DRAGGED = [
  { field: "offset", side: 0, angle: (state, { theta }) => theta },
  { field: "offset", side: 1, angle: ({ position }, { theta, frequency }) => position * frequency + theta },
  { field: "position", side: 1, angle: ({ position }, { frequency }) => position * frequency },
];
const point = (angle) => [Math.cos(angle), Math.sin(angle)];

/** The turn from one hand to the other: a wedge, or a spiral beyond a full turn. */
function turnMark(cx, cy, radius, from, theta, fill) {
  if (Math.abs(theta) < 2 * Math.PI)
    return shape("path", { d: sector(cx, cy, round(radius * 0.5), from, theta), fill, "fill-opacity": 0.4 });
  const spiral = Array.from({ length: 401 }, (_, n) => {
    const [right, up] = point(from + (theta * n) / 400);
    const size = radius * (0.2 + (0.5 * n) / 400);
    return [cx + size * right, cy - size * up];
  });
  return path(spiral, { stroke: fill });
}

FIGURES.rotation = {
  compute({ base, pair, offset }) {
    const frequency = omega(pair, WIDTH, base);
    return { theta: frequency * offset, frequency };
  },
  build(picture, set, current) {
    const { draw, grip } = drawing(picture, "One clock before and after a shift");
    let centers; // of both dials, as drawn last, which a drag turns about
    const frequency = () => omega(current().pair, WIDTH, current().base);
    const grips = DRAGGED.map(({ field, side }) => {
      const take = () => {
        const start = current()[field];
        return (angle) => set({ [field]: start + angle / frequency() }, true);
      };
      return grip(field, turnable(() => centers[side], take), () => set({}));
    });
    return (state, values, width) => {
      const { pair, position, offset } = state;
      const { theta } = values;
      const radius = Math.min(90, width / 4 - 14);
      centers = [1, 3].map((quarter) => [(quarter * width) / 4, radius + 10]);
      /** A dial that starts at a position; its first hand may be marked as a field's. */
      const dial = ([cx, cy], start, mark) => {
        const from = start * values.frequency;
        return [
          face(cx, cy, radius),
          turnMark(cx, cy, radius, from, theta, pairColor(pair)),
          hand(cx, cy, radius, point(from), { class: "hand curve", ...mark }),
          hand(cx, cy, radius, point(from + theta), { class: "hand", stroke: pairColor(pair), "data-field": "offset" }),
          text(cx, cy + radius + 28, `${written(start)} to ${written(start + offset)}`, named),
        ];
      };
      draw(width, 2 * radius + 50, dial(centers[0], 0), dial(centers[1], position, { "data-field": "position" }));
      // A hand that the limits hardly let turn isn't dragged: a touch would throw it to the end.
      const isSlow = values.frequency * FIELDS.rotation.offset.max < Math.PI;
      DRAGGED.forEach(({ side, angle }, n) => {
        const [cx, cy] = tip(...centers[side], radius, point(angle(state, values)));
        assign(grips[n], { cx, cy });
        grips[n].toggleAttribute("hidden", isSlow);
      });
    };
  },
  say: (_, { theta }) =>
    `Clock {pair}, moved on by {offset}, turns by θ = ${show(theta)} rad = ${show((theta * 180) / Math.PI, 1)}°, ` +
    "from 0 or from {position}. Cosine across, sine upward.",
};
