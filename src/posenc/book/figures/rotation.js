FIGURES.rotation = {
  compute({ d_model, base, pair, position, offset }) {
    const frequency = omega(pair, d_model, base);
    const theta = frequency * offset;
    return { theta, from: point(position * frequency), to: point((position + offset) * frequency) };
  },
  build(picture) {
    const { draw } = drawing(picture, "One pair before and after a shift, from 0 and from k", 200);
    return ({ d_model, base, pair, position, offset }, { theta, from, to }, width) => {
      const radius = Math.min(74, width / 4 - 18);
      const start = position * omega(pair, d_model, base);
      const circle = (cx, k, angle, before, after) => {
        const arc = Array.from({ length: 201 }, (_, n) => {
          const [up, right] = point(angle + (theta * n) / 200);
          const size = radius * (0.35 + (0.4 * n) / 200);
          return [cx + size * right, 82 - size * up];
        });
        return [
          shape("circle", { cx, cy: 82, r: radius, class: "thin faint" }),
          hand(cx, 82, radius, before.toReversed(), { stroke: LINES[1] }),
          hand(cx, 82, radius, after.toReversed(), { class: "accent" }),
          path(arc, { class: "thin" }),
          text(cx, 112 + radius, `${k} to ${show(k + offset, 0)}`, middle),
        ];
      };
      draw(width, [
        circle(width / 4, 0, 0, [0, 1], point(theta)),
        circle((3 * width) / 4, position, start, from, to),
      ]);
    };
  },
  say({ pair, position, offset }, { theta, from, to }) {
    const [before, after] = [from, to].map((pair) => `(${pair.map((x) => show(x)).join(", ")})`);
    return (
      `Pair ${pair} at ${position} is ${before}, at ${show(position + offset, 0)} it is ${after}. ` +
      `From 0 or from ${position}, it turns by ω·φ = ${show(theta)} rad = ${show((theta * 180) / Math.PI, 1)}°. Cosine across, sine upwards.`
    );
  },
};
