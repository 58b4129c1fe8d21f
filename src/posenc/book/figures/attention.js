// The query and the key of Turning: how their hands turn, and the score between them.

import { wrapped } from "./angles.js";
import { clamp } from "./drawing.js";
import { omegas } from "./encoding.js";
import { SCALINGS } from "./scaling.js";

export const HEAD = { places: 16, d_model: 16, trained: 8, factor: 2 };
export const DIALS = HEAD.d_model / 2; // one for each pair
export const FARTHEST = HEAD.places - 1;
export const PLACES = Array.from({ length: HEAD.places }, (_, n) => n);
export const LOOKS_BACK = 3; // how many words back a head that turns looks
const SLOPE = 0.5; // ALiBi's, of the first of eight heads
const FINE = 2; // corners of a layer per position: curves join them
export const REACH = FARTHEST + 3.5; // from a word at one end to three places beyond the other
export const DISTANCES = Array.from({ length: 2 * REACH * FINE + 1 }, (_, n) => n / FINE - REACH);

/** What share of its clock's angle a hand turns by, by the method; the others turn none. */
const TURNS = { turned: 1, added: 0.5 };

/**
 * What Turning shows of a state. Angles are in radians; lists have an item for each pair.
 * @typedef {object} Attention
 * @property {{ query: [number, number][], key: [number, number][] }} hands by word: angle and length
 * @property {number[]} shares what each pair adds to the score
 * @property {number} score
 * @property {number} lean how much the score rises from half a place before the key to half a place after
 * @property {number} sharp 1 if the score has a peak at the query, as ALiBi's, and no curve; else 0
 * @property {number[]} row the score of a key at each place
 * @property {number[][]} layers at each of `DISTANCES` of the key from this query, what the slowest
 *   pair makes of the score, the slowest two, and so on
 * @property {number[]} curve the last of these: the score
 * @property {number[]} excess how far places turn two hands apart beyond what training showed
 */

/** Whether any of these angles is one that training never showed (`excess`); rounding is none. */
export const isUnseen = (angles) => angles.some((angle) => Math.abs(angle) > 1e-9);

let kept = {}; // the last layers and curve, and what they were made `by`

/** What is seen of a state: `Attention`. */
export function attention({ query, key, method, base, rule }) {
  const trained = omegas(HEAD.d_model, base);
  const isTurned = method === "turned";
  const frequencies = isTurned ? SCALINGS[rule](trained, { ...HEAD, base }) : trained;
  // YaRN's factor on queries and on keys, so squared in the score.
  const temperature = isTurned && rule === "YaRN" ? (0.1 * Math.log(HEAD.factor) + 1) ** 2 : 1;
  const turn = TURNS[method] ?? 0;
  // Half the sum of a word, which points right, and its clock: exp(0i) + exp(i·angle).
  const lengthAt = (angle) => (method === "added" ? Math.cos(angle / 2) : 1);
  /** Hands at a position. By training, a query that turns is set back, to meet keys so far back. */
  const handsAt = (position, back = 0) =>
    frequencies.map((frequency, pair) => [
      turn * position * frequency - back * trained[pair],
      lengthAt(position * frequency),
    ]);
  const hands = { query: handsAt(query, isTurned ? LOOKS_BACK : 0), key: handsAt(key) };
  /** What a pair adds to the score with a key at a position. A drag asks often, so it makes no lists. */
  const shareAt = (position, pair) => {
    const [angle, length] = hands.query[pair];
    const other = position * frequencies[pair];
    // Each pair bears its part of ALiBi's penalty.
    const penalty = method === "ALiBi" ? (SLOPE * Math.abs(position - query)) / DIALS : 0;
    return temperature * length * lengthAt(other) * Math.cos(angle - turn * other) - penalty;
  };
  /** What the slowest pair makes of the score with a key at a position, the slowest two, …, all. */
  const sumsAt = (position) => {
    let sum = 0;
    return frequencies.map((_, n) => (sum += shareAt(position, DIALS - 1 - n)));
  };
  const scoreAt = (position) => sumsAt(position).at(-1);
  // Unless places are added, only distances count: so a drag keeps them.
  const by = `${[method, base, rule, method === "added" && query]}`;
  if (kept.by !== by) {
    const layers = DISTANCES.map((distance) => sumsAt(query + distance));
    kept = { by, layers, curve: layers.map((sums) => sums.at(-1)) };
  }
  const excess = frequencies.map((frequency, pair) => {
    const apart = wrapped((key - query) * frequency);
    const most = isTurned ? trained[pair] * (HEAD.trained - 1) : Math.PI; // of half a turn, all was seen
    return apart - clamp(-most, apart, most);
  });
  return {
    hands,
    shares: frequencies.map((_, pair) => shareAt(key, pair)),
    score: scoreAt(key),
    lean: scoreAt(key + 0.5) - scoreAt(key - 0.5),
    sharp: Number(method === "ALiBi"),
    row: PLACES.map(scoreAt),
    layers: kept.layers,
    curve: kept.curve,
    excess,
  };
}
