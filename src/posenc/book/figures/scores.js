// Turning's chart: the score by distance, and what it is made of.
//
// Uses attention.js (DISTANCES, FARTHEST, HEAD), drawing.js (clamp, end, line, middle, place,
//   round, shape, show, text, written), motion.js (draggable), widgets.py (PAIRS).

/**
 * The score by distance, with a dot; beside it the wedges, added up to one bar.
 * Order: `arrange(width, top, height)` makes the scales, which `paint`, `begin` and a drag of the
 * dot read; `begin(state, values)` marks where a drag started.
 */
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
  // By `arrange`: the scales of both axes, the bar's left edge and half its width, and the
  // x of each distance.
  let x, y, bar, columns;
  // The curve that is seen, which stays when both words move; `arrange` forgets it, so that the
  // next `paint` draws it on the new scales.
  let drawn;
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
    levels.push(text(0, high - 2, "score"));
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
  /** Leave a ring where the dot was before a drag. */
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
