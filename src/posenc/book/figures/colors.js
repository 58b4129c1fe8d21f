// The colors of maps, for values around zero.

import { MAP } from "./constants.js";
import { clamp } from "./drawing.js";

/** The heatmaps' color map: 256 steps, interpolated linearly between eleven colors. */
export const STEPS = Array.from({ length: 256 }, (_, n) => {
  const step = (n / 255) * 10;
  const left = Math.min(9, Math.floor(step));
  return [16, 8, 0].map((bits) => {
    const [a, b] = [MAP[left], MAP[left + 1]].map((color) => (color >> bits) & 255);
    return Math.floor(a + (b - a) * (step - left) + 1e-9);
  });
});

/** The steps as opaque RGBA pixels. */
const PIXELS = new Uint32Array(Uint8Array.from(STEPS.flatMap((rgb) => [...rgb, 255])).buffer);

/** The color of a value between -1 and 1. */
export const shade = (x) => `rgb(${STEPS[clamp(0, Math.floor(128 * (x + 1)), 255)]})`;

/** Paint a table of values between -limit and limit, one pixel each. */
export function paint(canvas, table, rows, columns, limit) {
  if (canvas.width !== columns) canvas.width = columns;
  if (canvas.height !== rows) canvas.height = rows;
  const image = new ImageData(columns, rows);
  const pixels = new Uint32Array(image.data.buffer);
  for (let n = 0; n < table.length; n++) {
    const step = Math.floor(((table[n] + limit) / (2 * limit)) * 256);
    pixels[n] = PIXELS[clamp(0, step, 255)];
  }
  canvas.getContext("2d").putImageData(image, 0, 0);
}
