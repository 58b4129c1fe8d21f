FIGURES.clock = {
  play: ["position"],
  compute: ({ d_model, base, position }) => ({
    row: encode(1, d_model, base, paper, position),
    bits: Array.from({ length: 8 }, (_, bit) => (position >> bit) & 1),
  }),
  build(picture) {
    const { draw } = drawing(picture, "One clock hand for each pair, and the binary digits", 230);
    return ({ d_model }, { row, bits }, width) => {
      const step = Math.min(62, width / 8);
      const radius = step * 0.38;
      const below = 14 + 76 * Math.ceil(d_model / 16);
      const hands = Array.from({ length: d_model / 2 }, (_, pair) => {
        const [cx, cy] = [((pair % 8) + 0.5) * step, 36 + 76 * Math.floor(pair / 8)];
        return [
          shape("circle", { cx, cy, r: radius, class: "thin faint" }),
          hand(cx, cy, radius, [row[2 * pair + 1], row[2 * pair]], { class: "accent" }),
          text(cx, cy + 42, pair, middle),
        ];
      });
      const counter = bits.map((bit, n) => [
        shape("rect", {
          x: (n + 0.5) * step - 12,
          y: below,
          width: 24,
          height: 24,
          class: bit ? "full" : "thin faint",
        }),
        text((n + 0.5) * step, below + 17, bit, { ...middle, class: bit ? "on" : "" }),
        text((n + 0.5) * step, below + 40, 2 ** n, middle),
      ]);
      draw(width, [...hands.flat(), ...counter.flat()]);
    };
  },
  say: ({ position }, { bits }) =>
    `Position ${position}. Above, one hand for each pair, cosine across and sine upwards, so that it starts at the right and turns counterclockwise. Below, ${position} in binary, lowest digit first: ${bits.join("")}.`,
};
