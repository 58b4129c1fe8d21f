// The figures, each set by the module of its name.

/**
 * A figure has
 * - `compute(state)`: its values, under the names that Python's `values` has for them;
 * - `build(picture, set, current, isLinked)`: create the picture once, and return
 *   `draw(state, values, width, passing, before)`, which shows values in it, without `before` when
 *   the width is new; `set(change, passing)` changes fields, `current()` is the state, and a linked
 *   figure shows what a reader saw, and stays there;
 * - `say(state, values, before)`: a sentence for `phrase`;
 * - `limits(state)`, if fields limit each other;
 * - `grips`: names of fields that are moved in the picture, so that they need no slider.
 * `before` is `{ state, values }` at the last rest.
 */
export const FIGURES = {};

/**
 * A field of a figure, from `fields` in widgets.py. It has either `options`, or `min`, `max` and
 * `step`; the step of a `log` field is one of its power of ten. Python checks `initial`.
 * @typedef {object} Field
 * @property {string} label its name, and last its letter in formulas
 * @property {number | string} initial
 * @property {string[]} [options]
 * @property {number} [min]
 * @property {number} [max]
 * @property {number} [step]
 * @property {true} [log]
 */
