// Turning's score: a bar that fills up to it, the number, and how much the last move changed it.

import { clamp, place, round, shape, show, signed, text, write } from "./drawing.js";

const FULL = 8; // the score of a full bar; only YaRN's go beyond
const BREADTH = 14; // of the bar, in pixels
/** A score as it is shown, so that a difference is that of numbers that are seen. */
const rounded = (score) => Number(score.toFixed(2));

/**
 * `arrange(left, top, low, isSlim)` gets where the bar begins, the levels of the highest score and
 * of none, and whether there is little room; `paint(score)` shows it; `since(score, unchanged)`
 * says what it is compared with, if with anything, and what is said if it stays, or "".
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
  let unchanged = ""; // what is said if it stays
  const arrange = (x, top, low, isSlim) => {
    foot = low;
    unit = (low - top) / FULL;
    place(room, { x, y: top, width: BREADTH, height: low - top });
    place(column, { x, width: BREADTH });
    const middle = (top + low) / 2;
    for (const words of [name, number, change]) place(words, { x: x + BREADTH + 14 });
    place(name, { y: middle - (isSlim ? 20 : 30) });
    place(number, { y: middle + 10 });
    place(change, { y: middle + 32 });
  };
  const paint = (score) => {
    const height = round(unit * clamp(0, score, FULL));
    place(column, { y: foot - height, height });
    write(number, show(score, 2));
    const by = before === undefined ? 0 : rounded(score) - rounded(before);
    write(change, Math.abs(by) < 0.005 ? unchanged : signed(by));
  };
  const since = (...news) => ([before, unchanged] = news);
  return { arrange, paint, since };
}
