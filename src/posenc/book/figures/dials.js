// Turning's eight dials, one for each pair.

import { sector, wrapped } from "./angles.js";
import { PAIRS } from "./constants.js";
import { line, middle, place, round, shape, show, text, write } from "./drawing.js";

/**
 * The eight dials: both words' hands, and the wedge between them, filled by its cosine. `paint`
 * shows numbers by pair, as `flat` in turning.js names them.
 * Order: `arrange(width, top, height)` before the first `paint`, which reads its centers and radius.
 */
export function dials(svg) {
  const made = PAIRS.map((color) => {
    const parts = {
      rim: shape("circle", { class: "thin faint" }),
      wedge: shape("path", { stroke: color, "stroke-width": 1 }),
      unseen: shape("path", { class: "unseen" }),
      query: line({ class: "hand query" }),
      key: line({ class: "hand key" }),
      cosine: text(0, 0, "", middle),
    };
    svg.append(shape("g", { class: "dial", "aria-hidden": "true" }, ...Object.values(parts)));
    return { color, ...parts };
  });
  const speeds = text(0, 0, "eight clocks, fast to slow, and what each adds", { ...middle, class: "speeds" });
  svg.append(speeds);
  const centers = []; // by `arrange`, as the radius
  let radius;
  const arrange = (width, top, height) => {
    const [columns, rows] = width < 560 ? [4, 2] : [8, 1];
    const [across, down] = [width / columns, (height - 16) / rows];
    radius = Math.round(Math.min(across * 0.43, down / 2 - 14));
    made.forEach(({ rim, cosine }, pair) => {
      const cx = round((pair % columns) * across + across / 2);
      const cy = round(top + 20 + Math.floor(pair / columns) * down + radius);
      centers[pair] = [cx, cy];
      place(rim, { cx, cy, r: radius });
      place(cosine, { x: cx, y: cy + radius + 16 });
    });
    place(speeds, { x: width / 2, y: top + 12 });
  };
  const point = (hand, [cx, cy], angle, length) =>
    place(hand, {
      x1: cx,
      y1: cy,
      x2: round(cx + radius * length * Math.cos(angle)),
      y2: round(cy - radius * length * Math.sin(angle)),
    });
  /** Fill a wedge with its pair's color where the hands agree, and with gray where they oppose. */
  const fill = ({ wedge, color }, cosine) =>
    place(wedge, {
      fill: cosine < 0 ? "currentColor" : color,
      "fill-opacity": 0.08 + (cosine < 0 ? 0.4 : 0.8) * Math.abs(cosine),
    });
  /**
   * Mark the angles that training never showed: `placed` is the query's by its place alone, `apart`
   * the turn from there to the key, and `seen` the widest one of training, at which they begin.
   */
  const paintUnseen = ({ unseen }, [cx, cy], placed, apart, seen) => {
    const beyond = Math.max(0, Math.abs(apart) - seen);
    const sign = Math.sign(apart);
    place(unseen, { d: sector(cx, cy, radius, placed + sign * seen, sign * beyond) });
  };
  const paint = (shown) =>
    made.forEach((dial, pair) => {
      const [cx, cy] = centers[pair];
      const from = shown.queryAngles[pair];
      const turn = wrapped(shown.keyAngles[pair] - from);
      const [lengthQ, lengthK] = [shown.queryLengths[pair], shown.keyLengths[pair]];
      // A hand of negative length points the other way, and so does its side of the wedge.
      const start = lengthQ < 0 ? from + Math.PI : from;
      const opening = lengthQ * lengthK < 0 ? wrapped(turn + Math.PI) : turn;
      const reach = round(radius * 0.7 * Math.sqrt(Math.abs(lengthQ * lengthK)));
      place(dial.wedge, { d: sector(cx, cy, reach, start, opening) });
      fill(dial, Math.cos(opening));
      const placed = from - shown.learned[pair];
      const apart = wrapped(shown.keyAngles[pair] - placed);
      paintUnseen(dial, centers[pair], placed, apart, shown.seen[pair]);
      point(dial.query, centers[pair], from, lengthQ);
      point(dial.key, centers[pair], shown.keyAngles[pair], lengthK);
      write(dial.cosine, show(shown.shares[pair], 2));
    });
  return { arrange, paint };
}
