// A reader of the test vectors in another language: `node tests/vectors.mjs book/vectors.json`.
// It makes every table in float64, and fails where one is off by more than float64 explains: a few
// units of 1e-16 for each radian of the angle.
import { readFileSync } from "node:fs";

const { tables } = JSON.parse(readFileSync(process.argv[2], "utf8"));
for (const table of tables) {
  const { convention, layout, exponent, base, first, step, direction, seq_len, rows } = table;
  const pairs = table.d_model / 2;
  const size = step === "one turn" ? (2 * Math.PI) / seq_len : Number(step);
  rows.forEach((row, n) => {
    const position = first + (direction === "up" ? row : seq_len - 1 - row);
    for (let i = 0; i < pairs; i++) {
      const power = i / (exponent.endsWith("- 1)") ? pairs - 1 : pairs);
      const angle = size * position * base ** -power;
      const columns = { interleaved: [2 * i, 2 * i + 1], "sin, cos": [i, i + pairs] };
      const [sin, cos] = columns[layout] ?? [i + pairs, i];
      const values = table.values[n];
      const off = Math.hypot(Math.sin(angle) - values[sin], Math.cos(angle) - values[cos]);
      if (!(off <= 2 ** -53 * (4 + 16 * Math.abs(angle)))) {
        throw new Error(`${convention}, row ${row}, pair ${i}: ${angle} is off by ${off}`);
      }
    }
  });
}
