// Turning's eight dials, one for each pair.

import { sector, wrapped } from "./angles.js";
import { PAIRS } from "./constants.js";
import { clamp, line, middle, place, round, shape, signed, text, write } from "./drawing.js";

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

/** The end of a hand, in its word's color; its radius is in widths of the hand. */
const tip = (name, r) => shape("marker", { id: name, overflow: "visible" }, shape("circle", { r, class: name }));

/** Fill the wedge between hands, in the pair's color where they agree, and in gray where they oppose. */
function paintWedge({ wedge, color }, reach, [from, length], [to, otherLength]) {
  // A hand of negative length points the other way, and so does its side of the wedge.
  const start = length < 0 ? from + Math.PI : from;
  const opening = wrapped(to - from + (length * otherLength < 0 ? Math.PI : 0));
  const cosine = Math.cos(opening);
  place(wedge, {
    d: sector(0, 0, round(reach * Math.sqrt(Math.abs(length * otherLength))), start, opening),
    fill: cosine < 0 ? "currentColor" : color,
    "fill-opacity": round(2 + (cosine < 0 ? 1 : 5) * Math.abs(cosine)) / 10,
  });
}

/**
 * Mark the angles that training never showed, up to the key's: they begin at `most`, the widest one
 * that it showed, counted from where the place alone turns the query.
 */
function paintUnseen({ unseen }, radius, placed, key, most) {
  const apart = wrapped(key - placed);
  const seen = clamp(-most, apart, most);
  place(unseen, { d: sector(0, 0, radius, placed + seen, apart - seen) });
}

/**
 * The eight dials: both words' hands, the wedge between them, and a face that is lit as far as they
 * agree. `paint` shows numbers by pair, as `flat` in turning.js names them.
 * Order: `arrange(width, top)` before the first `paint`, which reads the radius.
 */
export function dials(svg) {
  const made = PAIRS.map(makeDial);
  const name = shape("text", {}, "Eight clocks, fast to slow, and what each adds");
  svg.append(tip("query", 1.9), tip("key", 1.15), ...made.map(({ group }) => group), name);
  let radius; // by `arrange`
  const arrange = (width, top) => {
    const isPhone = width < 560;
    const columns = isPhone ? 4 : 8;
    const across = width / columns;
    const head = top + (isPhone ? 20 : 30); // the line on which the name stands
    radius = isPhone ? 26 : Math.round(across * 0.43);
    const down = 2 * radius + (isPhone ? 32 : 24);
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
  const paint = ({ queryAngles, queryLengths, keyAngles, keyLengths, shares, learned, seen }) =>
    made.forEach((dial, pair) => {
      const reach = 0.84 * radius; // of a hand of length 1
      const query = [queryAngles[pair], queryLengths[pair]];
      const key = [keyAngles[pair], keyLengths[pair]];
      for (const [hand, [angle, length]] of [[dial.query, query], [dial.key, key]])
        place(hand, { x2: round(reach * length * Math.cos(angle)), y2: round(-reach * length * Math.sin(angle)) });
      paintWedge(dial, reach, query, key);
      paintUnseen(dial, radius, query[0] - learned[pair], key[0], seen[pair]);
      place(dial.lit, { "fill-opacity": round(4 * Math.max(0, shares[pair])) / 10 });
      write(dial.share, signed(shares[pair]));
    });
  return { arrange, paint };
}
