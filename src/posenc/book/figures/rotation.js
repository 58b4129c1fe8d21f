FIGURES.rotation = {
  compute({ d_model, base, pair, position, offset }) {
    const frequency = omega(pair, d_model, base);
    const theta = frequency * offset;
    return { theta, from: point(position * frequency), to: point((position + offset) * frequency) };
  },
  build(picture, set) {
    const { draw } = drawing(picture, "One pair before and after a shift, from 0 and from k", 240);
    return ({ d_model, base, pair, position, offset }, { theta, from, to }, width) => {
      const radius = Math.min(96, width / 4 - 14);
      const frequency = omega(pair, d_model, base);
      const start = position * frequency;
      const circle = (cx, k, angle, before, after) => {
        const field = k === position ? "position" : "";
        const arc = Array.from({ length: 201 }, (_, n) => {
          const [up, right] = point(angle + (theta * n) / 200);
          const size = radius * (0.35 + (0.4 * n) / 200);
          return [cx + size * right, 104 - size * up];
        });
        return [
          shape("circle", { cx, cy: 104, r: radius, class: "thin faint" }),
          hand(cx, 104, radius, before.toReversed(), { stroke: LINES[1], "data-field": field }),
          hand(cx, 104, radius, after.toReversed(), { class: "accent", "data-field": "offset" }),
          path(arc, { class: "thin" }),
          text(cx, 132 + radius, `${k} to ${show(k + offset, 0)}`, middle),
        ];
      };
      const drawn = [
        circle(width / 4, 0, 0, [0, 1], point(theta)),
        circle((3 * width) / 4, position, start, from, to),
      ];
      const grip = (cx, angle, field, value) =>
        turning(cx, 104, radius, angle, frequency, field, (steps) =>
          set({ [field]: value + steps }),
        );
      draw(width, drawn, [
        grip(width / 4, theta, "offset", offset),
        grip((3 * width) / 4, start + theta, "offset", offset),
        grip((3 * width) / 4, start, "position", position),
      ]);
    };
  },
  say({ position, offset }, { theta, from, to }) {
    const [before, after] = [from, to].map((pair) => `(${pair.map((x) => show(x)).join(", ")})`);
    return (
      `Pair {pair} at {position} is ${before}, at ${show(position + offset, 0)} it is ${after}. ` +
      `From 0 or from {position}, it turns by ω·φ = ${show(theta)} rad = ${show((theta * 180) / Math.PI, 1)}°. Cosine across, sine upwards.`
    );
  },
};
