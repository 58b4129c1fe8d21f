// Turning's eight dials, one for each pair.

import { sector, wrapped } from "./angles.js";
import { DIALS } from "./attention.js";
import { PAIRS } from "./constants.js";
import { assign, line, middle, round, shape, signed, text, write } from "./drawing.js";

/** A pair's dial, drawn around its center. The key's hand fits into the query's, which is hollow. */
function makeDial(color, pair) {
  const id = `glow${pair}`;
  const stops = [0.1, 1].map((offset) => shape("stop", { offset }));
  const parts = {
    glow: shape("radialGradient", { id }, ...stops),
    face: shape("circle", { class: "face" }),
    lamp: shape("circle", { class: "lamp", fill: `url(#${id})` }),
    wedge: shape("path", { class: "wedge" }),
    unseen: shape("path", { class: "unseen" }),
    query: line({ class: "hand query" }),
    hollow: line({ class: "hollow" }),
    key: line({ class: "hand key" }),
    share: text(0, 0, "", middle),
  };
  const style = `--pair: ${color}`;
  return { group: shape("g", { style, "aria-hidden": "true" }, ...Object.values(parts)), ...parts };
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
    radius = Math.round(isPhone ? 25 : Math.min(52, 0.39 * slot));
    const height = 2 * radius + 30;
    const firstRow = top + (isPhone ? 10 : 16) + radius;
    svg.style.setProperty("--radius", `${radius}px`);
    made.forEach(({ group, share }, pair) => {
      const x = round((0.5 + (pair % columns)) * slot);
      const row = Math.floor(pair / columns);
      assign(group, { transform: `translate(${x},${firstRow + row * height})` });
      // A phone has room for the numbers of fast clocks, which change most.
      assign(share, { y: radius + 17, display: row ? "none" : "inline" });
    });
    return firstRow - radius + rows * height - 16 * (rows - 1);
  };
  const paint = ({ hands, shares, excess }) => {
    const reach = 0.78 * radius; // of a hand of length 1
    const tip = ([angle, length]) => ({
      x2: round(reach * length * Math.cos(angle)),
      y2: round(-reach * length * Math.sin(angle)),
    });
    made.forEach((dial, pair) => {
      const [query, key] = [hands.query[pair], hands.key[pair]];
      assign(dial.query, tip(query));
      assign(dial.hollow, tip(query));
      assign(dial.key, tip(key));
      const [from, to] = [query, key].map(pointing);
      assign(dial.wedge, { d: sector(0, 0, round(reach / 2), from, wrapped(to - from)) });
      // The angles that training never showed, up to the key's.
      assign(dial.unseen, { d: excess[pair] ? sector(0, 0, radius, to - excess[pair], excess[pair]) : "" });
      assign(dial.lamp, { opacity: round(10 * Math.max(0, shares[pair])) / 10 });
      write(dial.share, signed(shares[pair]));
    });
  };
  return { arrange, paint };
}
