// Three words of width 4, and attention whose queries, keys and values are the words themselves.
const EMBEDDED = { dog: [2, 0, 0, 1], bites: [0, 1, 1, 0], man: [1, 1, 0, 0] };
const FIRST = Object.keys(EMBEDDED);

/** The attention weights and outputs of three words, row by row. */
function attend(words, positions) {
  const encoding = positions === "on" ? encode(3, 4, 10_000) : new Float64Array(12);
  const rows = words.map((word, k) => EMBEDDED[word].map((x, j) => x + encoding[4 * k + j]));
  const weights = rows.map((query) => {
    const scores = rows.map((key) => Math.exp(query.reduce((sum, x, j) => sum + x * key[j], 0)));
    return scores.map((score) => score / scores.reduce((sum, other) => sum + other));
  });
  const outputs = weights.map((row) =>
    FIRST.concat(0).map((_, j) => row.reduce((sum, weight, m) => sum + weight * rows[m][j], 0)),
  );
  return { weights, outputs };
}

FIGURES.words = {
  compute({ order, positions }) {
    const words = order.split(" ");
    const { weights, outputs } = attend(words, positions);
    const before = attend(FIRST, positions).outputs;
    const changes = FIRST.map((word, n) =>
      Math.max(...before[n].map((x, j) => Math.abs(x - outputs[words.indexOf(word)][j]))),
    );
    return { weights: weights.flat(), outputs: outputs.flat(), changes };
  },
  build(picture, set) {
    const sentence = element("div", { class: "tiles" });
    const table = element("table", { "aria-label": "Attention weights and outputs" });
    picture.append(sentence, table);
    let words;
    /** Move a word to another place. */
    const move = (word, to) => {
      const others = words.filter((other) => other !== word);
      set({ order: others.toSpliced(Math.max(0, Math.min(2, to)), 0, word).join(" ") });
    };
    const tiles = FIRST.map((word) => {
      const tile = element("button", { type: "button", class: "tile" }, word);
      tile.addEventListener("keydown", ({ key }) => {
        const by = { ArrowLeft: -1, ArrowRight: 1 }[key];
        if (by) move(word, words.indexOf(word) + by);
      });
      tile.addEventListener("pointerdown", ({ pointerId }) => tile.setPointerCapture(pointerId));
      tile.addEventListener("pointermove", ({ clientX, pointerId }) => {
        const { left, width } = sentence.getBoundingClientRect();
        const to = Math.floor((3 * (clientX - left)) / width);
        if (tile.hasPointerCapture(pointerId) && to !== words.indexOf(word)) move(word, to);
      });
      sentence.append(tile);
      return tile;
    });
    const cells = (numbers, scale) =>
      numbers.map((x) => element("td", { style: `background: ${shade(x / scale)}` }, show(x, 2)));
    return ({ order }, { weights, outputs }) => {
      words = order.split(" ");
      for (const [n, word] of FIRST.entries()) {
        const k = words.indexOf(word);
        tiles[n].style.order = k;
        tiles[n].setAttribute("aria-label", `${word}, word ${k + 1} of 3: arrow keys move it`);
      }
      const heads = words.map((word) => element("th", { scope: "col" }, word));
      const output = element("th", { scope: "col", colspan: 4 }, "output");
      table.replaceChildren(
        element("tr", {}, element("td", {}, "attends to"), ...heads, element("td"), output),
        ...words.map((word, k) => {
          const head = element("th", { scope: "row" }, word);
          const row = cells(weights.slice(3 * k, 3 * k + 3), 1.7);
          row.push(element("td"), ...cells(outputs.slice(4 * k, 4 * k + 4), 5));
          return element("tr", {}, head, ...row);
        }),
      );
    };
  },
  say({ order }, { changes }) {
    const start = "Positions {positions}, “{order}”. ";
    if (order === FIRST.join(" ")) return `${start}Move a word, and compare its output.`;
    const moved = FIRST.map((word, n) => `${word} ${show(changes[n], 2)}`).join(", ");
    return (
      `${start}Largest change of each output from “${FIRST.join(" ")}”: ${moved}. ` +
      (Math.max(...changes) < 1e-9
        ? "Each output has only moved with its word."
        : "The order counts.")
    );
  },
};
