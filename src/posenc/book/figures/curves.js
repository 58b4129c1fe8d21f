FIGURES.curves = {
  /** Sine and cosine of up to three pairs, at two or four points per position. */
  compute({ d_model, base, seq_len, pair, stride }) {
    const pairs = [pair, pair + stride, pair + 2 * stride].filter((i) => i < d_model / 2);
    const frequencies = pairs.map((i) => omega(i, d_model, base));
    const parts = seq_len > 64 ? 2 : 4;
    const points = Array.from({ length: parts * (seq_len - 1) + 1 }, (_, n) => n / parts);
    const waves = (wave) => frequencies.map((frequency) => points.map((k) => wave(k * frequency)));
    const wavelengths = frequencies.map((frequency) => (2 * Math.PI) / frequency);
    return { pairs, wavelengths, points, sines: waves(Math.sin), cosines: waves(Math.cos) };
  },
  build(picture, set) {
    const { height, draw } = drawing(picture, "Sine and cosine of each pair, over positions", 290);
    return (state, { pairs, wavelengths, points, sines, cosines }, width) => {
      const { x, y, frame } = axes(width, height, 70, state.seq_len - 1, 1, "position");
      const wave = (values) => values.map((value, n) => [x(points[n]), y(value)]);
      // The first crest of each sine is dragged to another wavelength.
      const all = omegas(state.d_model, state.base).map((frequency) => Math.PI / 2 / frequency);
      const grips = pairs.map((pair, n) => {
        const pick = (at) => {
          const to = (at - x(0)) / (x(1) - x(0));
          const off = all.map((crest) => Math.abs(Math.log(crest / Math.max(to, 0.1))));
          const found = off.indexOf(Math.min(...off));
          set(n ? { stride: Math.round((found - state.pair) / n) } : { pair: found });
        };
        return [x(all[pair]), y(1), n ? "stride" : "pair", pick];
      });
      const unit = width < 360 ? "" : " positions";
      const named = pairs.map((pair, n) => [
        level(0, 24, 12 + 19 * n, { stroke: LINES[n] }),
        text(32, 16 + 19 * n, `pair ${pair}: wavelength ${show(wavelengths[n], 2)}${unit}`, {
          "data-field": n ? "stride" : "pair",
        }),
        path(wave(sines[n]), { stroke: LINES[n] }),
        path(wave(cosines[n]), { stroke: LINES[n], "stroke-dasharray": "5 4" }),
      ]);
      draw(width, [frame, ...named.flat()], grips.filter(([at]) => at <= width));
    };
  },
  say: (_, { pairs, wavelengths }) =>
    pairs
      .map((pair, n) => `Pair {${n ? "stride" : "pair"}|${pair}} turns once in ${show(wavelengths[n], 2)} positions.`)
      .join(" ") + " Solid lines are sines, dashed ones cosines.",
};
