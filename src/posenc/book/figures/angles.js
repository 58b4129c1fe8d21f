// Angles, in radians, counterclockwise from the right; and sectors of dials.

import { round } from "./drawing.js";

/** An angle, less whole turns, from -π to π. */
export const wrapped = (angle) => angle - 2 * Math.PI * Math.round(angle / (2 * Math.PI));
/** A circular sector, counterclockwise for a positive turn, as the data of a path. */
export function sector(cx, cy, radius, from, turn) {
  const tip = (angle) => `${round(cx + radius * Math.cos(angle))},${round(cy - radius * Math.sin(angle))}`;
  const [large, clockwise] = [Math.abs(turn) > Math.PI ? 1 : 0, turn < 0 ? 1 : 0];
  return `M${cx},${cy}L${tip(from)}A${radius},${radius} 0 ${large} ${clockwise} ${tip(from + turn)}Z`;
}
