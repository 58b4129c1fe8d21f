// Everything turns, nothing changes: a query and a key in a sentence, and the score between them.
//
// The picture is a landscape, with the sentence on it and the score above the key, and the dials
// below. Each of these parts has
// - `arrange`, which is called with the ruler for a new width, before all else; that of the dials gets the
//   edge that they are under, too, and returns their lower one;
// - in `land` and `score`, `since`, which is called before it, as it says what to compare with;
// - `paint`, which shows both places with the values (`Attention`), or what is on the way between two, and
//   gets the method, too.

import { attention, isUnseen } from "./attention.js";
import { dials } from "./dials.js";
import { assign, shape } from "./drawing.js";
import { FIGURES } from "./figure.js";
import { guide } from "./guide.js";
import { landscape } from "./landscape.js";
import { easing } from "./motion.js";
import { ruler } from "./ruler.js";
import { scoreMark } from "./score.js";
import { sentence } from "./sentence.js";
import { actOf, attentionSays } from "./telling.js";

FIGURES.turning = {
  grips: ["query", "key"],
  compute: attention,
  build(picture, set, current) {
    const svg = shape("svg", { role: "group", "aria-label": "A query and a key" });
    const hint = guide(set, current);
    // A chapter that opens it with another method is about that one, and leads nowhere else.
    if (current().method === "turned") picture.before(hint.row);
    picture.append(svg);
    svg.addEventListener("pointerdown", hint.stop, true);
    const land = landscape(svg);
    const clocks = dials(svg);
    const score = scoreMark(svg);
    const words = sentence(svg, set, current);
    const arrange = (width) => {
      const geometry = ruler(width);
      for (const part of [land, words, score]) part.arrange(geometry);
      const height = clocks.arrange(geometry, geometry.bottom);
      assign(svg, { height, viewBox: `0 0 ${width} ${height}` });
    };
    const paint = easing((shown) => {
      const { method, rule } = current();
      const isNew = isUnseen(shown.excess);
      picture.classList.toggle("new", isNew);
      picture.classList.toggle("ruled", isNew || (method === "turned" && rule !== "as trained"));
      for (const part of [land, words, score, clocks]) part.paint(shown, method);
    });
    return (state, values, width, passing, before) => {
      const { query, key } = state;
      if (before) {
        // What moved is compared with how it was; what was switched isn't.
        const act = actOf(before.state, state);
        const start = act === "switch" ? undefined : before.values;
        score.since(start?.score, act === "both");
        land.since(start?.curve);
      } else arrange(width);
      paint({ query, key, ...values }, passing || !before);
      // Last, since it may set the next state, which comes back here.
      if (before && !passing) hint.watch(before.state, state);
    };
  },
  say: attentionSays,
};
