// Elements, words and shapes that figures are made of.

const maker = (kind) => (name, attributes = {}, ...children) => {
  const made = document.createElementNS(`http://www.w3.org/${kind}`, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
};
export const element = maker("1999/xhtml");
export const shape = maker("2000/svg");

export const text = (x, y, words, attributes) => shape("text", { x, y, ...attributes }, words);
export const line = (attributes) => shape("line", attributes);
export const middle = { "text-anchor": "middle" };
export const end = { "text-anchor": "end" };
export const round = (x) => Math.round(10 * x) / 10;
export const clamp = (low, number, high) => Math.max(low, Math.min(high, number));
export const points = (places) => places.map(([x, y]) => `${round(x)},${round(y)}`).join(" ");
/** Set attributes; those that stay cost no style or layout in a frame. */
export const assign = (node, attributes) => {
  for (const [name, value] of Object.entries(attributes))
    if (node.getAttribute(name) !== `${value}`) node.setAttribute(name, value);
};
/** Set an element's text, unless it stays, in the node that it has: a new one costs more. */
export const write = (node, words) => {
  const kept = node.firstChild ?? node.appendChild(new Text());
  if (kept.data !== words) kept.data = words;
};

/** A number that rounds to zero has no sign: the first rounding keeps it, the second drops it. */
export const show = (x, digits = 4) => Number(x.toFixed(digits)).toFixed(digits).replace("-", "−");
/** A number with its sign, also above zero. */
export const signed = (x) => (x > 0 ? "+" : "") + show(x, 2);
/**
 * A field's value in words; a fraction is a position between two others. The first `toLocaleString`
 * of a page would take as long as drawing a figure.
 */
export const written = (value) => {
  if (typeof value !== "number") return value;
  return show(value, value % 1 ? 1 : 0).replace(/\B(?=(\d{3})+$)/g, ",");
};
