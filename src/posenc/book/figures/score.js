// Turning's score: the number above the key, and how much the last move changed it.

import { DISTANCES } from "./attention.js";
import { assign, clamp, middle, round, shape, show, signed, write } from "./drawing.js";

/** A score as it is shown, so that a difference is that of numbers that are seen. */
const rounded = (score) => Number(score.toFixed(2));

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
  const paint = ({ query, key, score, curve }) => {
    const { width, letters, level } = geometry;
    const [x, top] = geometry.place(key);
    // Above the words on both sides of the key's.
    const near = curve.filter((_, n) => Math.abs(DISTANCES[n] - key + query) < 1.2);
    // The number is 1.8 letters large (turning.css), which gives its width. The note beside it is up to
    // 46 wide. `sky` in ruler.js has the room above the land.
    const y = top + level(Math.max(...near)) - 1.5 * letters - 18;
    const half = (score < 0 ? 2.4 : 1.9) * letters; // of the number's width
    assign(group, { transform: `translate(${round(clamp(half, x, width - half - 46))},${round(y)})` });
    assign(note, { x: half });
    write(number, show(score, 2));
    const by = rounded(score) - rounded(before ?? score);
    const isChanged = Math.abs(by) > 0.005;
    const unchanged = shouldStay ? "same" : "score";
    write(note, isChanged ? signed(by) : unchanged);
    note.classList.toggle("changed", isChanged && shouldStay);
  };
  const since = (...news) => ([before, shouldStay] = news);
  return { arrange, paint, since };
}
