// How Turning's words are moved: the query, the key, or both, by a pointer or by keys.

import { FARTHEST } from "./attention.js";
import { clamp } from "./drawing.js";
import { draggable, steppable } from "./motion.js";

/** The places of the named words, moved from a state by a distance, as far as the ruler reaches. */
function moved(names, start, distance) {
  const places = names.map((name) => start[name]);
  const step = clamp(-Math.min(...places), distance, FARTHEST - Math.max(...places));
  return Object.fromEntries(names.map((name) => [name, start[name] + step]));
}

/** Let an element in `svg` move the named words. `positionAt(x, y)` is that of a point. */
export function movable(element, names, svg, set, current, positionAt) {
  steppable(element, (distance) => set(moved(names, current(), distance)));
  const take = (...from) => {
    const start = current();
    const origin = positionAt(...from);
    return (...to) => set(moved(names, start, positionAt(...to) - origin), true);
  };
  draggable(element, svg, take, () => set({}));
}
