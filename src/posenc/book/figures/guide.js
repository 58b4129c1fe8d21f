// Turning's guide: what to try next, one move after the other.

import { FARTHEST, LOOKS_BACK } from "./attention.js";
import { phrase } from "./controls.js";
import { element } from "./drawing.js";
import { glide } from "./motion.js";
import { WORDS, isTogether } from "./telling.js";

/** A place two from the query, from which wedges are open. */
const near = (query) => (query > 2 ? query - 2 : query + 2);

/** The key moved to where all hands agree, or near the query if it is there, or there is no such place. */
function movedKey({ query, key }) {
  const best = query - LOOKS_BACK;
  return { to: { key: best < 0 || key === best ? near(query) : best } };
}

/**
 * Both words moved by up to seven places, to the side where there is more room. The key starts near
 * the query if there is too little.
 */
function movedBoth({ query, key }) {
  const hasRoom = Math.abs(query - key) < 12;
  const from = { rule: "as trained", query, key: hasRoom ? key : near(query) };
  const [low, high] = [Math.min(query, from.key), FARTHEST - Math.max(query, from.key)];
  const by = high >= low ? Math.min(7, high) : -Math.min(7, low);
  return { from, to: { query: query + by, key: from.key + by } };
}

/**
 * Things to try: what they say, the states from and to which a film shows them, and whether a change
 * was one of them, as the film's has to be.
 */
const MOVES = [
  {
    says: `Drag ${WORDS.key}, and watch the clocks.`,
    shows: movedKey,
    isDone: (from, to) => from.key !== to.key && from.query === to.query,
  },
  {
    says: "Now drag both, by the bracket.",
    shows: movedBoth,
    isDone: isTogether,
  },
  {
    says: "Now add instead: choose “added”, and drag both.",
    shows(state) {
      const { from, to } = movedBoth(state);
      return { from: { ...from, method: "added" }, to };
    },
    isDone: (from, to) => to.method === "added" && isTogether(from, to),
  },
];
const LESSON = "Added, the place counts. Turned, only order and distance do.";

/**
 * A line with the next thing to try, and a button that shows it.
 * `watch(from, to)` gets the states before and after each change at rest; `stop()` ends a showing.
 */
export function guide(set, current) {
  const words = element("span");
  const button = element("button", { type: "button" });
  const row = element("p", { class: "moves" }, words, button);
  const first = current();
  let next = 0;
  let stop = () => {};
  const write = () => {
    words.replaceChildren(...phrase(MOVES[next]?.says ?? LESSON, current()));
    button.textContent = MOVES[next] ? "Show me" : "Again";
    row.dataset.next = next;
  };
  /** Start from a state at once, and move the words to their places. */
  const perform = ({ from = {}, to }) => {
    set(from);
    const start = current();
    const placesAt = (share) =>
      Object.entries(to).map(([name, place]) => [name, start[name] + share * (place - start[name])]);
    stop = glide(
      2400,
      (share) => set(Object.fromEntries(placesAt(share)), true),
      () => set(to),
    );
  };
  button.addEventListener("click", () => {
    stop();
    if (MOVES[next]) return perform(MOVES[next].shows(current()));
    set(first);
    next = 0;
    write();
  });
  write();
  return {
    row,
    stop: () => stop(),
    watch(from, to) {
      if (!MOVES[next]?.isDone(from, to)) return;
      next += 1;
      write();
    },
  };
}
