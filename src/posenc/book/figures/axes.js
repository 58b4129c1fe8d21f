// Two axes with their ticks.

import { end, middle, show, text } from "./drawing.js";
import { level } from "./lines.js";
import { named } from "./scene.js";

/**
 * Axes from 0 to `right` and from `bottom` to `top`, in a drawing that leaves `above` free: the
 * scales and their elements.
 */
export function axes(width, height, above, right, [bottom, top], label) {
  const [x0, x1, y0, y1] = [34, width - 12, height - 36, above];
  const x = (value) => x0 + (value / right) * (x1 - x0);
  const y = (value) => y0 + ((value - bottom) / (top - bottom)) * (y1 - y0);
  const sizes = [1, 2, 5, 10, 20, 50, 100];
  const step = sizes.find((size) => right / size <= 7);
  const ticks = Array.from({ length: Math.floor(right / step) + 1 }, (_, n) =>
    text(x(n * step), y0 + 16, n * step, { ...middle, class: "tick" }),
  );
  const levels = [...new Set([bottom, 0, top])].flatMap((value) => [
    text(x0 - 6, y(value) + 4, show(value, 0), end),
    level(x0, x1, y(value), { class: "thin grid" }),
  ]);
  const name = text((x0 + x1) / 2, height - 4, label, named);
  return { x, y, frame: [...levels, ...ticks, name] };
}
