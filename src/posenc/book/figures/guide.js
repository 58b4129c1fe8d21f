// Turning's guide: what to try next, one move after the other.
//
// Uses attention.js (FARTHEST), drawing.js (element), motion.js (glide), sentence.js (KEY_WORD).

/** Whether a change moved both words alike. */
const isTogether = (from, to) => from.query !== to.query && to.query - from.query === to.key - from.key;
/** Both words moved by up to seven places, to the side where there is more room. */
function movedBoth({ query, key }) {
  const [low, high] = [Math.min(query, key), FARTHEST - Math.max(query, key)];
  const by = high >= low ? Math.min(7, high) : -Math.min(7, low);
  return { query: query + by, key: key + by };
}

/** Things to try: what they say, what shows them, and whether a change was one of them. */
const MOVES = [
  {
    says: ["Drag ", [KEY_WORD], "."],
    shows: ({ query }) => ({ key: query > 2 ? query - 2 : query + 2 }),
    isDone: (from, to) => from.key !== to.key && from.query === to.query,
  },
  {
    says: ["Now drag both, by the bracket."],
    shows: movedBoth,
    isDone: isTogether,
  },
  {
    says: ["Now add instead of turning: choose “added” below."],
    shows: () => ({ method: "added" }),
    isDone: (from, to) => from.method !== "added" && to.method === "added",
  },
  {
    says: ["And drag both again."],
    shows: movedBoth,
    isDone: (from, to) => to.method === "added" && isTogether(from, to),
  },
];

/**
 * A line with the next thing to try, and a button that shows it.
 * `watch(from, to)` gets the states before and after each change at rest; `stop()` ends a showing.
 */
function guide(set, current) {
  const words = element("span");
  const button = element("button", { type: "button" }, "Show me");
  const row = element("p", { class: "moves" }, words, button);
  let next = 0;
  let stop = () => {};
  const write = () => {
    const says = MOVES[next]?.says ?? ["Turned, two words know how far apart they are, not where."];
    const nodes = says.map((part) => (typeof part === "string" ? part : element("b", {}, ...part)));
    words.replaceChildren(...nodes);
    button.textContent = MOVES[next] ? "Show me" : "Again";
  };
  /** Move from the current state to another one. */
  const perform = (change) => {
    if (change.method) return set(change);
    const start = current();
    const names = Object.keys(change);
    const on = (share) => names.map((name) => [name, start[name] + share * (change[name] - start[name])]);
    stop = glide(
      1800,
      (share) => set(Object.fromEntries(on(share)), true),
      () => set(change),
    );
  };
  button.addEventListener("click", () => {
    stop();
    if (MOVES[next]) return perform(MOVES[next].shows(current()));
    set({ method: "turned", query: 6, key: 1 });
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
