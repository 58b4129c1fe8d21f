FIGURES.clocks = {
  play: ["position"],
  runs: true,
  compute: ({ d_model, base, position }) => ({
    row: encode(1, d_model, base, paper, position),
    wavelengths: omegas(d_model, base).map((frequency) => (2 * Math.PI) / frequency),
  }),
  build(picture, set) {
    const label = "One clock for each pair, and its two numbers";
    const { draw } = drawing(picture, label, 140, { class: "clocks" });
    return ({ position }, { row, wavelengths }, width) => {
      const step = width / (width < 560 ? 4 : 8);
      const radius = Math.min(width < 900 ? 40 : 54, step * 0.46);
      const grips = [];
      const foot = width < 900 ? 106 : 138;
      const clocks = Array.from({ length: row.length / 2 }, (_, pair) => {
        const [down, right] = width < 560 ? [pair >> 2, pair % 4] : [0, pair];
        const [cx, cy] = [(right + 0.5) * step, 140 * down + (foot + 18) / 2];
        const tip = [row[2 * pair + 1], row[2 * pair]];
        const frequency = (2 * Math.PI) / wavelengths[pair];
        grips.push(
          turning(cx, cy, radius, position * frequency, frequency, "position", (steps) =>
            set({ position: Math.floor(position) + steps }),
          ),
        );
        const cells = [0, 1].map((cosine) => [
          shape("rect", {
            x: cx + (cosine - 1) * radius,
            y: 140 * down + foot,
            width: radius,
            height: 10,
            fill: shade(row[2 * pair + cosine]),
            class: "mapped",
          }),
          text(
            cx + (cosine - 0.5) * radius,
            140 * down + foot + 26,
            show(row[2 * pair + cosine], 2),
            middle,
          ),
        ]);
        return [
          text(cx, 140 * down + 16, `clock ${pair}`, middle),
          shape("circle", { cx, cy, r: radius, class: "thin faint" }),
          hand(cx, cy, radius, tip, { class: "accent", "data-field": "position" }),
          ...cells.flat(),
        ];
      });
      draw(width, clocks.flat(), grips);
    };
  },
  say: (_, { wavelengths }) =>
    `Position {position}. Below each clock are its sine (how high the tip is) and its cosine (how far right). ` +
    `Clock 0 turns once in ${show(wavelengths[0], 2)} positions, clock ${wavelengths.length - 1} in ${group(Math.round(wavelengths.at(-1)))}.`,
};
