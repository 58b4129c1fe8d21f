// Everything turns, nothing changes: a query and a key in a sentence, and the score between them.
//
// The picture has three parts, from top to bottom: the sentence, the dials, and the chart. Each has
// - `arrange`, which is called for a new width, before all else: it makes the part's geometry below
//   an upper edge, and returns its lower one;
// - `paint`, which shows both places with the values (`Attention`), or what is on the way between two.

import { attention } from "./attention.js";
import { dials } from "./dials.js";
import { place, shape } from "./drawing.js";
import { FIGURES } from "./figure.js";
import { guide } from "./guide.js";
import { easing } from "./motion.js";
import { chart } from "./scores.js";
import { sentence } from "./sentence.js";
import { actOf, attentionSays } from "./telling.js";

FIGURES.turning = {
  grips: ["query", "key"],
  compute: attention,
  build(picture, set, current) {
    const svg = shape("svg", { role: "group", "aria-label": "A query and a key" });
    const hint = guide(set, current);
    if (current().method === "turned") picture.before(hint.row);
    picture.append(svg);
    svg.addEventListener("pointerdown", hint.stop, true);
    const words = sentence(svg, set, current);
    const clocks = dials(svg);
    const scores = chart(svg);
    const arrange = (width) => {
      const height = scores.arrange(width, clocks.arrange(width, words.arrange(width)));
      place(svg, { height, viewBox: `0 0 ${width} ${height}` });
    };
    const paint = easing((shown) => {
      const { method, rule } = current();
      const isNew = shown.excess.some(Boolean); // an angle, to what training showed
      picture.classList.toggle("new", isNew);
      picture.classList.toggle("ruled", isNew || (method === "turned" && rule !== "as trained"));
      for (const part of [words, clocks, scores]) part.paint(shown);
    });
    return (state, values, width, passing, before) => {
      const { query, key } = state;
      if (before) {
        // What moved is compared with how it was; what was switched isn't.
        const act = actOf(before.state, state);
        const start = ["switch", "none"].includes(act) ? undefined : before.values;
        clocks.since(start?.score, act === "both" ? "same" : "");
        scores.since(start?.curve);
      } else arrange(width);
      paint({ query, key, ...values }, passing || !before);
      if (before && !passing) hint.watch(before.state, state);
    };
  },
  say: attentionSays,
};
