// Everything turns, nothing changes: a query and a key in a sentence, and the score between them.

const SENTENCE = ["the", "dog", "saw", "a", "cat", "and", "ran", "home"];
const KEY_WORD = "dog";
const QUERY_WORD = "ran";
const HEAD = { places: 16, pairs: 8, d_model: 16, trained: 8, factor: 2 };
const FARTHEST = HEAD.places - 1;
const SLOPE = 0.5; // ALiBi's, of the first of eight heads
const FINE = 4; // points of the curve per position
const DISTANCES = Array.from({ length: 2 * FARTHEST * FINE + 1 }, (_, n) => n / FINE - FARTHEST);

/** How the hands of a word at a position turn, and how long they are, by the method. */
const HANDS = {
  turned: (angle) => [angle, 1],
  // Half the sum of a word, which points right, and its clock: exp(0i) + exp(i·angle).
  added: (angle) => [angle / 2, Math.cos(angle / 2)],
  ALiBi: () => [0, 1],
  none: () => [0, 1],
};

let memory = {};
/** The last result for a key, which a drag asks for in each frame. */
function remembered(key, compute) {
  if (memory.key !== key) memory = { key, result: compute() };
  return memory.result;
}

/** The query, the key, each pair's share of the score, and the score by distance. */
function attention({ query, key, method, base, rule }) {
  const trained = omegas(HEAD.d_model, base);
  const isTurned = method === "turned";
  const frequencies = isTurned ? SCALINGS[rule](trained, { ...HEAD, base }) : trained;
  const temperature = isTurned && rule === "YaRN" ? (0.1 * Math.log(HEAD.factor) + 1) ** 2 : 1;
  const handsAt = (position) => frequencies.map((frequency) => HANDS[method](position * frequency));
  const sharesOf = (one, other) =>
    one.map(([angle, length], pair) => {
      const [otherAngle, otherLength] = other[pair];
      return temperature * length * otherLength * Math.cos(angle - otherAngle);
    });
  const penalty = (distance) => (method === "ALiBi" ? SLOPE * Math.abs(distance) : 0);
  const scoreOf = (shares, distance) => sum(shares) - penalty(distance);
  const hands = { query: handsAt(query), key: handsAt(key) };
  const shares = sharesOf(hands.query, hands.key);
  return {
    hands,
    shares,
    score: scoreOf(shares, key - query),
    curve: remembered([method, rule, base, method === "added" && query].join(), () =>
      DISTANCES.map((distance) =>
        scoreOf(sharesOf(hands.query, handsAt(query + distance)), distance),
      ),
    ),
    // The largest angle between two hands in training; beyond half a turn, all were seen.
    seen: trained.map((frequency) => (isTurned ? frequency * (HEAD.trained - 1) : Math.PI)),
  };
}

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
/** How far each pair's angle exceeds those of training. */
const excess = ({ hands, seen }) =>
  seen.map((most, pair) =>
    Math.max(0, Math.abs(wrapped(hands.key[pair][0] - hands.query[pair][0])) - most - 1e-9),
  );

/** The ruler's geometry: one row of places, or two on a phone. */
function ruler(width) {
  const columns = width < 560 ? HEAD.places / 2 : HEAD.places;
  const slot = width / columns;
  const height = width < 560 ? 70 : 92;
  const rows = HEAD.places / columns;
  const rowOf = (position) => clamp(0, Math.floor((position + 0.5) / columns), rows - 1);
  return {
    width,
    slot,
    height,
    bottom: rows * height,
    letters: clamp(15, slot * 0.4, 26),
    rowOf,
    /** The center of a place, and the upper edge of its row. */
    place: (position) => [
      (position - rowOf(position) * columns + 0.5) * slot,
      rowOf(position) * height,
    ],
    /** The position of a point, fractional. */
    at(x, y) {
      const row = clamp(0, Math.floor(y / height), rows - 1);
      return row * columns + x / slot - 0.5;
    },
    /** The part of a bracket in each row, as [from, to] in x. */
    spans: (from, to) =>
      Array.from({ length: rows }, (_, row) => [
        clamp(0, (from - row * columns + 0.5) * slot, width),
        clamp(0, (to - row * columns + 0.5) * slot, width),
      ]),
  };
}

/** Words on the ruler, with the two that can be moved, and the bracket that moves both. */
function sentence(svg, set, current) {
  const ticks = shape("g", { class: "ticks", "aria-hidden": "true" });
  const bracket = shape("path", { class: "bracket" });
  const others = SENTENCE.filter((word) => word !== KEY_WORD && word !== QUERY_WORD).map((word) =>
    shape("text", { ...middle, class: "other" }, word),
  );
  const card = (name, label) => {
    const back = shape("rect", { rx: 6 });
    const front = shape("text", middle, label.split(",")[0]);
    const limits = { "aria-valuemin": 0, "aria-valuemax": FARTHEST, "aria-label": label };
    return shape("g", { class: `card ${name}`, role: "slider", tabindex: 0, ...limits }, back, front);
  };
  const cards = {
    key: card("key", `${KEY_WORD}, the key`),
    query: card("query", `${QUERY_WORD}, the query`),
    both: card("both", "both, by the bracket"),
  };
  svg.append(ticks, ...others, bracket, ...Object.values(cards));

  let geometry;
  /** Set the positions that a grip moves; it moves both, as far as the ruler reaches. */
  const move = (name, start, by, passing) => {
    const names = name === "both" ? ["query", "key"] : [name];
    const places = names.map((one) => start[one]);
    const step = clamp(-Math.min(...places), by, FARTHEST - Math.max(...places));
    const rest = (number) => (passing ? number : Math.round(number));
    set(Object.fromEntries(names.map((one) => [one, rest(start[one] + step)])), passing);
  };
  for (const [name, grip] of Object.entries(cards)) {
    steppable(grip, (by) => move(name, current(), by));
    draggable(
      grip,
      svg,
      (...point) => {
        const start = current();
        const from = geometry.at(...point);
        return (...next) => move(name, start, geometry.at(...next) - from, true);
      },
      () => move(name, current(), 0),
    );
  }

  const arrange = (width) => {
    geometry = ruler(width);
    const { place: center, height, slot } = geometry;
    const marks = Array.from({ length: HEAD.places }, (_, position) => {
      const [x, top] = center(position);
      return text(x, top + height - 8, position, { ...middle, class: "tick" });
    });
    const [x, top] = center(HEAD.trained);
    const band = { x: x - slot / 2, y: top + 21, width: width - x + slot / 2, height: height - 23 };
    const longer = text(band.x + 6, top + height - 32, "longer than in training", { class: "longer" });
    ticks.replaceChildren(shape("rect", { ...band, class: "beyond" }), longer, ...marks);
    svg.style.setProperty("--letters", `${geometry.letters}px`);
    for (const { firstChild: back, lastChild: word } of Object.values(cards)) {
      const [wide, high] = [word.getComputedTextLength() + 14, 1.5 * parseFloat(getComputedStyle(word).fontSize)];
      place(back, { x: -wide / 2, y: -0.72 * high, width: wide, height: high });
    }
  };

  const put = (node, position, lift = 0) => {
    const [x, top] = geometry.place(position);
    node.style.transform = `translate(${x}px, ${top + geometry.height - 36 - lift}px)`;
  };
  const paint = ([query], [key]) => {
    // The other words take the places that are left, in their order.
    const taken = [Math.round(query), Math.round(key)];
    const free = DISTANCES.filter((n) => n >= 0 && n % 1 === 0 && !taken.includes(n));
    others.forEach((word, n) => put(word, free[n]));
    // A key at the query's place hops over it.
    const overlap = Math.max(0, 1 - Math.abs(query - key));
    put(cards.query, query);
    put(cards.key, key, overlap * geometry.letters * 1.3);
    const [low, high] = [Math.min(query, key), Math.max(query, key)];
    const spans = geometry.spans(low, high).map(([from, to], row) => {
      const y = row * geometry.height + 11;
      const [start, finish] = [from > 0 ? `${y + 7}V${y}` : y, to < geometry.width ? `V${y + 7}` : ""];
      return from === to ? "" : `M${round(from)},${start}H${round(to)}${finish}`;
    });
    bracket.setAttribute("d", spans.join("") || "M0,0");
    const [x, top] = geometry.place((low + high) / 2);
    const inside = clamp(24, x, geometry.width - 24);
    cards.both.style.transform = `translate(${round(inside)}px, ${top + 15}px)`;
    describe({ query, key, both: low });
  };
  const described = {};
  const describe = (positions) => {
    for (const [name, position] of Object.entries(positions)) {
      const rounded = Math.round(position);
      if (described[name] === rounded) continue;
      described[name] = rounded;
      place(cards[name], { "aria-valuenow": rounded, "aria-valuetext": `position ${rounded}` });
    }
  };
  return { arrange, paint };
}

/** The eight dials: both words' hands, and the wedge between them, filled by its cosine. */
function dials(svg) {
  const made = PAIRS.map((color) => {
    const parts = {
      rim: shape("circle", { class: "thin faint" }),
      wedge: shape("path", { stroke: color, "stroke-width": 1 }),
      unseen: shape("path", { class: "unseen" }),
      query: line({ class: "hand query" }),
      key: line({ class: "hand key" }),
      cosine: text(0, 0, "", middle),
    };
    svg.append(shape("g", { class: "dial", "aria-hidden": "true" }, ...Object.values(parts)));
    return { color, ...parts };
  });
  const speeds = ["fastest", "slowest"].map((speed) => text(0, 0, speed, { ...middle, class: "soft" }));
  svg.append(...speeds);
  const centers = [];
  let radius;
  const arrange = (width, top, height) => {
    const [columns, rows] = width < 560 ? [4, 2] : [8, 1];
    const [across, down] = [width / columns, height / rows];
    radius = Math.round(Math.min(across * 0.43, down / 2 - 14));
    made.forEach(({ rim, cosine }, pair) => {
      const cx = round((pair % columns) * across + across / 2);
      const cy = round(top + Math.floor(pair / columns) * down + radius + 4);
      centers[pair] = [cx, cy];
      place(rim, { cx, cy, r: radius });
      place(cosine, { x: cx, y: cy + radius + 16 });
    });
    speeds.forEach((label, n) => {
      const x = n ? width - across / 2 : across / 2;
      place(label, { x, y: top + 2 * radius + 36, visibility: rows === 1 ? "visible" : "hidden" });
    });
  };
  const point = (hand, [cx, cy], angle, length) =>
    place(hand, {
      x1: cx,
      y1: cy,
      x2: round(cx + radius * length * Math.cos(angle)),
      y2: round(cy - radius * length * Math.sin(angle)),
    });
  /** Fill a wedge with its pair's color where the hands agree, and with gray where they oppose. */
  const fill = ({ wedge, color }, cosine) =>
    place(wedge, {
      fill: cosine < 0 ? "currentColor" : color,
      "fill-opacity": (0.08 + (cosine < 0 ? 0.4 : 0.8) * Math.abs(cosine)).toFixed(3),
    });
  const paint = (shown) =>
    made.forEach((dial, pair) => {
      const [cx, cy] = centers[pair];
      const from = shown.queryAngles[pair];
      const turn = wrapped(shown.keyAngles[pair] - from);
      const [lengthQ, lengthK] = [shown.queryLengths[pair], shown.keyLengths[pair]];
      // A hand of negative length points the other way, and so does its side of the wedge.
      const start = lengthQ < 0 ? from + Math.PI : from;
      const opening = lengthQ * lengthK < 0 ? wrapped(turn + Math.PI) : turn;
      const reach = round(radius * 0.7 * Math.sqrt(Math.abs(lengthQ * lengthK)));
      place(dial.wedge, { d: sector(cx, cy, reach, start, opening) });
      fill(dial, Math.cos(opening));
      const beyond = Math.abs(turn) - shown.seen[pair];
      dial.unseen.toggleAttribute("hidden", beyond <= 0.001);
      if (beyond > 0.001) {
        const sign = Math.sign(turn);
        const edge = from + sign * shown.seen[pair];
        place(dial.unseen, { d: sector(cx, cy, radius, edge, sign * beyond) });
      }
      point(dial.query, centers[pair], from, lengthQ);
      point(dial.key, centers[pair], shown.keyAngles[pair], lengthK);
      dial.cosine.textContent = show(shown.shares[pair], 2);
    });
  return { arrange, paint };
}

/** The score by distance, with a dot; beside it the wedges, added up to one bar. */
function chart(svg, set, current) {
  const frame = shape("g", { "aria-hidden": "true" });
  const curve = shape("polyline", { class: "curve" });
  const level = line({ class: "thin faint", "stroke-dasharray": "2 4" });
  const dot = shape("circle", { r: 9, class: "grip" });
  const before = shape("circle", { r: 9, class: "thin faint", hidden: "" }); // where a drag began
  const agree = PAIRS.map((fill) => shape("rect", { fill }));
  const oppose = shape("rect", { class: "oppose" });
  const total = line({ class: "total" });
  const score = shape("text", { class: "score" });
  svg.append(frame, curve, level, ...agree, oppose, total, score, before, dot);
  let x, y, bar, columns;
  let drawn; // the curve that is seen, which stays when both words move
  const arrange = (width, top, height) => {
    const wide = width >= 560;
    const [left, right] = [26, width - (wide ? 160 : 92)];
    const [high, low] = [top + 14, top + height - (wide ? 38 : 34)];
    x = (distance) => left + ((distance + FARTHEST) / (2 * FARTHEST)) * (right - left);
    y = (value) => low - ((value + 2.5) / 12) * (low - high);
    bar = { left: right + 16, half: wide ? 28 : 14 };
    columns = DISTANCES.map(x);
    const ticks = [-15, -10, -5, 0, 5, 10, 15].map((distance) =>
      text(x(distance), low + 16, written(Math.abs(distance)), { ...middle, class: "tick" }),
    );
    const levels = [0, 4, 8].flatMap((value) => [
      text(left - 6, y(value) + 4, value, { ...end, class: "tick" }),
      line({ x1: left, x2: right, y1: y(value), y2: y(value), class: "thin grid" }),
    ]);
    const seen = [1 - HEAD.trained, HEAD.trained - 1].map(x);
    levels.push(text(0, high - 2, "score", {}));
    const bands = [
      [x(-FARTHEST), seen[0]],
      [seen[1], x(FARTHEST)],
    ].map(([from, to]) =>
      shape("rect", { x: from, y: high, width: to - from, height: low - high, class: "beyond" }),
    );
    const names = wide
      ? ["key before the query", "distance", "key after the query"]
      : ["key before", "distance", "key after"];
    const labels = names.map((words, n) =>
      text([left, (left + right) / 2, right][n], low + 32, words, {
        "text-anchor": ["start", "middle", "end"][n],
      }),
    );
    const longer = text(x(FARTHEST) - 4, high + 13, "never in training", { ...end, class: "longer" });
    drawn = undefined;
    frame.replaceChildren(...bands, ...levels, ...ticks, ...labels, ...(wide ? [longer] : []));
  };
  /** Stack what agrees, upwards; what opposes takes away from the top. */
  const stack = (shares, value) => {
    let top = 0;
    shares.forEach((share, pair) => {
      const grown = top + Math.max(0, share);
      place(agree[pair], {
        x: bar.left,
        y: y(grown),
        width: bar.half,
        height: Math.max(0, y(top) - y(grown) - 1),
      });
      top = grown;
    });
    place(oppose, { x: bar.left + bar.half, y: y(top), width: bar.half, height: y(value) - y(top) });
  };
  const paint = ({ query: [query], key: [key], shares, score: [value], curve: values }) => {
    if (drawn !== values) {
      drawn = values;
      const points = values.map((one, n) => `${round(columns[n])},${round(y(one))}`);
      curve.setAttribute("points", points.join(" "));
    }
    stack(shares, value);
    const [across, down] = [round(x(key - query)), round(y(value))];
    place(dot, { cx: across, cy: down });
    place(level, { x1: across, x2: bar.left, y1: down, y2: down });
    place(total, { x1: bar.left - 4, x2: bar.left + 2 * bar.half + 4, y1: down, y2: down });
    place(score, { x: bar.left + 2 * bar.half + 8, y: down + 7 });
    score.textContent = show(value, 2);
  };
  const begin = ({ query, key }, { score: value }) => {
    before.removeAttribute("hidden");
    place(before, { cx: round(x(key - query)), cy: round(y(value)) });
  };
  draggable(
    dot,
    svg,
    (from) => {
      const { key } = current();
      const unit = x(1) - x(0);
      return (to) => set({ key: clamp(0, key + (to - from) / unit, FARTHEST) }, true);
    },
    () => set({ key: Math.round(current().key) }),
  );
  return { arrange, paint, begin };
}

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

/** A line with the next thing to try, and a button that shows it. */
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

FIGURES.turning = {
  grips: ["query", "key"],
  compute: attention,
  build(picture, set, current) {
    const svg = shape("svg", { role: "group", class: "turning", "aria-label": "A query and a key" });
    const hint = guide(set, current);
    if (current().method === "turned") picture.append(hint.row);
    picture.append(svg);
    svg.addEventListener("pointerdown", hint.stop, true);
    const words = sentence(svg, set, current);
    const clocks = dials(svg);
    const scores = chart(svg, set, current);
    const paint = easing((shown) => {
      const isFar = Math.abs(shown.query[0] - shown.key[0]) >= HEAD.trained || latest.rule !== "as trained";
      svg.classList.toggle("far", isFar);
      words.paint(shown.query, shown.key);
      clocks.paint(shown);
      scores.paint(shown);
    });
    let arranged;
    let latest;
    let rested;
    const arrange = (width) => {
      const height = svg.clientHeight;
      svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
      const { bottom } = ruler(width);
      const below = width < 560 ? 140 : height > 400 ? 190 : 170;
      words.arrange(width);
      clocks.arrange(width, bottom + 4, height - bottom - below);
      scores.arrange(width, height - below, below);
      arranged = width;
    };
    return (state, values, width, passing) => {
      latest = state;
      const isNew = arranged !== width;
      if (isNew) arrange(width);
      paint(flat(state, values), isNew || passing);
      if (passing) {
        scores.begin(rested.state, rested.values);
        return;
      }
      if (rested) hint.watch(rested.state, state);
      rested = { state, values };
    };
  },
  say: attentionSays,
};

/** State and values as lists of numbers, which can be eased. */
function flat({ query, key }, { hands, shares, score, curve, seen }) {
  const numbers = { query: [query], key: [key], shares, score: [score], curve, seen };
  for (const [name, turns] of Object.entries(hands)) {
    numbers[`${name}Angles`] = turns.map(([angle]) => angle);
    numbers[`${name}Lengths`] = turns.map(([, length]) => length);
  }
  return numbers;
}

/** What is seen, and what the last move did. */
function attentionSays(state, values, before) {
  const { query, key, method } = state;
  const digits = (number) => show(number, number % 1 ? 1 : 0);
  const apart = digits(Math.abs(key - query));
  const score = show(values.score, 2);
  const was = before && show(before.values.score, 2);
  const scene =
    `“${QUERY_WORD}” at {query|${digits(query)}} looks at “${KEY_WORD}” at {key|${digits(key)}}, ` +
    `${apart} ${key < query ? "before" : "after"}. `;
  const isSame = before?.state.method === method && before.state.rule === state.rule;
  if (isSame && isTogether(before.state, state)) {
    const moved = digits(Math.abs(query - before.state.query));
    return method === "added"
      ? `Both moved by ${moved}, still ${apart} apart, and the score went from ${was} to ${score}: added, a place shows in every score.`
      : `Both moved by ${moved}. ${method === "turned" ? "Sixteen hands turned; the wedges and" : "Nothing turned, and"} the score, ${score}, ${was === score ? "didn’t change" : "changed"}.`;
  }
  const beyond = excess(values).filter(Boolean).length;
  const red = beyond ? `${beyond} of 8 dials show angles that training never did. ` : "";
  return scene + METHOD_SAYS[method](score, apart) + " " + red;
}

const METHOD_SAYS = {
  turned: (score) => `Each word’s hands turn with its place; what both agree on adds up to the score, ${score}.`,
  added: (score) => `Each hand is half a word, half a place. Score ${score}.`,
  ALiBi: (score, apart) => `No hand turns. Each step apart costs half a point: 8 − ${apart}/2 = ${score}.`,
  none: (score) => `No hand turns, so the order doesn’t count: the score is ${score} wherever they stand.`,
};
