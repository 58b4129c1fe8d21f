// Turning's chart: the score by distance, with a dot that can be dragged, and the bar beside it.

import { DISTANCES, FARTHEST, HEAD } from "./attention.js";
import { bar } from "./bar.js";
import { end, level, line, middle, place, points, round, shape, text } from "./drawing.js";
import { draggable } from "./motion.js";
import { KEY_WORD, QUERY_WORD } from "./sentence.js";

const SCORE = `score: how much “${QUERY_WORD}” looks at “${KEY_WORD}”`;
const [LOWEST, HIGHEST] = [-2.5, 9.5]; // scores between the edges

/** Where the chart is in its room, in pixels, and its scales: pixels by distance and by score. */
function layOut(width, top, height) {
  const isWide = width >= 560;
  const [left, right] = [26, width - (isWide ? 160 : 92)];
  const [high, low] = [top + 14, top + height - (isWide ? 38 : 34)];
  const x = (distance) => left + ((distance + FARTHEST) / (2 * FARTHEST)) * (right - left);
  const y = (score) => low - ((score - LOWEST) / (HIGHEST - LOWEST)) * (low - high);
  return { isWide, left, right, high, low, x, y };
}

/** The distances that training never showed, on both sides; they are seen when the words are as far apart. */
function unseenBands({ left, right, high, low, x }) {
  const band = (from, to) =>
    shape("rect", { x: from, y: high, width: to - from, height: low - high, class: "beyond" });
  return [band(left, x(1 - HEAD.trained)), band(x(HEAD.trained - 1), right)];
}

/** Axes, their ticks and their names. */
function scales({ left, right, high, low, x, y }) {
  const center = (left + right) / 2;
  const ticks = [-15, -10, -5, 0, 5, 10, 15].map((distance) =>
    text(x(distance), low + 16, Math.abs(distance), middle),
  );
  const levels = [0, 4, 8].flatMap((score) => [
    text(left - 6, y(score) + 4, score, end),
    level(left, right, y(score), { class: "thin grid" }),
  ]);
  return [
    ...ticks,
    ...levels,
    text(center, high - 4, SCORE, middle),
    text(left, low + 32, `${KEY_WORD} before ${QUERY_WORD}`),
    text(center, low + 32, "distance", middle),
    text(right, low + 32, `${KEY_WORD} after ${QUERY_WORD}`, end),
  ];
}

/** Made by `arrange`, painted by `paint`, as all parts of Turning; for `since`, see bar.js. */
export function chart(svg, set, current) {
  const frame = shape("g", { "aria-hidden": "true" });
  const curve = shape("polyline", { class: "curve" });
  const across = line({ class: "thin faint", "stroke-dasharray": "2 4" }); // from the dot to the bar
  const dot = shape("circle", { r: 9, class: "grip" });
  svg.append(frame, curve, across);
  const scoreBar = bar(svg);
  svg.append(dot);
  let room; // by `arrange`
  const arrange = (width, top, height) => {
    room = layOut(width, top, height);
    frame.replaceChildren(...unseenBands(room), ...scales(room));
    scoreBar.arrange(room);
  };
  const paint = ({ query: [query], key: [key], shares, score: [score], curve: scores }) => {
    const { x, y, right } = room;
    place(curve, { points: points(scores.map((one, n) => [x(DISTANCES[n]), y(one)])) });
    const [cx, cy] = [round(x(key - query)), round(y(score))];
    place(dot, { cx, cy });
    place(across, { x1: cx, x2: right + 16, y1: cy, y2: cy });
    scoreBar.paint(shares, score);
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
  return { arrange, paint, since: scoreBar.since };
}
