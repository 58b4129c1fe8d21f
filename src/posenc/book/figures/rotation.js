// One clock before and after a shift, from position 0 and from another position.

import { sector } from "./angles.js";
import { middle, path, place, round, shape, show, text, written } from "./drawing.js";
import { omega } from "./encoding.js";
import { FIGURES } from "./figure.js";
import { hand, pairColor, turnable } from "./hands.js";
import { drawing } from "./scene.js";

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
  compute({ base, pair, position, offset }) {
    const frequency = omega(pair, 16, base);
    return { theta: frequency * offset, frequency };
  },
  build(picture, set, current) {
    const { draw, grip, height } = drawing(picture, "One clock before and after a shift", 240);
    let centers; // of both dials, as drawn last, which a drag turns about
    const frequency = () => omega(current().pair, 16, current().base);
    /** A grip that turns the hand of a field, in the left dial or the right one. */
    const turning = (field, side) => {
      const take = () => {
        const start = current()[field];
        return (angle) => set({ [field]: start + angle / frequency() }, true);
      };
      return grip(field, turnable(() => centers[side], take), () =>
        set({ [field]: Math.round(current()[field]) }),
      );
    };
    const grips = [turning("offset", 0), turning("offset", 1), turning("position", 1)];
    return ({ pair, position, offset }, { theta, frequency: speed }, width) => {
      const radius = Math.min(96, width / 4 - 14);
      centers = [1, 3].map((quarter) => [(quarter * width) / 4, 104]);
      /** A dial that starts at a position, which a field may hold. */
      const dial = ([cx, cy], start, field) => {
        const from = start * speed;
        return [
          shape("circle", { cx, cy, r: radius, class: "thin faint" }),
          turnMark(cx, cy, radius, from, theta, pairColor(pair)),
          hand(cx, cy, radius, point(from), { class: "hand thin", "data-field": field }),
          hand(cx, cy, radius, point(from + theta), { class: "hand", stroke: pairColor(pair), "data-field": "offset" }),
          text(cx, cy + radius + 28, `${written(start)} to ${written(start + offset)}`, middle),
        ];
      };
      draw(width, height, dial(centers[0], 0, ""), dial(centers[1], position, "position"));
      const angles = [theta, position * speed + theta, position * speed];
      angles.forEach((angle, n) => {
        const [cx, cy] = centers[Math.min(n, 1)];
        const [right, up] = point(angle);
        place(grips[n], { cx: cx + radius * right, cy: cy - radius * up });
        // A hand that the limits hardly let turn isn't dragged: a touch would throw it to the end.
        grips[n].toggleAttribute("hidden", speed * 64 < Math.PI);
      });
    };
  },
  say: (_, { theta }) =>
    `Clock {pair}, moved on by {offset}, turns by θ = ${show(theta)} rad = ${show((theta * 180) / Math.PI, 1)}°, ` +
    "from 0 or from {position}. Cosine across, sine upwards.",
};
