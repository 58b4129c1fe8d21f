// Turning's chart: the score by distance, with a dot that can be dragged.

import { DISTANCES, FARTHEST, HEAD } from "./attention.js";
import { PAIRS } from "./constants.js";
import { end, level, line, middle, place, points, round, shape, text } from "./drawing.js";
import { draggable } from "./motion.js";
import { KEY_WORD, QUERY_WORD } from "./sentence.js";

const [LOWEST, HIGHEST] = [-1, 9]; // scores between the edges

/** Where the chart is in its room, in pixels, and its scales: pixels by distance and by score. */
function layOut(width, top) {
  const [left, right] = [20, width];
  const high = top + 40;
  const low = high + (width < 560 ? 62 : 116);
  const x = (distance) => left + ((distance + FARTHEST) / (2 * FARTHEST)) * (right - left);
  const y = (score) => low - ((score - LOWEST) / (HIGHEST - LOWEST)) * (low - high);
  return { left, right, high, low, x, y };
}

/**
 * Axes, their ticks and their names: the query stands at 0. On both sides are the distances that
 * training never showed, which are seen when the words are as far apart.
 */
function scales({ left, right, high, low, x, y }) {
  const tint = (name, word) => shape("tspan", { class: name }, word);
  const levels = [0, 4, 8].flatMap((score) => [
    text(0, y(score) + 4, score),
    level(left, right, y(score), { class: "thin grid" }),
  ]);
  const unseen = [-FARTHEST, HEAD.trained - 1].map((from) =>
    shape("path", { d: `M${x(from)},${high}V${low}H${x(from + HEAD.trained)}V${high}z`, class: "beyond" }),
  );
  const name = [tint("query", QUERY_WORD), " looks at ", tint("key", KEY_WORD), ", by distance"];
  return [
    ...unseen,
    shape("text", { y: high - 14, class: "name" }, "Score: how much ", ...name),
    ...levels,
    text(x(0), low + 15, QUERY_WORD, { ...middle, class: "query" }),
    ...[-5, 5].map((distance) => text(x(distance), low + 15, Math.abs(distance), middle)),
    text(left, low + 15, "15 before"),
    text(right, low + 15, "15 after", end),
  ];
}

/** Made by `arrange`, painted by `paint` as all parts of Turning. */
export function chart(svg, set, current) {
  const frame = shape("g", { "aria-hidden": "true" });
  const hill = shape("polygon", { class: "hill", fill: PAIRS[4] });
  const curve = shape("polyline", { class: "curve" });
  const stem = line({ class: "key" }); // from the axis to the dot
  const dot = shape("circle", { r: 9, class: "grip key" });
  svg.append(frame, hill, curve, stem, dot);
  let room; // by `arrange`
  const arrange = (width, top) => {
    room = layOut(width, top);
    frame.replaceChildren(...scales(room));
    return room.low + 22;
  };
  const paint = ({ query, key, score, curve: scores }) => {
    const { x, y, left, right } = room;
    const places = points(scores.map((one, n) => [x(DISTANCES[n]), y(one)]));
    place(curve, { points: places });
    place(hill, { points: `${left},${y(0)} ${places} ${right},${y(0)}` });
    const [cx, cy] = [round(x(key - query)), round(y(score))];
    place(dot, { cx, cy });
    place(stem, { x1: cx, y1: round(y(0)), x2: cx, y2: cy });
  };
  draggable(
    dot,
    svg,
    (from) => {
      const { key } = current();
      const unit = room.x(1) - room.x(0);
      return (to) => set({ key: key + (to - from) / unit }, true);
    },
    () => set({}),
  );
  return { arrange, paint };
}
