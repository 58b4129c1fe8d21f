// What Turning's sentence says: what the last move did, or else what is seen.

import { excess } from "./attention.js";
import { show } from "./drawing.js";
import { KEY_WORD, QUERY_WORD } from "./sentence.js";

// Marks of `phrase` in controls.js, which give both words their colors.
const WORDS = { query: `{query|${QUERY_WORD}}`, key: `{key|${KEY_WORD}}` };
const digits = (number) => show(number, number % 1 ? 1 : 0);
const points = (score) => show(score, 2);

/**
 * What sentences are told: the score, the score before, and how far apart the words are, as numbers;
 * and the rule for longer texts.
 * @typedef {{ score: number, was: number, apart: number, rule: string }} Told
 */

/** What is seen of clocks that turn, by the rule for longer texts. */
const SEEN_TURNED = {
  "as trained":
    `Each word’s place turns eight hands, violet for ${WORDS.query}, orange for ${WORDS.key}. Hands that agree ` +
    `(green) score; opposed (gray), they cost. To look three words back, this model sets ${QUERY_WORD}’s hands back by three`,
  interpolation: "Interpolation slows all clocks by half: no angle is new, but neighbors look more alike",
  "NTK-aware": "NTK-aware: the slower a clock, the more it is slowed; the last one by half",
  YaRN: "YaRN slows the slow clocks by half, spares the fastest, and sharpens all scores",
};

/** What is seen in a state, by method: functions of `Told`. */
const SEEN = {
  turned: ({ rule }) => `${SEEN_TURNED[rule]}.`,
  added: ({ score }) =>
    "Added to its word, whose hand stays, a place’s hand turns. We see their mean: halfway between them, " +
    `and shorter the more they differ. The score is ${points(score)}.`,
  ALiBi: ({ score, apart }) =>
    `With ALiBi, no hand turns. Each step apart costs half a point: 8 − ${digits(apart)}/2 = ${points(score)}.`,
  none: ({ score }) => `No hand turns: the score is ${points(score)} wherever they stand, so the order doesn’t count.`,
};

/** What is seen once both words have moved alike, by method: functions of `Told`. */
const SEEN_TOGETHER = {
  // Hands that all agree score eight, a point each.
  turned: ({ score }) =>
    `All sixteen hands turned, but ${Math.abs(score - 8) < 0.005 ? "they agree" : "each wedge is as wide"} as before: ` +
    `the score is the same, ${points(score)}. ` +
    "So what a model learns about two words at one place holds anywhere in a text.",
  added: ({ score, was, apart }) =>
    `They are still ${digits(apart)} apart, but the score went from ${points(was)} to ${points(score)}. ` +
    "Added, the same two words read differently at each place.",
  ALiBi: ({ score, apart }) => `They are still ${digits(apart)} apart, so the score is the same, ${points(score)}.`,
  none: ({ score }) => `The score is ${points(score)}, as anywhere.`,
};

/** Whether a change moved both words alike. */
export const isTogether = (from, to) => from.query !== to.query && to.query - from.query === to.key - from.key;

/** The figure's `say`: during a drag, `before` is where it began. */
export function attentionSays(state, values, before) {
  const { query, key, method, rule } = state;
  const start = before?.state;
  const told = { score: values.score, was: before?.values.score, apart: Math.abs(key - query), rule };
  const [score, apart] = [points(told.score), digits(told.apart)];
  const isSwitched = !start || ["method", "rule", "base"].some((name) => start[name] !== state[name]);
  if (!isSwitched && isTogether(start, state)) {
    const by = digits(Math.abs(query - start.query));
    return `Both moved by ${by}. ${SEEN_TOGETHER[method](told)}`;
  }
  const unseen = excess(values).filter(Boolean).length;
  if (unseen)
    return (
      `Now ${apart} apart, the two words score ${score}. But on ${unseen} of the 8 clocks, they make an ` +
      "angle that training never showed (red)."
    );
  const moved = ["query", "key"].filter((name) => start && state[name] !== start[name]);
  if (isSwitched || method !== "turned" || moved.length !== 1) return SEEN[method](told);
  return (
    `The hands of ${WORDS[moved[0]]} turned with its place, and the wedges changed. With ${KEY_WORD} ` +
    `${apart} ${key < query ? "before" : "after"} ${QUERY_WORD}, the score is ${score} (it was ${points(told.was)}).`
  );
}
