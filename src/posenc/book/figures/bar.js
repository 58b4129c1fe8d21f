// Turning's bar: what each pair adds to the score, stacked, and what pairs that oppose take away.

import { PAIRS } from "./constants.js";
import { line, place, round, shape, show, signed, text, write } from "./drawing.js";

const FULL = 9; // the score at its upper edge: YaRN’s go beyond 8

/**
 * `arrange(left, top, low, isSlim)` gets where the bar begins, the levels of the highest score and
 * of none, and whether there is little room; `paint(shares, score)` stacks the shares; `since(score,
 * unchanged)` says what the score is compared with, and what is said if it stays.
 */
export function bar(svg) {
  const name = text(0, 0, "score");
  const agree = PAIRS.map((fill) => shape("rect", { fill }));
  const oppose = shape("rect", { class: "oppose" });
  const total = line({ x1: -4, class: "curve" });
  const number = shape("text", { class: "score" });
  const change = shape("text");
  svg.append(name, ...agree, oppose, total, number, change);
  let left, width, y; // by `arrange`: the left edge, how wide the bar is, and the scale
  let before; // the score before the last move; none at first, and then no change is said
  let unchanged; // what is said if it stays
  const arrange = (from, top, low, isSlim) => {
    left = from;
    width = isSlim ? 14 : 26;
    y = (score) => low - (score / FULL) * (low - top);
    place(total, { x2: width + 4 });
    const middle = (top + low) / 2;
    for (const words of [name, number, change]) place(words, { x: left + width + 14 });
    place(name, { y: middle - (isSlim ? 20 : 30) });
    place(number, { y: middle + 10 });
    place(change, { y: middle + 32 });
  };
  /** Show what lies between two scores as a part of the bar. */
  const fill = (part, from, to) => {
    const height = round(Math.max(0, y(from) - y(to) - 1));
    place(part, { x: left, y: round(y(to)), width, height });
  };
  const paint = (shares, score) => {
    let top = 0;
    shares.forEach((share, pair) => {
      const foot = top;
      top += Math.max(0, share);
      fill(agree[pair], foot, top);
    });
    fill(oppose, score, top); // what opposes pales the top
    place(total, { transform: `translate(${left},${round(y(score))})` });
    write(number, show(score, 2));
    if (before === undefined) return;
    write(change, Math.abs(score - before) < 0.005 ? unchanged : signed(score - before));
  };
  const since = (...news) => ([before, unchanged] = news);
  return { arrange, paint, since };
}
