// Turning's eight dials, one for each pair.

import { sector, wrapped } from "./angles.js";
import { HEAD } from "./attention.js";
import { bar } from "./bar.js";
import { line, middle, place, round, shape, signed, text, write } from "./drawing.js";

const DIALS = HEAD.d_model / 2;

/** A dial, drawn around its center. */
function makeDial() {
  const parts = {
    face: shape("circle", { class: "face" }),
    lit: shape("circle", { class: "lit" }),
    wedge: shape("path", { class: "wedge" }),
    unseen: shape("path", { class: "unseen" }),
    query: line({ class: "hand query" }),
    key: line({ class: "hand key" }),
    share: text(0, 0, "", middle),
  };
  return { group: shape("g", { "aria-hidden": "true" }, ...Object.values(parts)), ...parts };
}

/** Where a hand is seen to point: the other way, if its length is negative. */
const pointing = ([angle, length]) => (length < 0 ? angle + Math.PI : angle);

/**
 * The eight dials: both words' hands, the wedge between them, and a face that is lit as far as they
 * agree; and at their right, what they add up to, whose `since` is told in bar.js.
 * Order: `arrange(width, top)` before the first `paint`, which reads the radius.
 */
export function dials(svg) {
  const made = Array.from({ length: DIALS }, makeDial);
  const name = shape("text", {}, "Eight clocks, fast to slow");
  svg.append(...made.map(({ group }) => group), name);
  const sum = bar(svg);
  let radius; // by `arrange`
  const arrange = (width, top) => {
    const isPhone = width < 560;
    const columns = isPhone ? 4 : 8;
    const room = width - (isPhone ? 102 : 156); // the rest is the bar's
    radius = Math.round(isPhone ? Math.min(34, 0.1 * room) : Math.min(56, 0.056 * room));
    const across = (room - 2 * radius) / (columns - 1);
    const down = 2 * radius + (isPhone ? 20 : 24);
    const high = top + (isPhone ? 24 : 32);
    made.forEach(({ group, face, lit, share }, pair) => {
      const x = round(radius + (pair % columns) * across);
      const y = high + radius + Math.floor(pair / columns) * down;
      place(group, { transform: `translate(${x},${y})` });
      place(face, { r: radius });
      place(lit, { r: radius - 2 });
      place(share, { y: radius + 14 });
    });
    place(name, { y: high - 10 });
    const bottom = high + (DIALS / columns) * down;
    sum.arrange(room + 16, high, bottom - down + 2 * radius, isPhone);
    return bottom;
  };
  const paint = ({ hands, shares, score, excess }) => {
    const reach = 0.82 * radius; // of a hand of length 1
    made.forEach((dial, pair) => {
      for (const word of ["query", "key"]) {
        const [angle, length] = hands[word][pair];
        place(dial[word], { x2: round(reach * length * Math.cos(angle)), y2: round(-reach * length * Math.sin(angle)) });
      }
      const [from, to] = [hands.query[pair], hands.key[pair]].map(pointing);
      place(dial.wedge, { d: sector(0, 0, reach / 2, from, wrapped(to - from)) });
      // The angles that training never showed, up to the key's.
      place(dial.unseen, { d: excess[pair] ? sector(0, 0, radius, to - excess[pair], excess[pair]) : "" });
      place(dial.lit, { opacity: round(10 * Math.max(0, shares[pair])) / 10 });
      write(dial.share, signed(shares[pair]));
    });
    sum.paint(score);
  };
  return { arrange, paint, since: sum.since };
}
