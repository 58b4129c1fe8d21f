// Turning's chart: the score by distance, with a dot for the key.

import { DISTANCES, FARTHEST, HEAD, LOOKS_BACK } from "./attention.js";
import { end, level, line, middle, place, points, round, shape, text } from "./drawing.js";
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
  const levels = [0, 4, 8].flatMap((score) => [
    text(0, y(score) + 4, score),
    level(left, right, y(score), { class: "thin grid" }),
  ]);
  const unseen = [-FARTHEST, HEAD.trained - 1].map((from) =>
    shape("path", { d: `M${x(from)},${high}V${low}H${x(from + HEAD.trained)}V${high}z`, class: "beyond" }),
  );
  return [
    ...unseen,
    text(0, high - 14, `Score: how much ${QUERY_WORD} looks at ${KEY_WORD}, by distance`, { class: "name" }),
    ...levels,
    text(x(0), low + 15, QUERY_WORD, { ...middle, class: "query" }),
    ...[-LOOKS_BACK, LOOKS_BACK].map((distance) => text(x(distance), low + 15, Math.abs(distance), middle)),
    text(left, low + 15, "15 before"),
    text(right, low + 15, "15 after", end),
    text(right - 6, high + 26, "beyond training", { ...end, class: "beyond" }),
  ];
}

/** Made by `arrange`, painted by `paint` as all parts of Turning. */
export function chart(svg) {
  const frame = shape("g", { "aria-hidden": "true" });
  const hill = shape("polygon", { class: "hill" });
  const ghost = shape("polyline", { class: "ghost" }); // the curve before the last move
  const curve = shape("polyline", { class: "curve" });
  const stem = line({ class: "key" }); // from the axis to the dot
  const dot = shape("circle", { r: 9, class: "dot" });
  svg.append(frame, hill, ghost, curve, stem, dot);
  let room; // by `arrange`
  let before; // the scores of the ghost, if there is one
  const arrange = (width, top) => {
    room = layOut(width, top);
    frame.replaceChildren(...scales(room));
    return room.low + 22;
  };
  const paint = ({ query, key, score, curve: scores }) => {
    const { x, y, left, right } = room;
    const along = (all) => points(all.map((one, n) => [x(DISTANCES[n]), y(one)]));
    const places = along(scores);
    place(curve, { points: places });
    place(ghost, { points: before ? along(before) : "" });
    place(hill, { points: `${left},${y(0)} ${places} ${right},${y(0)}` });
    const [cx, cy] = [round(x(key - query)), round(y(score))];
    place(dot, { cx, cy });
    place(stem, { x1: cx, y1: round(y(0)), x2: cx, y2: cy });
  };
  const since = (scores) => (before = scores);
  return { arrange, paint, since };
}
