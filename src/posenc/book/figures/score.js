// A query and a key of one pair, which turns by 1 rad per position.
const CONTENT = { query: 0.6, key: 2.6 };
const PLACES = 16;
const inked = (n) => `fill: color-mix(in srgb, ${LINES[n]} 70%, currentColor)`;

/** A query or key at a position, as (right, up). */
function placed(name, position, method) {
  const angle = CONTENT[name] + (method === "rotary") * position;
  const added = Number(method === "added");
  return [
    Math.cos(angle) + added * Math.cos(position),
    Math.sin(angle) + added * Math.sin(position),
  ];
}

FIGURES.score = {
  play: ["query", "key"],
  compute({ query, key, method }) {
    const score = (k, m) => {
      const [right, up] = placed("query", k, method);
      const [across, high] = placed("key", m, method);
      return right * across + up * high - (method === "ALiBi") * 0.25 * Math.abs(k - m);
    };
    const cells = Array.from({ length: PLACES * PLACES }, (_, n) => n);
    return {
      scores: cells.map((n) => score(Math.floor(n / PLACES), n % PLACES)),
      limit: method === "added" || method === "ALiBi" ? 4 : 1,
      score: score(query, key),
      together: score(query + 1, key + 1),
      alone: score(query, key + 1),
    };
  },
  build(picture, set) {
    const [left, right] = [element("div"), element("div")];
    picture.append(left, right);
    picture.classList.add("two");
    const { draw } = drawing(left, "Query and key as hands", 240);
    const names = ["query k", "key m"];
    const mark = map(right, "Score of each query and key", names, (query, key) =>
      set({ query, key }),
    );
    const c = 110;
    /** The step, of at most three and within the limits, that `far` puts nearest. */
    const step = (places, far) =>
      [0, 1, -1, 2, -2, 3, -3]
        .filter((by) => places.every((at) => at + by >= 0 && at + by < PLACES))
        .reduce((best, by) => (far(by) < far(best) - 1e-9 ? by : best));
    return (state, { scores, limit }) => {
      const { query, key, method } = state;
      const radius = method === "added" ? 50 : 92; // room for hands of length 2
      const tips = { query: placed("query", query, method), key: placed("key", key, method) };
      const at = ([x, y], size = radius) => [c + size * x, c - size * y];
      const grips = Object.entries(tips).map(([name, tip]) => {
        const far = (x, y) => (by) => {
          const [tipX, tipY] = at(placed(name, state[name] + by, method));
          return Math.hypot(tipX - x, tipY - y);
        };
        const move = (x, y) => set({ [name]: state[name] + step([state[name]], far(x, y)) });
        return [...at(tip), name, move];
      });
      const turn = CONTENT.query + query - CONTENT.key - key;
      const [from, by] = [CONTENT.key + key, turn - 2 * Math.PI * Math.round(turn / 2 / Math.PI)];
      const angles = Array.from({ length: 41 }, (_, n) => from + (by * n) / 40);
      const arc = angles.map((angle) => at(point(angle).toReversed(), 44));
      const both = (x, y) => {
        const pointed = Math.atan2(c - y, x - c);
        const moved = step([query, key], (k) => -Math.cos(from + by / 2 + k - pointed));
        set({ query: query + moved, key: key + moved });
      };
      const turns = method === "rotary";
      draw(
        2 * c,
        [
          shape("circle", { cx: c, cy: c, r: radius, class: "thin faint" }),
          hand(c, c, radius, tips.query, { stroke: LINES[0], "data-field": "query" }),
          hand(c, c, radius, tips.key, { stroke: LINES[1], "data-field": "key" }),
          turns ? [path(arc, { class: "thin" })] : [],
          text(0, 236, `query at ${query}`, { "data-field": "query", style: inked(0) }),
          text(2 * c, 236, `key at ${key}`, { ...end, "data-field": "key", style: inked(1) }),
        ],
        turns ? [...grips, [...arc[20], "", both]] : method === "added" ? grips : [],
      );
      mark(scores, PLACES, PLACES, limit, query, key);
    };
  },
  say({ query, key, method }, { score, together, alone }) {
    const apart = Math.abs(query - key);
    const where = apart
      ? `${apart} ${key < query ? "before" : "after"} it`
      : "where it is";
    const than = (other) => `${show(other)}${show(other) === show(score) ? ", the same" : ""}`;
    return (
      `{method|${FIELDS.score.method.options[method]}}. Query at {query}, key at {key}, ${where}. Score ${show(score)}; ` +
      `both one further: ${than(together)}; the key alone: ${than(alone)}.`
    );
  },
};
