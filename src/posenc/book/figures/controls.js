// The fields of a figure (`Field` in figure.js): their values, their controls, and what they say.

import { FIELDS } from "./constants.js";
import { element, written } from "./drawing.js";
import { FIGURES } from "./figure.js";

/** A value of a field, or undefined if it is invalid. */
export function parse(field, given) {
  if (field.options) return field.options.includes(given) ? given : undefined;
  const value = Number(`${given ?? ""}`.trim() || NaN); // by itself, Number reads nothing as 0
  return value >= field.min && value <= field.max ? value : undefined;
}

/** A number at one of a field's steps, which a logarithmic field has none of. */
const snapped = ({ min, step }, value) => min + Math.round((value - min) / step) * step;

/** A whole state: defaults for missing or invalid fields; whole steps unless it is `passing`. */
export function complete(kind, given, passing) {
  const state = {};
  for (const [name, field] of Object.entries(FIELDS[kind])) {
    const value = parse(field, given[name]) ?? field.initial;
    state[name] = passing || field.options || field.log ? value : snapped(field, value);
  }
  const limits = FIGURES[kind].limits?.(state) ?? {};
  for (const [name, limit] of Object.entries(limits)) state[name] = Math.min(state[name], limit);
  return state;
}

/** A sentence as nodes: {name} is the value of that field, {name|words} says it in other words. */
export const phrase = (sentence, state) =>
  sentence.split(/\{(\w+)(?:\|(.*?))?\}/).flatMap((part, n, parts) => {
    if (n % 3 === 0) return part;
    if (n % 3 === 2) return [];
    return element("span", { "data-field": part }, parts[n + 1] ?? written(state[part]));
  });

/** The buttons of a field with options: their `row`, and `refresh(state)`, which updates it. */
function choice(name, field, set) {
  const radios = field.options.map((value) => element("input", { type: "radio", name, value }));
  const labels = radios.map((radio) => element("label", {}, radio, radio.value));
  const row = element("fieldset", {}, element("legend", {}, field.label), ...labels);
  row.addEventListener("change", ({ target }) => set({ [name]: target.value }));
  const refresh = (state) => radios.forEach((radio) => (radio.checked = radio.value === state[name]));
  return { row, refresh };
}

/** The slider of a field with numbers: its `row` and `refresh`, as of a choice. */
function slider(name, field, set) {
  const { min, max, step, log } = field;
  const id = `field-${name}`;
  const placeOf = (number) => (log ? Math.log10(number) : number);
  const input = element("input", { id, type: "range", min: placeOf(min), max: placeOf(max), step });
  const value = element("span", { "aria-hidden": "true", style: `min-width: ${written(max).length}ch` });
  const read = () => (log ? Number((10 ** input.value).toPrecision(2)) : Number(input.value));
  input.addEventListener("input", () => set({ [name]: read() }));
  let before; // restored when a swipe that starts here scrolls the page
  input.addEventListener("pointerdown", () => (before = input.value));
  input.addEventListener("pointercancel", () => {
    input.value = before;
    set({ [name]: read() });
  });
  let shown; // the number that is written
  const refresh = (state) => {
    input.value = placeOf(state[name]); // even if it stays: a limit holds it back
    if (state[name] === shown) return; // to write a number takes longer than all else here
    shown = state[name];
    value.textContent = written(shown);
    input.setAttribute("aria-valuetext", value.textContent);
  };
  const label = element("label", { for: id }, field.label);
  return { row: element("div", { class: "field" }, label, input, value), refresh };
}

/** The controls of a figure; what follows the first slider comes by "More". */
export function controls(kind, set) {
  const { grips = [] } = FIGURES[kind];
  const fields = Object.entries(FIELDS[kind]).filter(([name]) => !grips.includes(name));
  const made = fields.map(([name, field]) => (field.options ? choice : slider)(name, field, set));
  const rows = element("div", { class: "controls" }, ...made.map(({ row }) => row));
  rows.classList.toggle("few", made.length <= 2);
  const more = element("button", { type: "button", class: "more", "aria-expanded": false }, "More");
  more.addEventListener("click", () => {
    const isOpen = rows.classList.toggle("open");
    more.setAttribute("aria-expanded", isOpen);
    more.textContent = isOpen ? "Less" : "More";
  });
  const refresh = (state) => made.forEach((control) => control.refresh(state));
  return { rows, more, refresh };
}
