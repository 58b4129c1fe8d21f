FIGURES.clock = {
  play: ["position"],
  compute: ({ d_model, base, position }) => ({
    row: encode(1, d_model, base, paper, position),
    bits: Array.from({ length: 8 }, (_, bit) => (position >> bit) & 1),
  }),
  build(picture, set) {
    const { draw } = drawing(picture, "One clock hand for each pair, and the binary digits", 264);
    return ({ d_model, base, position }, { row, bits }, width) => {
      const step = Math.min(76, width / 8);
      const radius = step * 0.44;
      const below = 8 + 94 * Math.ceil(d_model / 16);
      const centers = omegas(d_model, base).map((frequency, pair) => ({
        frequency,
        cx: ((pair % 8) + 0.5) * step,
        cy: 36 + 94 * Math.floor(pair / 8),
      }));
      const hands = centers.map(({ cx, cy }, pair) => [
        shape("circle", { cx, cy, r: radius, class: "thin faint" }),
        hand(cx, cy, radius, [row[2 * pair + 1], row[2 * pair]], {
          class: "accent",
          "data-field": "position",
        }),
        text(cx, cy + 51, pair, middle),
      ]);
      const counter = bits.map((bit, n) => [
        shape("rect", {
          x: (n + 0.5) * step - 13,
          y: below,
          width: 26,
          height: 26,
          class: bit ? "full" : "thin faint",
        }),
        text((n + 0.5) * step, below + 18, bit, { ...middle, class: bit ? "on" : "" }),
        text((n + 0.5) * step, below + 43, 2 ** n, middle),
      ]);
      const grips = centers.map(({ cx, cy, frequency }) =>
        turning(cx, cy, radius, position * frequency, frequency, "position", (steps) =>
          set({ position: position + steps }),
        ),
      );
      draw(width, [...hands.flat(), ...counter.flat()], grips);
    };
  },
  say: (_, { bits }) =>
    `Position {position}. Above, a hand for each pair, cosine across, sine upwards: it starts at the right and turns counterclockwise. Below, {position} in binary, lowest digit first: ${bits.join("")}.`,
};
