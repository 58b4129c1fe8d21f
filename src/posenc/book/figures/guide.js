// Turning's guide: what to try next, one move after the other.

import { FARTHEST, LOOKS_BACK } from "./attention.js";
import { phrase } from "./controls.js";
import { element } from "./drawing.js";
import { between, glide } from "./motion.js";
import { WORDS, actOf } from "./telling.js";

/** Both words where all hands agree, with the query on a place, or as near as it can be. */
function agreeing(place) {
  const query = Math.max(place, LOOKS_BACK);
  return { query, key: query - LOOKS_BACK };
}

/** Both words moved, to the end that is farther. A query looks back from the places after LOOKS_BACK. */
const together = {
  startAt: agreeing,
  endAt: (query) => agreeing(2 * query < LOOKS_BACK + FARTHEST ? FARTHEST : 0),
  isDone: (from, to) => actOf(from, to) === "both",
};

/**
 * Things to try, each with
 * - what it `says`, and the `method` that it is for;
 * - `startAt` and `endAt`, which give the places of both words before and after a film, by the query's;
 * - whether a change `isDone`, by the reader or by the film, given the states before and after it.
 */
const MOVES = [
  {
    says: `Drag ${WORDS.key} to where ${WORDS.query} looks: three words back.`,
    method: "turned",
    startAt: () => ({}),
    endAt: agreeing,
    isDone: (_, { query, key }) => query - key === LOOKS_BACK,
  },
  { says: "Drag both, by the bracket.", method: "turned", ...together },
  {
    says: "Drag both again, to the other end.",
    method: "added",
    ...together,
    // A short way may change the score by little.
    isDone: (from, to) => together.isDone(from, to) && Math.abs(to.query - from.query) > 3,
  },
];
/** What is said once all is done. */
const LESSON = "Learned once, it holds anywhere if turned. Added, it may fail.";

/**
 * A line with the next thing to try, and a button that shows it, as a film. A film ends by itself, by
 * the button, by `stop()`, and by any other change at rest, which stays. `watch(from, to)` gets the
 * states before and after each change at rest.
 */
export function guide(set, current) {
  const words = element("span");
  const button = element("button", { type: "button" });
  const row = element("p", { class: "moves" }, words, button);
  const first = current();
  const done = new Set();
  let isShowing = false;
  let cancel; // the motion of a showing
  /**
   * Rest at the end of a film, or with an empty change where it has come to. Each `set` at rest calls
   * `watch` before it returns, and that calls `stop`: so no film may be showing by then.
   */
  const finish = (last) => {
    isShowing = false;
    set(last);
  };
  /** End a showing: words come to rest on places. */
  const stop = () => {
    if (!isShowing) return;
    cancel();
    finish({});
  };
  const nextMove = () => MOVES.find((move) => !done.has(move));
  const write = () => {
    const state = current();
    const move = nextMove();
    const choose = move && move.method !== state.method ? move.method : "";
    const says = move?.says ?? LESSON;
    words.replaceChildren(...phrase(choose ? `Choose “${choose}.”` : says, state));
    button.textContent = move ? "Show me" : "Again";
    row.classList.toggle("aims", move === MOVES[0] && !choose && state.rule === "as trained");
  };
  /** Start from a move's first state at once, and move the words to their places. */
  const perform = ({ method, startAt, endAt }) => {
    set({ rule: "as trained", method, ...startAt(current().query) });
    const start = current();
    const aim = endAt(start.query);
    isShowing = true;
    cancel = glide(
      2400,
      (share) => set(between(start, aim, share), true),
      () => finish(aim),
    );
  };
  button.addEventListener("click", () => {
    stop();
    const move = nextMove();
    if (move) return perform(move);
    set(first);
    set({}); // at rest: nothing has moved since
    done.clear(); // of what came before, and of the way back
    write();
  });
  write();
  return {
    row,
    stop,
    watch(from, to) {
      stop(); // a reader's change during a film; it nests another one, empty
      for (const move of MOVES) if (move.method === to.method && move.isDone(from, to)) done.add(move);
      write();
    },
  };
}
