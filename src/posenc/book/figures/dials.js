// Turning's eight dials, one for each pair.

import { sector, wrapped } from "./angles.js";
import { bar } from "./bar.js";
import { PAIRS } from "./constants.js";
import { line, middle, place, round, shape, signed, text, write } from "./drawing.js";

/** A dial, drawn around its center. */
function makeDial(color) {
  const parts = {
    face: shape("circle", { class: "face" }),
    lit: shape("circle", { fill: color }),
    wedge: shape("path"),
    unseen: shape("path", { class: "unseen" }),
    query: line({ class: "hand query" }),
    key: line({ class: "hand key" }),
    share: text(0, 0, "", middle),
  };
  return { color, group: shape("g", { "aria-hidden": "true" }, ...Object.values(parts)), ...parts };
}

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
 * The eight dials: both words' hands, the wedge between them, and a face that is lit as far as they
 * agree; and at their right, the bar that adds them up, whose `since` is told in bar.js.
 * Order: `arrange(width, top)` before the first `paint`, which reads the radius.
 */
export function dials(svg) {
  const made = PAIRS.map(makeDial);
  const name = shape("text", {}, "Eight clocks, fast to slow");
  svg.append(...made.map(({ group }) => group), name);
  const sum = bar(svg);
  let radius; // by `arrange`
  const arrange = (width, top) => {
    const isPhone = width < 560;
    const columns = isPhone ? 4 : 8;
    const room = width - (isPhone ? 98 : 156); // the rest is the bar's
    radius = Math.round(isPhone ? Math.min(34, 0.1 * room) : Math.min(56, 0.056 * room));
    const across = (room - 2 * radius) / (columns - 1);
    const down = 2 * radius + (isPhone ? 20 : 24);
    const high = top + (isPhone ? 24 : 32);
    made.forEach(({ group, face, lit, share }, pair) => {
      const x = round(radius + (pair % columns) * across);
      const y = high + radius + Math.floor(pair / columns) * down;
      place(group, { transform: `translate(${x},${y})` });
      for (const disc of [face, lit]) place(disc, { r: radius });
      place(share, { y: radius + 16 });
    });
    place(name, { y: high - 10 });
    const bottom = high + (PAIRS.length / columns) * down;
    sum.arrange(room + 16, high, bottom - down + 2 * radius, isPhone);
    return bottom;
  };
  const paint = ({ hands, shares, score, excess }) => {
    const reach = 0.88 * radius; // of a hand of length 1
    made.forEach((dial, pair) => {
      for (const word of ["query", "key"]) {
        const [angle, length] = hands[word][pair];
        place(dial[word], { x2: round(reach * length * Math.cos(angle)), y2: round(-reach * length * Math.sin(angle)) });
      }
      const key = hands.key[pair];
      paintWedge(dial, reach, hands.query[pair], key);
      // The angles that training never showed, up to the key's.
      place(dial.unseen, { d: excess[pair] ? sector(0, 0, radius, key[0] - excess[pair], excess[pair]) : "" });
      place(dial.lit, { "fill-opacity": round(5.5 * Math.max(0, shares[pair])) / 10 });
      write(dial.share, signed(shares[pair]));
    });
    sum.paint(shares, score);
  };
  return { arrange, paint, since: sum.since };
}
