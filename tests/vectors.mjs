// A reader of the test vectors in another language: `node tests/vectors.mjs book/vectors.json`.
// It makes every table, rotation and default frequency in float64, compares, and exits 1 if one
// is off by more than float64 explains: a few units of 1e-16 for each radian of the angle.
import { readFileSync } from "node:fs";

const { format, tables, rotations, frequencies } = JSON.parse(readFileSync(process.argv[2], "utf8"));
if (format !== 1) throw new Error(`format ${format} is not 1`);

let entries = 0;
function compare(found, expected, angle, what) {
  const limit = 2 ** -53 * (4 + 16 * Math.abs(angle));
  const off = Math.abs(found - Number(expected));
  if (!(off <= limit)) throw new Error(`${what}: ${found} for ${expected}`);
  entries += 1;
}

function omega(i, { d_model, base, exponent }) {
  const denominator = d_model / 2 - (exponent?.endsWith("- 1)") ? 1 : 0);
  return Number(base) ** (-i / denominator);
}

for (const table of tables) {
  const { convention, layout, first, step, direction, seq_len, d_model, rows, values } = table;
  const size = step === "one turn" ? (2 * Math.PI) / seq_len : Number(step);
  const pairs = d_model / 2;
  rows.forEach((row, n) => {
    const counted = first + (direction === "up" ? row : seq_len - 1 - row);
    for (let i = 0; i < pairs; i++) {
      const angle = size * counted * omega(i, table);
      const columns = { interleaved: [2 * i, 2 * i + 1], "sin, cos": [i, i + pairs], "cos, sin": [i + pairs, i] };
      const [sin, cos] = columns[layout];
      compare(Math.sin(angle), values[n][sin], angle, `${convention}, row ${row}, pair ${i}`);
      compare(Math.cos(angle), values[n][cos], angle, `${convention}, row ${row}, pair ${i}`);
    }
  });
}

for (const rotation of rotations) {
  const { convention, layout, d_model, positions, values } = rotation;
  const x = rotation.x.map(Number);
  positions.forEach((position, n) => {
    for (let i = 0; i < d_model / 2; i++) {
      const [a, b] = layout === "neighbors" ? [2 * i, 2 * i + 1] : [i, i + d_model / 2];
      const angle = position * omega(i, rotation);
      const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
      compare(x[a] * cos - x[b] * sin, values[n][a], 3 * angle, `${convention}, ${position}, ${i}`);
      compare(x[a] * sin + x[b] * cos, values[n][b], 3 * angle, `${convention}, ${position}, ${i}`);
    }
  });
}

for (const scaled of frequencies.filter(({ scaling }) => ["default", "linear"].includes(scaling.rope_type))) {
  const d_model = scaled.d_model * (scaled.scaling.partial_rotary_factor ?? 1);
  scaled.values.forEach((value, i) =>
    compare(omega(i, { ...scaled, d_model }) / (scaled.scaling.factor ?? 1), value, 1, `${scaled.name}, pair ${i}`),
  );
}

console.log(`${entries} entries agree`);
