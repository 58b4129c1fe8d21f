// What Turning's sentence says: what the last act did, or else what is seen.

import { isUnseen } from "./attention.js";
import { round, show, written } from "./drawing.js";
import { BEST } from "./ruler.js";
import { KEY_WORD, QUERY_WORD } from "./sentence.js";

// Marks of `phrase` in controls.js, which give both words their colors.
export const WORDS = { query: `{query|${QUERY_WORD}}`, key: `{key|${KEY_WORD}}` };

/**
 * What a change did: "switch", if not words alone changed; or else what it moved: "both" words
 * alike, them "apart", the "query", the "key", or "none".
 */
export function actOf(from, to) {
  if (["method", "rule", "base"].some((name) => from[name] !== to[name])) return "switch";
  const [query, key] = [to.query - from.query, to.key - from.key];
  // Both move by the same, but for rounding: a drag has fractions.
  if (query && key) return Math.abs(query - key) < 1e-9 ? "both" : "apart";
  if (query) return "query";
  return key ? "key" : "none";
}

/**
 * What sentences are told, in words: the score, and the score before; how far apart the words are; the rule
 * for longer texts; and whether training never showed some angles.
 * @typedef {{ score: string, was?: string, apart: string, rule: string, isNew: boolean }} Told
 */

/** What is seen of clocks that turn, by the rule for longer texts. */
const SEEN_TURNED = {
  "as trained":
    "Where hands agree, a clock lights up and adds a layer of its color to the score: " +
    `how much ${WORDS.query} takes up of ${WORDS.key}.`,
  interpolation:
    `All clocks are slowed by half, so ${WORDS.query} looks six back. No angle is new, but neighbors are more alike.`,
  "NTK-aware": "The slower a clock, the more it is slowed, the last one by half.",
  YaRN: "Slow clocks are slowed by half, the fastest one isn’t, and scores are sharpened.",
};

/** What is seen in a state, by method: functions of `Told`. */
const SEEN = {
  turned: ({ rule }) => SEEN_TURNED[rule],
  added: () =>
    "Now each hand is the sum of its word’s, which stays, and its place’s, which turns. Where these " +
    "disagree, it is short.",
  ALiBi: ({ score }) =>
    "ALiBi turns no hand: all agree. Each step apart costs half a point, and dims all clocks: " +
    `${BEST} − ${show(BEST - score, 2)} = ${score}.`, // of what is seen, so that it adds up
  none: ({ score }) => `No hand turns, so all agree: each word scores ${score}, wherever it stands.`,
};

const NEW_ANGLES = " But training, on eight words, never showed the angles in red.";
/** What is seen once both words have moved alike, if it is anything else: functions of `Told`. */
const SEEN_TOGETHER = {
  turned: ({ score, isNew }) =>
    `All hands turned, but no angle between two changed, so the score is still ${score}.` +
    (isNew ? NEW_ANGLES : " What a model learns of words so far apart holds anywhere in a text."),
  added: ({ score, was, apart }) =>
    `They are still ${apart} apart, ` +
    (score === was ? `and here the score is still ${score}. ` : `but the score went from ${was} to ${score}. `) +
    "What a model learns of them at one place may fail at another.",
};

/**
 * The figure's `say`: during a drag, `before` is where it began. The first that holds is said:
 * 1. both words moved alike: what became of the score;
 * 2. the base changed: what that does;
 * 3. training never showed some angles;
 * 4. positions aren't "turned", or it wasn't one word that moved: what is seen;
 * 5. one word moved: all hands agree, or how the score compares with `before`.
 */
export function attentionSays(state, values, before) {
  const { query, key, method, rule } = state;
  const start = before?.state ?? state;
  const act = actOf(start, state);
  const score = show(values.score, 2);
  const was = before && show(before.values.score, 2);
  const distance = round(Math.abs(key - query)); // a drag has fractions
  const apart = written(distance);
  const isNew = isUnseen(values.excess);
  const told = { score, was, apart, rule, isNew };
  if (act === "both") {
    const seen = SEEN_TOGETHER[method] ?? SEEN[method];
    return `Both moved by ${written(Math.abs(query - start.query))}. ${seen(told)}`;
  }
  if (start.base !== state.base) return "The larger the base (here {base}), the slower all clocks but the first.";
  const side = distance ? `${apart} ${key < query ? "before" : "after"}` : "at the place of";
  const scored = `With ${WORDS.key} ${side} ${WORDS.query}, the score is ${score}`;
  if (isNew) return `${scored}.${NEW_ANGLES}`;
  if (method !== "turned" || !["query", "key"].includes(act)) return SEEN[method](told);
  // All eight pairs agree, rounded; YaRN sharpens scores.
  if (values.score > BEST - 0.005 && rule !== "YaRN")
    return `${scored}, the highest. All hands agree, so ${WORDS.query} takes up ${WORDS.key} most.`;
  let amount = values.score > before.values.score ? "more" : "less";
  if (score === was) amount = "as much";
  return `${scored}: ${WORDS.query} takes up ${amount} of ${WORDS.key}.`;
}
