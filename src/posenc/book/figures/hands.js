// Hands of clocks, in the colors of their pairs, which a pointer can turn.

import { wrapped } from "./angles.js";
import { PAIRS } from "./constants.js";
import { line } from "./drawing.js";

/** The color of a pair, from fast to slow; wide encodings repeat the last. */
export const pairColor = (pair) => PAIRS[Math.min(pair, PAIRS.length - 1)];

/** A clock hand from (cx, cy) toward a point of the unit circle. */
export function hand(cx, cy, radius, [right, up], attributes) {
  const tip = { x2: cx + radius * right, y2: cy - radius * up };
  return line({ x1: cx, y1: cy, ...tip, ...attributes });
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
