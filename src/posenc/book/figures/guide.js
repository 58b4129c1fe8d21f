// Turning's guide: what to try next, one move after the other.

import { FARTHEST } from "./attention.js";
import { element } from "./drawing.js";
import { glide } from "./motion.js";
import { KEY_WORD } from "./sentence.js";
import { isTogether } from "./telling.js";

/** Both words moved by up to seven places, to the side where there is more room. */
function movedBoth({ query, key }) {
  const [low, high] = [Math.min(query, key), FARTHEST - Math.max(query, key)];
  const by = high >= low ? Math.min(7, high) : -Math.min(7, low);
  return { query: query + by, key: key + by };
}

/** Things to try: what they say, the states that show them, and whether a change was one of them. */
const MOVES = [
  {
    says: ["Drag ", [KEY_WORD], ", and watch the wedges between the hands."],
    shows: ({ query }) => ({ key: query > 2 ? query - 2 : query + 2 }),
    isDone: (from, to) => from.key !== to.key && from.query === to.query,
  },
  {
    says: ["Now drag both, by the bracket."],
    shows: movedBoth,
    isDone: isTogether,
  },
  {
    says: ["Now add instead of turning: choose “added”, and drag both."],
    shows: (state) => ({ method: "added", ...movedBoth(state) }),
    isDone: (from, to) => to.method === "added" && isTogether(from, to),
  },
];
const LESSON = "Turned, a score depends on which word comes first and on how far apart they are, wherever they stand.";

/**
 * A line with the next thing to try, and a button that shows it.
 * `watch(from, to)` gets the states before and after each change at rest; `stop()` ends a showing.
 */
export function guide(set, current) {
  const words = element("span");
  const button = element("button", { type: "button" });
  const row = element("p", { class: "moves" }, words, button);
  let next = 0;
  let stop = () => {};
  const write = () => {
    const says = MOVES[next]?.says ?? [LESSON];
    const nodes = says.map((part) => (typeof part === "string" ? part : element("b", {}, ...part)));
    words.replaceChildren(...nodes);
    button.textContent = MOVES[next] ? "Show me" : "Again";
    row.dataset.next = next;
  };
  /** Choose the method at once, and move the words to their places. */
  const perform = ({ method = current().method, ...places }) => {
    if (method !== current().method) set({ method });
    const start = current();
    const placesAt = (share) =>
      Object.entries(places).map(([name, place]) => [name, start[name] + share * (place - start[name])]);
    stop = glide(
      2400,
      (share) => set(Object.fromEntries(placesAt(share)), true),
      () => set(places),
    );
  };
  button.addEventListener("click", () => {
    stop();
    if (MOVES[next]) return perform(MOVES[next].shows(current()));
    set({ method: "turned", rule: "as trained", base: 100, query: 6, key: 1 });
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
