// The wavelengths of a rotary encoding, as trained and stretched for longer texts.

import { assign, end, middle, show, text, written } from "./drawing.js";
import { omegas } from "./encoding.js";
import { FIGURES } from "./figure.js";
import { level, path } from "./lines.js";
import { SCALINGS, slowed } from "./scaling.js";
import { drawing, named } from "./scene.js";

// What Turning, which has the others, doesn't offer.
const RULES = {
  ...SCALINGS,
  llama3: (plain, { trained, factor }) =>
    plain.map((frequency) => {
      const turns = (trained * frequency) / (2 * Math.PI);
      return slowed(frequency, factor, (4 - turns) / 3);
    }),
};

FIGURES.stretch = {
  /** Wavelengths, and how many pairs never finished a turn, and how many meet new angles. */
  compute(state) {
    const { d_model, base, trained, factor, rule } = state;
    const plain = omegas(d_model, base);
    const stretched = RULES[rule](plain, state);
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
  build(picture, set, current) {
    const height = 260;
    const { draw, grip } = drawing(picture, "Wavelength of each pair, in training and now");
    let lengthAt; // the length at a height of the picture, as drawn last
    /** A grip that follows the pointer up and down to another length. */
    const lengthGrip = (field, valueOf) => {
      const take = (_, from) => {
        const above = dot.cy.baseVal.value - from; // where in the grip the pointer took it
        return (x, y) => set({ [field]: valueOf(lengthAt(y + above)) }, true);
      };
      const dot = grip(field, take, () => set({}));
      return dot;
    };
    const wanted = lengthGrip("factor", (length) => length / current().trained);
    const known = lengthGrip("trained", (length) => length);
    return ({ trained, factor }, { before, after }, width) => {
      const [x0, x1, y0, y1] = [80, width - 12, height - 36, 14];
      const top = Math.ceil(Math.log10(Math.max(...after, factor * trained)));
      const x = (pair) => x0 + (pair / (before.length - 1)) * (x1 - x0);
      const y = (length) => y0 - (Math.log10(length) / top) * (y0 - y1);
      lengthAt = (down) => 10 ** ((top * (y0 - down)) / (y0 - y1));
      const curve = (lengths) => lengths.map((length, pair) => [x(pair), y(length)]);
      const powers = Array.from({ length: Math.floor(top / 2) + 1 }, (_, n) => 100 ** n);
      draw(
        width,
        height,
        level(x0, x1, y0, { class: "thin grid" }),
        powers.map((power) => text(x0 - 6, y(power) + 4, written(power), { ...end, class: "tick" })),
        text(x0, y0 + 16, 0, middle),
        text(x1, y0 + 16, before.length - 1, middle),
        text((x0 + x1) / 2, height - 4, "pair i", named),
        level(x0, x1, y(trained), { class: "thin", "data-field": "trained" }),
        text(x0 + 6, y(trained) + 16, `trained: ${written(Math.round(trained))}`, { "data-field": "trained" }),
        level(x0, x1, y(factor * trained), { class: "longer-line", "data-field": "factor" }),
        text(x0 + 6, y(factor * trained) - 6, `wanted: ${written(Math.round(factor * trained))}`, { "data-field": "factor" }),
        path(curve(before), { class: "curve", "stroke-dasharray": "5 4" }),
        path(curve(after), { class: "curve" }),
      );
      assign(wanted, { cx: x1 - 60, cy: y(factor * trained) });
      assign(known, { cx: x1 - 20, cy: y(trained) });
    };
  },
  say({ rule }, { before, after, unfinished, beyond }) {
    const last = before.length - 1;
    const [first, slowest] = [0, last].map((pair) => show(after[pair] / before[pair], 2));
    return (
      `{rule|${RULE_SAYS[rule]}}. A turn of the first pair takes ${first} times as long, ` +
      `of the last ${slowest} times. Of ${unfinished} pairs that never finished a turn, ${beyond} meet new angles.`
    );
  },
};

const RULE_SAYS = {
  "as trained": "The frequencies of training",
  interpolation: "Interpolation: every frequency divided by s",
  "NTK-aware": "NTK-aware: the base times s^(d/(d − 2))",
  YaRN: "YaRN: by parts, over the number of a pair",
  llama3: "llama3: by parts, over the turns of a pair",
};
