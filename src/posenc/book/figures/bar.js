// Turning's bar: what each pair adds to the score, stacked, and what pairs that oppose take away.

import { PAIRS } from "./constants.js";
import { line, place, round, shape, show, signed, write } from "./drawing.js";

/**
 * `arrange(room)` gets the chart's room (scores.js), on whose right the bar stands; `paint(shares,
 * score)` stacks the shares; `since(score, unchanged)` says what the score is compared with,
 * and what is said if it stays.
 */
export function bar(svg) {
  const agree = PAIRS.map((fill) => shape("rect", { fill }));
  const oppose = shape("rect", { class: "oppose" });
  const total = line({ x1: -5, class: "curve" });
  const number = shape("text", { y: 10, class: "score" });
  const change = shape("text", { y: 28 });
  const level = shape("g", {}, total, number, change); // drawn around the left end of the score's line
  svg.append(...agree, oppose, level);
  let y, left, width; // by `arrange`: the scale, the left edge, and how wide the bar is
  let before; // the score before the last move; none at first, and then no change is said
  let unchanged; // what is said if it stays
  const arrange = (room) => {
    y = room.y;
    left = room.barAt;
    width = room.isWide ? 30 : 18;
    place(total, { x2: width + 5 });
    for (const words of [number, change]) place(words, { x: width + 12 });
  };
  /** Show what lies between two scores as a part of the bar. */
  const fill = (part, from, to) =>
    place(part, { x: left, y: y(to), width, height: Math.max(0, y(from) - y(to) - 1) });
  const paint = (shares, score) => {
    let top = 0;
    shares.forEach((share, pair) => {
      const foot = top;
      top += Math.max(0, share);
      fill(agree[pair], foot, top);
    });
    fill(oppose, score, top); // what opposes pales the top
    place(level, { transform: `translate(${left},${round(y(score))})` });
    write(number, show(score, 2));
    if (before === undefined) return;
    write(change, Math.abs(score - before) < 0.005 ? unchanged : signed(score - before));
  };
  const since = (...news) => ([before, unchanged] = news);
  return { arrange, paint, since };
}
