// What Turning's sentence says: what the last move did, or else what is seen.

import { show } from "./drawing.js";
import { KEY_WORD, QUERY_WORD } from "./sentence.js";

// Marks of `phrase` in controls.js, which give both words their colors.
export const WORDS = { query: `{query|${QUERY_WORD}}`, key: `{key|${KEY_WORD}}` };
const digits = (number) => show(number, number % 1 ? 1 : 0);

/**
 * What sentences are told: the score, the score before, and how far apart the words are, in words;
 * whether all hands agree; and the rule for longer texts.
 * @typedef {{ score: string, was: string, apart: string, agree: boolean, rule: string }} Told
 */

/** What is seen of clocks that turn, by the rule for longer texts. */
const SEEN_TURNED = {
  "as trained":
    `Each word’s place turns its eight hands. Here ${WORDS.query} looks for the word three before it, so its hands ` +
    "are set back by three. Where hands agree, a clock lights up, and adds to the score",
  interpolation: "Interpolation slows all clocks by half: no angle is new, but neighbors look more alike",
  "NTK-aware": "NTK-aware slows a clock the more, the slower it is: the last one by half",
  YaRN: "YaRN slows the slow clocks by half, spares the fastest, and sharpens all scores",
};

/** What is seen in a state, by method: functions of `Told`. */
const SEEN = {
  turned: ({ rule }) => `${SEEN_TURNED[rule]}.`,
  added: () =>
    "Now each hand is the sum of its word’s, which stays, and its place’s, which turns. Where these disagree, it is short.",
  ALiBi: ({ score, apart }) =>
    `ALiBi turns no hand: all agree. Instead, each step apart costs half a point: 8 − ${apart}/2 = ${score}.`,
  none: ({ score }) => `No hand turns, so all agree: the score is ${score} anywhere, and says nothing of order.`,
};

/** What is seen once both words have moved alike, by method: functions of `Told`. */
const SEEN_TOGETHER = {
  turned: ({ score, agree }) =>
    `All sixteen hands turned, but ${agree ? "they agree" : "each wedge is as wide"} as before: ` +
    `the score is the same, ${score}. ` +
    "So what a model learns about two words at one place holds anywhere in a text.",
  added: ({ score, apart, was }) =>
    `They are still ${apart} apart, but the score went from ${was} to ${score}. ` +
    "Added, the same two words read differently at each place.",
  ALiBi: ({ score, apart }) => `They are still ${apart} apart, so the score is still ${score}.`,
  none: SEEN.none,
};

/** Whether a change moved both words alike, but for rounding: fractions come in a drag. */
export const isTogether = (from, to) =>
  from.query !== to.query && Math.abs(to.query - from.query - (to.key - from.key)) < 1e-9;

/**
 * The figure's `say`: during a drag, `before` is where it began. The first that holds is said: both
 * moved alike; angles are unseen; what is seen, unless one word alone turned; what its turn did.
 */
export function attentionSays(state, values, before) {
  const { query, key, method, rule } = state;
  const start = before?.state;
  const score = show(values.score, 2);
  const was = before && show(before.values.score, 2);
  const apart = digits(Math.abs(key - query));
  const agree = values.score > 7.995 && rule !== "YaRN"; // 8 pairs, rounded; YaRN sharpens scores
  const facts = { score, was, apart, agree, rule };
  const isSwitched = !start || ["method", "rule", "base"].some((name) => start[name] !== state[name]);
  if (!isSwitched && isTogether(start, state))
    return `Both moved by ${digits(Math.abs(query - start.query))}. ${SEEN_TOGETHER[method](facts)}`;
  const unseen = values.excess.filter((angle) => Math.abs(angle) > 1e-9).length; // but for rounding
  if (unseen)
    return (
      `Now ${apart} apart, the two words score ${score}. But on ${unseen} of the 8 clocks, they make an ` +
      "angle that training never showed (red)."
    );
  const moved = ["query", "key"].filter((name) => state[name] !== start?.[name]);
  if (isSwitched || method !== "turned" || moved.length !== 1) return SEEN[method](facts);
  const place = key === query ? "at the place of" : `${apart} ${key < query ? "before" : "after"}`;
  const turned = `The hands of ${WORDS[moved[0]]} turned with its place. With ${KEY_WORD} ${place} ${QUERY_WORD}, `;
  if (!agree) return `${turned}the score is ${score} (it was ${was}).`;
  return `${turned}where ${QUERY_WORD} looks, all hands agree: the score is ${score}, the highest.`;
}
