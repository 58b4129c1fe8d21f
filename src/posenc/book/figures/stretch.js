FIGURES.stretch = {
  /** Wavelengths, and how many pairs never finished a turn, and how many meet new angles. */
  compute(state) {
    const { d_model, base, trained, factor, rule } = state;
    const plain = omegas(d_model, base);
    const stretched = SCALINGS[rule](plain, state);
    const unfinished = plain.map((frequency) => frequency * trained < 2 * Math.PI);
    const beyond = stretched.filter(
      (frequency, pair) => unfinished[pair] && frequency * factor > plain[pair] * (1 + 1e-9),
    );
    return {
      before: plain.map((frequency) => (2 * Math.PI) / frequency),
      after: stretched.map((frequency) => (2 * Math.PI) / frequency),
      unfinished: unfinished.filter(Boolean).length,
      beyond: beyond.length,
    };
  },
  build(picture, set) {
    const { height, draw } = drawing(picture, "Wavelength of each pair, in training and now", 260);
    return ({ trained, factor }, { before, after }, width) => {
      const [x0, x1, y0, y1] = [80, width - 12, height - 36, 14];
      const top = Math.ceil(Math.log10(Math.max(...after, factor * trained)));
      const x = (pair) => x0 + (pair / (before.length - 1)) * (x1 - x0);
      const y = (length) => y0 - (Math.log10(length) / top) * (y0 - y1);
      const line = (lengths) => lengths.map((length, pair) => [x(pair), y(length)]);
      const ticks = [];
      for (let power = 0; power <= top; power += 2)
        ticks.push(text(x0 - 6, y(10 ** power) + 4, group(10 ** power), { ...end, class: "tick" }));
      const length = (down) => 10 ** ((top * (y0 - down)) / (y0 - y1));
      const drawn = [
        corner(x0, y0, x1, y1),
        ticks,
        text(x0, y0 + 16, 0, middle),
        text(x1, y0 + 16, before.length - 1, middle),
        text((x0 + x1) / 2, height - 4, "pair i", middle),
        level(x0, x1, y(trained), { class: "thin", "data-field": "trained" }),
        text(x0 + 6, y(trained) + 16, `trained: ${group(trained)}`, { "data-field": "trained" }),
        level(x0, x1, y(factor * trained), { stroke: LINES[1], "data-field": "factor" }),
        text(x0 + 6, y(factor * trained) - 6, `wanted: ${group(factor * trained)}`, {
          "data-field": "factor",
        }),
        path(line(before), { stroke: LINES[0], "stroke-dasharray": "5 4" }),
        path(line(after), { stroke: LINES[0] }),
      ];
      const wanted = (_, down) => set({ factor: Math.round(length(down) / trained) });
      const known = (_, down) => set({ trained: Math.round(length(down)) });
      draw(width, drawn, [
        [x1 - 60, y(factor * trained), "factor", wanted],
        [x1 - 20, y(trained), "trained", known],
      ]);
    };
  },
  say({ rule }, { before, after, unfinished, beyond }) {
    const last = before.length - 1;
    const slower = [0, last].map((pair) => show(after[pair] / before[pair], 2));
    return (
      `{rule|${FIELDS.stretch.rule.options[rule]}}. The first pair is slower by ${slower[0]}, the last by ` +
      `${slower[1]}. Of ${unfinished} pairs that never finished a turn, ${beyond} meet new angles.`
    );
  },
};
