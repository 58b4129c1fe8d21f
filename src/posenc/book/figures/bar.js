// Turning's score: a bar that fills up to it, the number, and how much the last move changed it.

import { place, round, shape, show, signed, text, write } from "./drawing.js";

const FULL = 8; // the score of a full bar, which only YaRN exceeds

/**
 * `arrange(left, top, low, isSlim)` gets where the bar begins, the levels of the highest score and
 * of none, and whether there is little room; `paint(score)` shows it; `since(score, unchanged)`
 * says what it is compared with, if with anything, and what is said if it stays.
 */
export function bar(svg) {
  const name = text(0, 0, "score");
  const room = shape("rect", { class: "face" });
  const column = shape("rect", { class: "lit" });
  const number = shape("text", { class: "score" });
  const change = shape("text");
  svg.append(name, room, column, number, change);
  let foot, unit; // by `arrange`: the level of no score, and the height of a point
  let before; // the score before the last move, if that is what came last
  let unchanged; // what is said if it stays
  const arrange = (x, top, low, isSlim) => {
    const width = isSlim ? 14 : 26;
    foot = low;
    unit = (low - top) / FULL;
    place(room, { x, y: top, width, height: low - top, rx: 3 });
    place(column, { x, width, rx: 3 });
    const middle = (top + low) / 2;
    for (const words of [name, number, change]) place(words, { x: x + width + 14 });
    place(name, { y: middle - (isSlim ? 20 : 30) });
    place(number, { y: middle + 10 });
    place(change, { y: middle + 32 });
  };
  const paint = (score) => {
    const height = round(unit * Math.max(0, score));
    place(column, { y: foot - height, height });
    write(number, show(score, 2));
    const by = score - before;
    write(change, before === undefined ? "" : Math.abs(by) < 0.005 ? unchanged : signed(by));
  };
  const since = (...news) => ([before, unchanged] = news);
  return { arrange, paint, since };
}
