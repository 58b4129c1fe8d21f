// Turning's bar: what each pair adds to the score, stacked, and what pairs that oppose take away.

import { PAIRS } from "./constants.js";
import { line, place, shape, show, write } from "./drawing.js";

/**
 * `arrange(room)` gets the chart's room (scores.js), on whose right the bar stands; `paint(shares,
 * score)` stacks the shares; `since(score)` says what the score is compared with.
 */
export function bar(svg) {
  const agree = PAIRS.map((fill) => shape("rect", { fill }));
  const oppose = shape("rect", { class: "oppose" });
  const total = line({ class: "total" });
  const number = shape("text", { class: "score" });
  const change = shape("text");
  svg.append(...agree, oppose, total, number, change);
  let y, left, half; // by `arrange`: the scale, the left edge, and half the width
  let before; // the score before the last move; none at first, and then no change is said
  const arrange = (room) => {
    y = room.y;
    left = room.right + 16;
    half = room.isWide ? 28 : 14;
    const words = { x: left + 2 * half + 8 };
    for (const node of [number, change]) place(node, words);
    place(total, { x1: left - 4, x2: left + 2 * half + 4 });
  };
  /** Stack what agrees, upwards; what opposes takes away from the top. */
  const stack = (shares, score) => {
    let top = 0;
    shares.forEach((share, pair) => {
      const foot = y(top);
      top += Math.max(0, share);
      const height = Math.max(0, foot - y(top) - 1);
      place(agree[pair], { x: left, y: y(top), width: half, height });
    });
    place(oppose, { x: left + half, y: y(top), width: half, height: Math.max(0, y(score) - y(top)) });
  };
  const paint = (shares, score) => {
    stack(shares, score);
    place(total, { y1: y(score), y2: y(score) });
    place(number, { y: y(score) + 7 });
    write(number, show(score, 2));
    if (before === undefined) return;
    place(change, { y: y(score) + 24 });
    const isSame = Math.abs(score - before) < 0.005;
    write(change, isSame ? "same" : (score > before ? "+" : "") + show(score - before, 2));
  };
  const since = (score) => (before = score);
  return { arrange, paint, since };
}
