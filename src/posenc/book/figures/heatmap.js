// The table of an encoding, with one cell explained.

import { show } from "./drawing.js";
import { FIGURES } from "./figure.js";
import { map } from "./map.js";
import { encode } from "./table.js";

FIGURES.heatmap = {
  /** The cell stays inside the table. */
  limits: ({ d_model, seq_len }) => ({ position: seq_len - 1, dimension: d_model - 1 }),
  compute: ({ d_model, base, seq_len }) => ({ table: encode(seq_len, d_model, base) }),
  build(picture, set) {
    const mark = map(picture, {
      label: "Heatmap of the encoding",
      down: "position",
      across: "column",
      values: "table",
      pick: (position, dimension) => set({ position, dimension }),
    });
    return ({ d_model, seq_len, position, dimension }, { table }) =>
      mark(table, { rows: seq_len, columns: d_model, limit: 1, row: position, column: dimension });
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
