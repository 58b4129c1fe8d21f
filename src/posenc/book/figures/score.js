// Turning's score: the number above the key, and how much the last move changed it.

import { assign, clamp, middle, round, shape, show, signed, write } from "./drawing.js";

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
  const paint = ({ query, key, score, lean }) => {
    const { width, letters, level } = geometry;
    const [place, top] = geometry.place(key);
    // The number is 1.8 letters large (turning.css), which gives its width. On a slope, its edge uphill is
    // that of the key's card, so that it stays clear of higher words.
    const half = (score < 0 ? 2.4 : 1.9) * letters;
    const x = clamp(half, place - clamp(-0.3, lean, 0.3) * half, width - half);
    // The note stands downhill, up to 40 wide. Both are higher where it has no room there, and where
    // the card of a query uphill is close.
    const out = half + 40 - (lean > 0.1 ? x : width - x);
    const apart = query - key;
    const lift = out > 0 ? Math.abs(lean) : Math.max(0, lean * apart - 2 * apart ** 4);
    // `sky` in ruler.js has the room above the land.
    const y = top + level(score + lift) - 1.5 * letters - 18;
    assign(group, { transform: `translate(${round(x)},${round(y)})` });
    const isLeft = lean > 0.1 !== out > 0;
    assign(note, { x: isLeft ? -half : half, "text-anchor": isLeft ? "end" : "start" });
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
