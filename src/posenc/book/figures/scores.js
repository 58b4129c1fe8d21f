// Turning's chart: the score by distance, and what it is made of.

import { DISTANCES, FARTHEST, HEAD } from "./attention.js";
import { PAIRS } from "./constants.js";
import { clamp, end, line, middle, place, round, shape, show, text, write, written } from "./drawing.js";
import { draggable } from "./motion.js";
import { KEY_WORD, QUERY_WORD } from "./sentence.js";

const SCORE = `score: how much “${QUERY_WORD}” looks at “${KEY_WORD}”`;

/**
 * The score by distance, with a dot; beside it the wedges, added up to one bar.
 * Order: `arrange(width, top, height)` makes the scales, which `paint` and a drag of the dot read;
 * `since(score)` says what to compare with.
 */
export function chart(svg, set, current) {
  const frame = shape("g", { "aria-hidden": "true" });
  const curve = shape("polyline", { class: "curve" });
  const level = line({ class: "thin faint", "stroke-dasharray": "2 4" });
  const dot = shape("circle", { r: 9, class: "grip" });
  const agree = PAIRS.map((fill) => shape("rect", { fill }));
  const oppose = shape("rect", { class: "oppose" });
  const total = line({ class: "total" });
  const score = shape("text", { class: "score" });
  const change = shape("text", { hidden: "" }); // of the score, by the last move
  svg.append(frame, curve, level, ...agree, oppose, total, score, change, dot);
  // By `arrange`: the scales of both axes, the bar's left edge and half its width, and the
  // x of each distance.
  let x, y, bar, columns;
  // The curve that is seen, which stays when both words move; `arrange` forgets it, so that the
  // next `paint` draws it on the new scales.
  let drawn;
  let start; // the score before the last move
  const arrange = (width, top, height) => {
    const wide = width >= 560;
    const [left, right] = [26, width - (wide ? 160 : 92)];
    const [high, low] = [top + 14, top + height - (wide ? 38 : 34)];
    x = (distance) => left + ((distance + FARTHEST) / (2 * FARTHEST)) * (right - left);
    y = (value) => low - ((value + 2.5) / 12) * (low - high);
    bar = { left: right + 16, half: wide ? 28 : 14 };
    columns = DISTANCES.map(x);
    const ticks = [-15, -10, -5, 0, 5, 10, 15].map((distance) =>
      text(x(distance), low + 16, written(Math.abs(distance)), { ...middle, class: "tick" }),
    );
    const levels = [0, 4, 8].flatMap((value) => [
      text(left - 6, y(value) + 4, value, { ...end, class: "tick" }),
      line({ x1: left, x2: right, y1: y(value), y2: y(value), class: "thin grid" }),
    ]);
    const seen = [1 - HEAD.trained, HEAD.trained - 1].map(x);
    levels.push(text((left + right) / 2, high - 4, SCORE, middle));
    const bands = [
      [x(-FARTHEST), seen[0]],
      [seen[1], x(FARTHEST)],
    ].map(([from, to]) =>
      shape("rect", { x: from, y: high, width: to - from, height: low - high, class: "beyond" }),
    );
    const labels = [`${KEY_WORD} before ${QUERY_WORD}`, "distance", `${KEY_WORD} after ${QUERY_WORD}`].map(
      (words, n) =>
        text([left, (left + right) / 2, right][n], low + 32, words, {
          "text-anchor": ["start", "middle", "end"][n],
        }),
    );
    const longer = text(x(FARTHEST) - 4, high + 13, "never in training", { ...end, class: "longer" });
    drawn = undefined;
    frame.replaceChildren(...bands, ...levels, ...ticks, ...labels, ...(wide ? [longer] : []));
  };
  /** Stack what agrees, upwards; what opposes takes away from the top. */
  const stack = (shares, value) => {
    let top = 0;
    shares.forEach((share, pair) => {
      const grown = top + Math.max(0, share);
      place(agree[pair], {
        x: bar.left,
        y: y(grown),
        width: bar.half,
        height: Math.max(0, y(top) - y(grown) - 1),
      });
      top = grown;
    });
    place(oppose, { x: bar.left + bar.half, y: y(top), width: bar.half, height: y(value) - y(top) });
  };
  const paint = ({ query: [query], key: [key], shares, score: [value], curve: values }) => {
    if (drawn !== values) {
      drawn = values;
      const points = values.map((one, n) => `${round(columns[n])},${round(y(one))}`);
      curve.setAttribute("points", points.join(" "));
    }
    stack(shares, value);
    const [across, down] = [round(x(key - query)), round(y(value))];
    place(dot, { cx: across, cy: down });
    place(level, { x1: across, x2: bar.left, y1: down, y2: down });
    place(total, { x1: bar.left - 4, x2: bar.left + 2 * bar.half + 4, y1: down, y2: down });
    place(score, { x: bar.left + 2 * bar.half + 8, y: down + 7 });
    write(score, show(value, 2));
    place(change, { x: bar.left + 2 * bar.half + 8, y: down + 24 });
    const isSame = Math.abs(value - start) < 0.005;
    write(change, isSame ? "same" : (value > start ? "+" : "") + show(value - start, 2));
  };
  /** Compare with the score before the last move. */
  const since = (value) => {
    start = value;
    change.removeAttribute("hidden");
  };
  draggable(
    dot,
    svg,
    (from) => {
      const { key } = current();
      const unit = x(1) - x(0);
      return (to) => set({ key: clamp(0, key + (to - from) / unit, FARTHEST) }, true);
    },
    () => set({ key: Math.round(current().key) }),
  );
  return { arrange, paint, since };
}
