// Turning's eight dials, one for each pair.

import { sector, wrapped } from "./angles.js";
import { DIALS } from "./attention.js";
import { PAIRS } from "./constants.js";
import { assign, line, middle, round, shape, signed, text, write } from "./drawing.js";

/** A pair's dial, drawn around its center. Its hands have white edges, which any face sets off. */
function makeDial(fill) {
  const parts = {
    face: shape("circle", { class: "face" }),
    lamp: shape("circle", { class: "lamp", fill }),
    wedge: shape("path", { class: "wedge" }),
    unseen: shape("path", { class: "unseen" }),
    // Edges first: so hands that agree look like one.
    queryEdge: line({ class: "query edge" }),
    keyEdge: line({ class: "key edge" }),
    query: line({ class: "hand query" }),
    key: line({ class: "hand key" }),
    share: text(0, 0, "", middle),
  };
  return { group: shape("g", { "aria-hidden": "true" }, ...Object.values(parts)), ...parts };
}

/** Where a hand is seen to point: the other way, if its length is negative. */
const pointing = ([angle, length]) => (length < 0 ? angle + Math.PI : angle);

/**
 * A part of Turning: the eight dials with both words' hands, the wedge between them, and a face that
 * is lit in its pair's color as far as they agree.
 */
export function dials(svg) {
  const made = PAIRS.map(makeDial);
  svg.append(...made.map(({ group }) => group));
  let radius; // by `arrange`
  /** Place them under an upper edge, and return their lower one. */
  const arrange = ({ width, rows }, top) => {
    const isPhone = rows > 1;
    const columns = DIALS / rows;
    const slot = width / columns;
    radius = Math.round(Math.min(isPhone ? 28 : 43, 0.36 * slot));
    const height = 2 * radius + (isPhone ? 16 : 30);
    const firstRow = top + 24 + radius;
    svg.style.setProperty("--radius", `${radius}px`);
    made.forEach(({ group, share }, pair) => {
      const x = round((0.5 + (pair % columns)) * slot);
      const y = firstRow + Math.floor(pair / columns) * height;
      assign(group, { transform: `translate(${x},${y})` });
      assign(share, { y: radius + 17, display: isPhone ? "none" : "inline" });
    });
    return firstRow - radius + rows * height - 8; // some of the last row's room is below the picture
  };
  const paint = ({ hands, shares, excess }) => {
    // So long in radii are hands of length 1: the key's sticks out of the query's, which hides no part of it.
    // (widgets.py has both numbers, too.)
    const tip = ([angle, length], long) => ({
      x2: round(long * radius * length * Math.cos(angle)),
      y2: round(-long * radius * length * Math.sin(angle)),
    });
    made.forEach((dial, pair) => {
      const [query, key] = [hands.query[pair], hands.key[pair]];
      for (const hand of [dial.query, dial.queryEdge]) assign(hand, tip(query, 0.65));
      for (const hand of [dial.key, dial.keyEdge]) assign(hand, tip(key, 0.9));
      const [from, to] = [query, key].map(pointing);
      assign(dial.wedge, { d: sector(0, 0, 0.4 * radius, from, wrapped(to - from)) });
      // The angles that training never showed, up to the key's.
      assign(dial.unseen, { d: excess[pair] ? sector(0, 0, radius, to - excess[pair], excess[pair]) : "" });
      const light = { opacity: round(10 * Math.max(0, shares[pair])) / 10 };
      for (const part of [dial.lamp, dial.queryEdge, dial.keyEdge]) assign(part, light);
      write(dial.share, signed(shares[pair]));
    });
  };
  return { arrange, paint };
}
