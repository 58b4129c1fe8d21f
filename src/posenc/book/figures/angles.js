// Angles, in radians, counterclockwise from the right; and the hands and sectors of dials.

import { line, round } from "./drawing.js";

/** An angle, less whole turns, from -π to π. */
export const wrapped = (angle) => angle - 2 * Math.PI * Math.round(angle / (2 * Math.PI));
/** A circular sector, counterclockwise for a positive turn, as the data of a path. */
export function sector(cx, cy, radius, from, turn) {
  const tip = (angle) => `${round(cx + radius * Math.cos(angle))},${round(cy - radius * Math.sin(angle))}`;
  const [large, clockwise] = [Math.abs(turn) > Math.PI ? 1 : 0, turn < 0 ? 1 : 0];
  return `M${cx},${cy}L${tip(from)}A${radius},${radius} 0 ${large} ${clockwise} ${tip(from + turn)}Z`;
}

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
