// Hands of clocks, in the colors of their pairs, which a pointer can turn.

import { wrapped } from "./angles.js";
import { PAIRS } from "./constants.js";
import { line, shape } from "./drawing.js";

/** The color of a pair, from fast to slow; wide encodings repeat the last. */
export const pairColor = (pair) => PAIRS[Math.min(pair, PAIRS.length - 1)];

/** A clock's face. */
export const face = (cx, cy, r) => shape("circle", { cx, cy, r, class: "face" });

/** The tip of a hand from (cx, cy) toward a point of the unit circle: it stays inside the face. */
export const tip = (cx, cy, radius, [right, up]) => [cx + 0.85 * radius * right, cy - 0.85 * radius * up];

/** A clock's hand. */
export function hand(cx, cy, radius, toward, attributes) {
  const [x2, y2] = tip(cx, cy, radius, toward);
  return line({ x1: cx, y1: cy, x2, y2, ...attributes });
}

/** Let a pointer turn a hand about a center; what `take` returns gets the angle, whole turns included. */
export function turnable(center, take) {
  return (x, y) => {
    const [cx, cy] = center();
    const angleOf = (right, down) => Math.atan2(cy - down, right - cx);
    const turn = take();
    let [last, total] = [angleOf(x, y), 0];
    return (nextX, nextY) => {
      const angle = angleOf(nextX, nextY);
      total += wrapped(angle - last);
      last = angle;
      turn(total);
    };
  };
}
