// Everything turns, nothing changes: a query and a key in a sentence, and the score between them.
//
// Uses attention.js (HEAD, attention, excess), dials.js (dials), drawing.js (FIGURES, shape, show),
//   guide.js (guide, isTogether), motion.js (easing), scores.js (chart), sentence.js (KEY_WORD,
//   QUERY_WORD, ruler, sentence).

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
    let arranged; // the width that the parts were arranged for
    let latest; // the state drawn last: `paint` gets numbers alone, and the rule is a word
    let rested; // the last state and values that weren't passing
    const paint = easing((shown) => {
      const isFar = Math.abs(shown.query[0] - shown.key[0]) >= HEAD.trained || latest.rule !== "as trained";
      svg.classList.toggle("far", isFar);
      words.paint(shown.query, shown.key);
      clocks.paint(shown);
      scores.paint(shown);
    });
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
    // The page draws a state at rest first, so that there is one when a drag passes. The order
    // is: arrange, then paint, then the mark where a drag began.
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
