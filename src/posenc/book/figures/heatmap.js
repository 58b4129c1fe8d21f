FIGURES.heatmap = {
  /** The cell stays inside the table. */
  limits: ({ d_model, seq_len }) => ({ position: seq_len - 1, dimension: d_model - 1 }),
  compute: ({ d_model, base, seq_len }) => ({ table: encode(seq_len, d_model, base) }),
  build(picture, set) {
    const names = ["position", "column"];
    const mark = map(picture, "Heatmap of the encoding", names, (position, dimension) =>
      set({ position, dimension }),
    );
    return ({ d_model, seq_len, position, dimension }, { table }) =>
      mark(table, seq_len, d_model, 1, position, dimension);
  },
  say({ d_model, position, dimension }, { table }) {
    const wave = dimension % 2 ? "cos" : "sin";
    const exponent = `{dimension|${dimension - (dimension % 2)}}/{d_model}`;
    return (
      `Position {position}, column {dimension}: ${wave}({position} / {base}^(${exponent})) = ` +
      show(table[position * d_model + dimension])
    );
  },
};
