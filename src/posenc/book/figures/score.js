// Turning's score: the number above the key, and how much the last move changed it.

import { assign, clamp, middle, round, shape, show, signed, write } from "./drawing.js";

const NOTE = 40; // how wide the note is, at most
const STEEP = 0.1; // where the score rises by more in one place, the land does to the eye

/**
 * Where the number stands, and the edge of it at which its note begins: in `ruler`'s geometry, for the score
 * of a query and a key, and how much that rises if the key goes right (`lean`).
 */
function scorePlace({ place, width, letters, level }, { key, score, lean }) {
  const [center, top] = place(key);
  const half = (score < 0 ? 1.9 : 1.5) * letters; // it is 1.45 letters large (turning.css)
  const x = clamp(half, center, width - half);
  // The note stands downhill, unless it has no room there: then uphill, and both are higher by the slope.
  const isRising = lean > STEEP;
  const hasRoom = (isRising ? x : width - x) >= half + NOTE;
  const lift = hasRoom ? 0 : Math.abs(lean);
  // Over the key's card; `sky` in ruler.js has the room above the land.
  const y = top + level(score + lift) - 1.5 * letters - 21;
  return { x, y, edge: isRising === hasRoom ? -half : half };
}

/**
 * A part of Turning. `since(score, shouldStay)` says what it is compared with, if with anything, and
 * whether it should have stayed.
 */
export function scoreMark(svg) {
  const number = shape("text", { ...middle, class: "score" });
  const note = shape("text");
  const group = shape("g", { "aria-hidden": "true" }, number, note);
  svg.append(group);
  let geometry; // by `arrange`
  let before; // the score before the last move, if that is what came last
  let shouldStay = false;
  const arrange = (next) => (geometry = next);
  const paint = (shown) => {
    const { score } = shown;
    const { x, y, edge } = scorePlace(geometry, shown);
    assign(group, { transform: `translate(${round(x)},${round(y)})` });
    assign(note, { x: edge, "text-anchor": edge < 0 ? "end" : "start" });
    write(number, show(score, 2));
    const by = score.toFixed(2) - (before ?? score).toFixed(2); // of numbers that are seen
    const isChanged = Math.abs(by) > 0.005;
    const unchanged = shouldStay ? "same" : "score";
    write(note, isChanged ? signed(by) : unchanged);
    note.classList.toggle("changed", isChanged && shouldStay);
  };
  const since = (...news) => ([before, shouldStay] = news);
  return { arrange, paint, since };
}
