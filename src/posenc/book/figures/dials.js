// Turning's eight dials, one for each pair.

import { sector, wrapped } from "./angles.js";
import { PAIRS } from "./constants.js";
import { line, middle, place, round, shape, signed, text, write } from "./drawing.js";

/** A dial, drawn around its center. */
function makeDial(color) {
  const parts = {
    face: shape("circle", { class: "face" }),
    lit: shape("circle", { fill: color }),
    wedge: shape("path"),
    unseen: shape("path", { class: "unseen" }),
    query: line({ class: "hand query", "marker-end": "url(#query)" }),
    key: line({ class: "hand key", "marker-end": "url(#key)" }),
    share: text(0, 0, "", middle),
  };
  return { color, group: shape("g", { "aria-hidden": "true" }, ...Object.values(parts)), ...parts };
}

/** The end of a hand, in its word's color; its size is in widths of the hand. */
const tip = (name, size) =>
  shape(
    "marker",
    { id: name, viewBox: "-5 -5 10 10", markerWidth: size, markerHeight: size },
    shape("circle", { r: 4.8, class: name }),
  );

/**
 * The eight dials: both words' hands, the wedge between them, and a face that is lit as far as they
 * agree. `paint` shows numbers by pair, as `flat` in turning.js names them.
 * Order: `arrange(width, top)` before the first `paint`, which reads the radius.
 */
export function dials(svg) {
  const made = PAIRS.map(makeDial);
  const name = shape("text", {}, "Eight clocks, fast to slow, and what each adds");
  svg.append(tip("query", 4), tip("key", 2.4), ...made.map(({ group }) => group), name);
  let radius; // by `arrange`
  const arrange = (width, top) => {
    const isPhone = width < 560;
    const columns = isPhone ? 4 : 8;
    const across = width / columns;
    const head = top + (isPhone ? 20 : 30); // the line on which the name stands
    radius = isPhone ? 26 : Math.round(across * 0.43);
    const down = 2 * radius + (isPhone ? 22 : 24);
    made.forEach(({ group, face, lit, share }, pair) => {
      const x = round(((pair % columns) + 0.5) * across);
      const y = head + 10 + radius + Math.floor(pair / columns) * down;
      place(group, { transform: `translate(${x},${y})` });
      for (const disc of [face, lit]) place(disc, { r: radius });
      place(share, { y: radius + 17 });
    });
    place(name, { y: head });
    return head + 4 + (PAIRS.length / columns) * down;
  };
  const paint = (shown) =>
    made.forEach((dial, pair) => {
      const reach = 0.84 * radius; // of a hand of length 1
      const point = (hand, angle, length) =>
        place(hand, { x2: round(reach * length * Math.cos(angle)), y2: round(-reach * length * Math.sin(angle)) });
      const from = shown.queryAngles[pair];
      const turn = wrapped(shown.keyAngles[pair] - from);
      const [lengthQ, lengthK] = [shown.queryLengths[pair], shown.keyLengths[pair]];
      point(dial.query, from, lengthQ);
      point(dial.key, from + turn, lengthK);
      // A hand of negative length points the other way, and so does its side of the wedge.
      const start = lengthQ < 0 ? from + Math.PI : from;
      const opening = lengthQ * lengthK < 0 ? wrapped(turn + Math.PI) : turn;
      const cosine = Math.cos(opening);
      // In the pair's color where the hands agree, and in gray where they oppose.
      place(dial.wedge, {
        d: sector(0, 0, round(reach * Math.sqrt(Math.abs(lengthQ * lengthK))), start, opening),
        fill: cosine < 0 ? "currentColor" : dial.color,
        "fill-opacity": round(2 + (cosine < 0 ? 1 : 5) * Math.abs(cosine)) / 10,
      });
      // What training never showed begins at the widest angle that it showed, counted from where the
      // place alone turns the query, and goes on to the key.
      const placed = from - shown.learned[pair];
      const apart = wrapped(shown.keyAngles[pair] - placed);
      const seen = Math.sign(apart) * Math.min(shown.seen[pair], Math.abs(apart));
      place(dial.unseen, { d: sector(0, 0, radius, placed + seen, apart - seen) });
      const share = shown.shares[pair];
      place(dial.lit, { "fill-opacity": round(4 * Math.max(0, share)) / 10 });
      write(dial.share, signed(share));
    });
  return { arrange, paint };
}
