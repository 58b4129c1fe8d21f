// Turning's landscape: as high over each place as the score of a key there, in layers, of which each
// pair adds one in its color, the slowest the lowest. It belongs to the query.

import { DISTANCES, FARTHEST, HEAD, REACH } from "./attention.js";
import { PAIRS } from "./constants.js";
import { assign, end, points, round, shape, text } from "./drawing.js";

/** Whether a position is one in the text, or three and a half beyond its ends. */
const isInSight = (position) => Math.abs(position - FARTHEST / 2) <= REACH - FARTHEST / 2;

/** A row of the ruler, which moves with the query; turning.css cuts off what is beyond its ends. */
function makeRow({ ground, slot }) {
  const [edge, far] = [(HEAD.trained - 0.5) * slot, REACH * slot]; // of what is beyond training
  const fog = (from, to) => shape("path", { d: `M${from},0V${ground}H${to}V0`, class: "beyond" });
  const label = (x, anchor) => text(x, 34, "beyond training", { ...anchor, class: "beyond" });
  // Fast pairs first: their layers reach down to the ground, and slower ones cover them.
  const strata = PAIRS.map((fill) => shape("path", { class: "stratum", fill }));
  const sky = shape("path", { fill: "var(--page)" }); // over layers that faster pairs take away from
  const changed = shape("polygon", { class: "changed" }); // from how it was before the last move to now
  const ridge = shape("path", { class: "curve" });
  const base = shape("path", { d: `M${-far},${ground}H${far}`, class: "thin faint" });
  const unseen = [fog(edge, far), fog(-edge, -far), label(edge + 8), label(-edge - 8, end)];
  const land = shape("g", { class: "row" }, ...strata, sky, base, changed, ridge, ...unseen);
  return { land, strata, sky, changed, ridge };
}

/**
 * The data of a curve through places, at each as steep as the line between those beside it (Catmull and
 * Rom). A piece has its second handle, a third of the way back to the place before, and its end; S mirrors
 * the handle of the piece before.
 */
function curveThrough(places, third) {
  const pieces = places.flatMap(([x, y], n) => {
    const rise = (places[n + 1] ?? [x, y])[1] - (places[n - 1] ?? [x, y])[1];
    return [[x - third, y - rise / 6], [x, y]];
  });
  return `M${places[0]}S${points(pieces)}`;
}

/**
 * A part of Turning. `since(curve)` gets the scores before the last move, if that is what came last:
 * they move with the query, too, so that a difference is seen only if the landscape has another form.
 */
export function landscape(svg) {
  const group = shape("g", { "aria-hidden": "true" });
  svg.append(group);
  let geometry, rows; // by `arrange`
  let before; // by `since`
  let drawn; // the layers that are
  const arrange = (next) => {
    geometry = next;
    drawn = undefined;
    rows = Array.from({ length: geometry.rows }, () => makeRow(geometry));
    group.replaceChildren(...rows.map(({ land }) => land));
  };
  const paint = ({ query, layers, curve, sharp }, method) => {
    const { slot, height, ground, level, xIn } = geometry;
    // Layers that change with the query end where they are seen.
    const corners = (scores) =>
      scores
        .map((score, n) => [DISTANCES[n] * slot, level(score)])
        .filter((_, n) => method !== "added" || isInSight(DISTANCES[n] + query));
    const isNew = before && before !== curve; // the same list has not changed
    const changes = points(isNew ? [...corners(before), ...corners(curve).reverse()] : []);
    rows.forEach(({ land, changed }, row) => {
      assign(land, { transform: `translate(${round(xIn(row, query))},${row * height})` });
      assign(changed, { points: changes });
    });
    // The same list has the same numbers: attention.js gives it in most drags, in which the landscape
    // only moves. A glide makes new ones.
    if (layers === drawn) return;
    drawn = layers;
    const along = (scores) => (sharp ? `M${points(corners(scores))}` : curveThrough(corners(scores), slot / 6));
    /** The data of what lies between a curve and a height. */
    const area = (scores, y) => `${along(scores)}V${y}H${-REACH * slot}`;
    const areas = PAIRS.map((_, pair) => area(layers.map((sums) => sums.at(-1 - pair)), ground));
    const paths = [...areas, area(curve, 0), along(curve)];
    for (const { strata, sky, ridge } of rows) {
      // Without `assign`, which would read back what is long, and new.
      [...strata, sky, ridge].forEach((part, n) => part.setAttribute("d", paths[n]));
    }
  };
  const since = (scores) => (before = scores);
  return { arrange, paint, since };
}
