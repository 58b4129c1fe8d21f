// The colors of Python's code while a reader types: a copy of the text, in the colors of the page's
// code (the classes are Pygments'), lies below a text area whose own letters are transparent.
/* global make */

const KEYWORDS =
  "and as assert async await break class continue def del elif else except finally for from global if import in is " +
  "lambda nonlocal not or pass raise return try while with yield None True False";
const KINDS = {
  c1: /#.*/,
  s2: /[fbru]{0,2}(?:"""[^]*?(?:"""|$)|'''[^]*?(?:'''|$)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?)/,
  k: new RegExp(`\\b(?:${KEYWORDS.replaceAll(" ", "|")})\\b`),
  mi: /\b\d[\w.]*/,
  nf: /(?<=\bdef )\w+/,
  nb: /\b(?:abs|all|any|dict|enumerate|float|int|len|list|max|min|print|range|round|set|sorted|str|sum|tuple|zip)\b/,
  o: /[-+*/%=<>@&|^~]+/,
};
const named = Object.entries(KINDS).map(([kind, { source }]) => `(?<${kind}>${source})`);
const TOKEN = new RegExp(named.join("|"), "g");

/** Code as text and colored elements. */
function* tokens(code) {
  let end = 0;
  for (const match of code.matchAll(TOKEN)) {
    const kind = Object.keys(KINDS).find((name) => match.groups[name] !== undefined);
    yield code.slice(end, match.index);
    yield make("span", { class: kind }, match[0]);
    end = match.index + match[0].length;
  }
  yield `${code.slice(end)}\n`; // a last empty line has a height, too
}

/** Keep the copy below a text area (made by cells.js's `editor`); returns what paints it anew. */
export function colored(area) {
  const copy = area.previousElementSibling;
  const paint = () => copy.replaceChildren(...tokens(area.value));
  area.addEventListener("scroll", () => (copy.scrollLeft = area.scrollLeft));
  area.parentElement.classList.add("colored");
  paint();
  return paint;
}
