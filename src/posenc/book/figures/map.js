// A table of values as a heatmap, in which a reader picks a cell.

import { STEPS, paint } from "./colors.js";
import { clamp, element, show } from "./drawing.js";

/**
 * Add a heatmap with a marked cell: the names of its axes, the key of the values that it shows, and
 * `pick(row, column)`, called with a picked cell. Return a function that paints it and moves the mark.
 */
export function map(picture, { label, down, across, values, pick }) {
  const canvas = element("canvas", { role: "img", "aria-label": label, "data-values": values });
  const cell = element("div", { class: "cell" });
  const [bottom, right, low, high] = ["", "", "", ""].map(() => element("span"));
  const colors = STEPS.filter((_, n) => n % 51 === 0).map((rgb) => `rgb(${rgb})`);
  const bar = element("i", { style: `background: linear-gradient(90deg, ${colors})` });
  picture.append(
    element("div", { class: "down" }, element("span", {}, "0"), element("b", { class: "name" }, down), bottom),
    element("div", { class: "panel" }, canvas, cell),
    element("div", { class: "across" }, element("span", {}, "0"), element("b", { class: "name" }, across), right),
    element("div", { class: "scale" }, low, bar, high),
  );
  picture.classList.add("map");
  const follow = (event) => {
    const box = canvas.getBoundingClientRect();
    const cellAt = (pointer, from, size, count) =>
      clamp(0, Math.floor(((pointer - from) / size) * count), count - 1);
    pick(
      cellAt(event.clientY, box.top, box.height, canvas.height),
      cellAt(event.clientX, box.left, box.width, canvas.width),
    );
  };
  let start;
  canvas.addEventListener("pointerdown", (event) => (start = event));
  canvas.addEventListener("pointermove", (event) => {
    // Vertical swipes scroll the page; horizontal ones pick a cell.
    if (event.pointerType !== "touch" || Math.abs(event.clientX - start.clientX) > 10)
      follow(event);
  });
  canvas.addEventListener("click", follow);
  return (table, { rows, columns, limit, row, column }) => {
    paint(canvas, table, rows, columns, limit);
    [bottom.textContent, right.textContent] = [rows - 1, columns - 1];
    [low.textContent, high.textContent] = [show(-limit, 0), limit];
    cell.style.cssText = `left: ${(column / columns) * 100}%; top: ${(row / rows) * 100}%;
      width: ${100 / columns}%; height: ${100 / rows}%`;
  };
}
