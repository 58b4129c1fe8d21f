// Everything turns, nothing changes: a query and a key in a sentence, and the score between them.

import { HEAD, attention } from "./attention.js";
import { dials } from "./dials.js";
import { shape } from "./drawing.js";
import { FIGURES } from "./figure.js";
import { guide } from "./guide.js";
import { easing } from "./motion.js";
import { chart } from "./scores.js";
import { ruler, sentence } from "./sentence.js";
import { attentionSays } from "./telling.js";

FIGURES.turning = {
  grips: ["query", "key"],
  compute: attention,
  build(picture, set, current) {
    const svg = shape("svg", { role: "group", "aria-label": "A query and a key" });
    const hint = guide(set, current);
    if (current().method === "turned") picture.append(hint.row);
    picture.append(svg);
    svg.addEventListener("pointerdown", hint.stop, true);
    const words = sentence(svg, set, current);
    const clocks = dials(svg);
    const scores = chart(svg, set, current);
    let arranged; // the width that the parts were arranged for
    let latest; // the state drawn last: `paint` gets numbers alone, and method and rule are words
    let rested; // the last state and values that weren't passing
    const paint = easing((shown) => {
      const isFar = Math.abs(shown.query[0] - shown.key[0]) >= HEAD.trained || latest.rule !== "as trained";
      picture.classList.toggle("far", isFar);
      picture.classList.toggle("still", latest.method === "ALiBi" || latest.method === "none");
      words.paint(shown.query, shown.key);
      clocks.paint(shown);
      scores.paint(shown);
    });
    const arrange = (width) => {
      const height = svg.clientHeight;
      svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
      const { bottom } = ruler(width);
      const below = width < 560 ? 148 : height > 400 ? 190 : 170;
      words.arrange(width);
      clocks.arrange(width, bottom + 4, height - bottom - below);
      scores.arrange(width, height - below, below);
      arranged = width;
    };
    // The page draws a state at rest first, so that there is one when a drag passes. The order
    // is: arrange, then paint, then the mark where a drag began.
    return (state, values, width, passing) => {
      latest = state;
      const isNew = arranged !== width;
      if (isNew) arrange(width);
      if (rested && rested.state !== state) scores.since(rested.values.score);
      paint(flat(state, values), isNew || passing);
      if (passing) return;
      if (rested) hint.watch(rested.state, state);
      rested = { state, values };
    };
  },
  say: attentionSays,
};

/** State and values as lists of numbers, which can be eased. */
function flat({ query, key }, { hands, shares, score, curve, learned, seen }) {
  const numbers = { query: [query], key: [key], shares, score: [score], curve, learned, seen };
  for (const [name, turns] of Object.entries(hands)) {
    numbers[`${name}Angles`] = turns.map(([angle]) => angle);
    numbers[`${name}Lengths`] = turns.map(([, length]) => length);
  }
  return numbers;
}
