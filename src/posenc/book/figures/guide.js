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

/** Both words moved, to the end that is farther: 9 is the middle of where a query looks three back. */
const together = {
  from: agreeing,
  to: (query) => agreeing(query < 9 ? FARTHEST : 0),
  isDone: (from, to) => actOf(from, to) === "both",
};

/**
 * Things to try, each with
 * - what it `says`, and the `method` that it is for;
 * - the places `from` and `to` which a film moves the words, given the query's;
 * - whether a change `isDone`, by the reader or by the film.
 */
const MOVES = [
  {
    says: `Drag ${WORDS.key} to where ${WORDS.query} looks: three words back.`,
    method: "turned",
    from: () => ({}),
    to: agreeing,
    isDone: (_, { query, key }) => query - key === LOOKS_BACK,
  },
  { says: "Drag both, by the bracket.", method: "turned", ...together },
  {
    says: "Drag both again, to the other end.",
    method: "added",
    ...together,
    // A way of five places or less changes the score by little.
    isDone: (from, to) => together.isDone(from, to) && Math.abs(to.query - from.query) > 5,
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
  /** Rest at the end of a film, or with an empty change where it has come to. */
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
    row.dataset.choose = choose;
    row.classList.toggle("aims", move === MOVES[0] && !choose && state.rule === "as trained");
  };
  /** Start from a move's first state at once, and move the words to their places. */
  const perform = ({ method, from, to }) => {
    const { query } = current();
    set({ rule: "as trained", method, ...from(query) });
    const start = current();
    const aim = to(start.query);
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
    done.clear();
    set(first);
    set({}); // at rest: nothing has moved since
  });
  write();
  return {
    row,
    stop,
    watch(from, to) {
      stop(); // unless it was that which ended
      for (const move of MOVES) if (move.method === to.method && move.isDone(from, to)) done.add(move);
      write();
    },
  };
}
