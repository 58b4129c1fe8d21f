// The page that reads a config.json. `RELEASED` has released files, each with what `read_config`
// reads in it (_templates/reader.html); Python in the page reads pasted ones. `make` is page/tools.js's.

/** What `read_config` reads, as `as_dict` writes it; what isn't said is null. All that isn't named
    here is shown under its own name: by `facts`, as text.

    @typedef {object} Layers a kind of layer
    @property {string} name
    @property {?string} where ROTARY, or where else positions enter
    @property {?number} count
    @property {?number[]} indices
    @property {?number} first the first dimension of a head that turns
    @property {?number} rotated how many dimensions do
    @property {?number} base
    @property {string} scaling
    @property {?number[]} frequencies by pair of the head, in radians per position; 0: doesn't turn
    @property {?number[]} frequencies_beyond in texts beyond the length before scaling

    @typedef {object} Part a model, or a part of it
    @property {?string} verdict
    @property {?string} code
    @property {?string} model_type
    @property {?number} length_before_scaling
    @property {?number} intended_length
    @property {?number} limit
    @property {Layers[]} layers
    @property {string[]} warnings
    @property {Object<string, Part>} parts

    @typedef {[name: string, length: number][]} Lengths

    @typedef {object} Waves wavelengths of the pairs that turn, quick to slow
    @property {number[]} now
    @property {number[]} plain without the scaling
    @property {number[]} [beyond] in texts beyond the length before scaling */

const UNSAID = "the file doesn't say";
const ROTARY = "queries and keys, rotary";
const isSaid = (value) => value !== null && value !== undefined;

function asNumber(x) {
  const digits = Number.isInteger(x) ? 21 : 4;
  return x.toLocaleString("en", { maximumSignificantDigits: digits });
}

function asText(value) {
  if (!isSaid(value)) return UNSAID;
  if (Array.isArray(value)) return value.join(", ");
  return typeof value === "number" ? asNumber(value) : value;
}

const SHORT = 16; // characters, which fit a column

/** Fields with what is said of them, as a list. What isn't said is left out, other than `always`. */
function facts(fields, always = []) {
  const rows = Object.entries(fields).filter(([name, value]) => isSaid(value) || always.includes(name));
  const cells = rows.map(([name, value]) => {
    const text = asText(value);
    const width = text.length > SHORT ? "long" : "short";
    return make("div", { class: width }, make("dt", {}, name.replaceAll("_", " ")), make("dd", {}, text));
  });
  return make("dl", {}, ...cells);
}

// ---------------------------------------------------------------- one kind of layer

/** The lengths that matter, with their names: where a scaling starts, else the limit; and the intended one.

    @param {Part} part
    @returns {Lengths} */
function lengthsOf({ length_before_scaling: before, intended_length: intended, limit }) {
  const start = isSaid(before) ? ["length before scaling", before] : ["limit", limit];
  const lengths = [start];
  if (intended !== start[1]) lengths.push(["intended length", intended]);
  return lengths.filter(([, length]) => isSaid(length));
}

/** @param {Layers} layers, with frequencies
    @returns {Waves} */
function wavelengthsOf({ base, frequencies, frequencies_beyond: beyond, rotated, scaling }) {
  const toWave = (frequency) => (2 * Math.PI) / frequency;
  const ofTurning = (all) => all.filter((frequency) => frequency > 0).map(toWave);
  const now = ofTurning(frequencies);
  // A proportional scaling counts all pairs of the head, with those that don't turn.
  const width = scaling === "proportional" ? 2 * frequencies.length : rotated;
  const plain = now.map((_, pair) => toWave(base ** ((-2 * pair) / width)));
  return { now, plain, beyond: beyond ? ofTurning(beyond) : undefined };
}

/** How many pairs finish a turn within each length, and how many the scaling moves. */
function turnsInWords(scaling, lengths, { now, plain, beyond }) {
  const ofPairs = `of ${now.length} pairs`;
  const countMoved = (waves) => waves.filter((wave, pair) => Math.abs(wave / plain[pair] - 1) > 1e-6).length;
  const countWithin = (length) => now.filter((wave) => wave <= length).length;
  const turns = lengths.map(
    ([name, length]) => `${countWithin(length)} ${ofPairs} finish a turn within the ${name}, ${asNumber(length)}.`,
  );
  if (scaling === "default") return [...turns, "No scaling."].join(" ");
  const later = beyond ? `, and ${countMoved(beyond)} in longer texts` : "";
  return [...turns, `The scaling, ${scaling}, moves ${countMoved(now)} ${ofPairs}${later}.`].join(" ");
}

const LEFT = 44; // room for numbers
const inShort = new Intl.NumberFormat("en", { notation: "compact" }); // 1M
const TOP = 14;
const BOTTOM = 226;

/** Wavelengths, one dot per pair, on a logarithmic scale, with lines at the lengths. */
function drawWavelengths(title, lengths, { now, plain, beyond = [] }, width) {
  const longest = Math.max(...now, ...beyond, ...lengths.map(([, length]) => length));
  const decades = Math.ceil(Math.log10(longest));
  const x = (pair) => LEFT + 8 + (pair / Math.max(1, now.length - 1)) * (width - LEFT - 24);
  const y = (wave) => BOTTOM - (Math.log10(wave) / decades) * (BOTTOM - TOP);
  const line = (height, kind) => make("line", { x1: LEFT, x2: width, y1: height, y2: height, class: `config-line ${kind}` });
  const label = (left, top, text, anchor) => make("text", { x: left, y: top, "text-anchor": anchor }, text);
  const dots = (waves, kind) =>
    waves.map((wave, pair) => make("circle", { cx: x(pair).toFixed(1), cy: y(wave).toFixed(1), r: 2.5, class: kind }));

  const box = { role: "img", "aria-label": title, viewBox: `0 0 ${width} 260`, class: "config-picture" };
  const drawn = make("svg", box, line(BOTTOM, ""));
  for (let decade = 0; decade <= decades; decade += 2)
    drawn.append(label(LEFT - 6, y(10 ** decade) + 4, inShort.format(10 ** decade), "end"));
  for (const [n, [name, length]] of lengths.entries())
    drawn.append(line(y(length), n ? "config-intended" : ""), label(LEFT + 4, y(length) - 4, name, "start"));
  drawn.append(...dots(plain, "config-plain"), ...dots(beyond, "config-beyond"), ...dots(now, "config-dot"));
  drawn.append(label((LEFT + width) / 2, 254, "pair, quick to slow", "middle"));
  return drawn;
}

/** What is shown of one kind of layer.

    @param {string} part its name, to begin headings with
    @param {Layers} layers
    @param {Lengths} lengths */
function showLayers(part, layers, lengths, width) {
  const { where, count, frequencies, frequencies_beyond, indices, name, first, ...others } = layers;
  const many = isSaid(count) ? ` (${count})` : "";
  const heading = make("h2", {}, `${part}${name}${many}: ${where ?? UNSAID}`);
  const said = { layers: name === "all layers" ? null : indices, ...others, "first that turns": first };
  if (where !== ROTARY) return [heading, facts(said)];
  if (!frequencies) return [heading, facts({ ...said, wavelengths: null }, ["base", "wavelengths"])];
  const waves = wavelengthsOf(layers);
  const range = `from ${asNumber(waves.now[0])} to ${asNumber(waves.now.at(-1))} positions`;
  const title = `Wavelengths of ${waves.now.length} pairs of ${part}${name}, ${range}`;
  const fields = facts({ ...said, wavelengths: range }, ["base", "pairing"]);
  return [
    heading,
    drawWavelengths(title, lengths, waves, width),
    make("p", { class: "config-turns" }, turnsInWords(layers.scaling, lengths, waves)),
    make("details", {}, make("summary", {}, "Values of these layers"), fields),
  ];
}

// ---------------------------------------------------------------- the page

/** The verdict in two parts: which layers turn, and the rest.

    @param {string} verdict */
function showVerdict(verdict, isFine) {
  const [, start, rest] = /^(.*?)[;:] (.*)$/.exec(verdict);
  return make("p", { class: `config-verdict${isFine ? "" : " limits"}` }, `${start} `, make("span", {}, rest));
}

/** All that is read in a file: the verdict, what looks wrong, the layers, and what the file is.

    @param {Part} read */
function showAll(read, width) {
  const { verdict, code, model_type: type, layers, warnings, parts, ...fields } = read;
  const named = [["", read], ...Object.entries(parts).map(([name, part]) => [`${name}, `, part])];
  const shown = [];
  const items = named.flatMap(([, part]) => part.warnings.map((warning) => make("li", {}, warning)));
  if (verdict) shown.push(showVerdict(verdict, !items.length));
  if (items.length) shown.push(make("ul", { "aria-label": "Warnings" }, ...items));
  for (const [name, part] of named)
    for (const kind of part.layers) shown.push(...showLayers(name, kind, lengthsOf(part), width));
  const known = code ?? "not known here, so this is what the file says";
  shown.push(make("h2", {}, "The file"), facts({ type, code: known, ...fields }));
  return shown;
}

/** The line of a text that an error names, as it is shown and where it stands. */
function wrongLine(text, words) {
  const place = /\(char (\d+)\)/.exec(words)?.[1];
  if (!place) return undefined;
  // What is missing belongs behind the last word before that place.
  const number = text.slice(0, place).trimEnd().split("\n").length;
  const lines = text.split("\n").slice(0, number);
  const end = lines.join("\n").length;
  return { shown: `${number}  ${lines.at(-1).slice(0, 200)}`, start: end - lines.at(-1).length, end };
}

function makeForm() {
  const options = Object.keys(RELEASED).map((name) => make("option", { value: name }, name));
  const own = make("option", { value: "", hidden: "" }, "your own");
  const choice = make("select", { id: "config-choice" }, ...options, own);
  const area = make("textarea", { id: "config-text", rows: 12, spellcheck: "false", autocomplete: "off" });
  const form = make("div", {}, make("label", { for: choice.id }, "A released file"), choice);
  const clear = make("button", { type: "button" }, "Clear");
  const label = make("label", { for: area.id }, "Or paste your own in its place");
  form.append(make("div", { class: "config-own" }, label, clear), area);
  return { form, choice, area, clear };
}

// ---------------------------------------------------------------- Python

/** Reads texts by Python, which it loads once it is wanted. Of several texts, the latest is answered.

    Until the page knows an answer, `page.tell(words)` may say how far Python is. Then comes one of
    `page.show(read)`, `page.refuse(words)` if the text is no file, and `page.fail(reason)` if there
    is no Python: what was asked is lost then, and the next text starts it again. */
class PastedReader {
  #address; // of its scripts
  #page;
  #python; // a promise
  #waiting = 0; // texts without an answer
  #answer; // to the text that Python has, if it could be read

  constructor(address, page) {
    this.#address = address;
    this.#page = page;
  }

  async read(text) {
    this.#waiting++;
    // A message of its own: what is printed is cut off.
    const source = `from kernel import tell
from posenc import read_config
tell(read=read_config(${JSON.stringify(text)}.encode()).as_dict())`;
    (await this.load())?.post({ source, name: "file" });
  }

  /** Python, or undefined if its script can't be loaded. */
  async load() {
    this.#python ??= this.#start();
    try {
      return await this.#python;
    } catch {
      this.#python = undefined;
      this.#fail("Is there a network?");
      return undefined;
    }
  }

  async #start() {
    const { Python } = await import(new URL(`${this.#address}python.js`, location)); // it says what these three take
    const started = new Python({
      hear: (message) => this.#hear(message),
      tell: (words) => this.#waiting && this.#page.tell(words),
      fail: (reason) => this.#fail(reason),
    });
    started.warm();
    return started;
  }

  /** Take what Python reads, until it is done with a text. */
  #hear({ read, done }) {
    if (read) this.#answer = read;
    if (!done) return;
    this.#waiting = Math.max(0, this.#waiting - 1); // an answer may come after `fail`
    if (this.#waiting > 0) return; // a later text is read
    if (done.error) this.#page.refuse(done.error.says);
    else this.#page.show(this.#answer);
  }

  #fail(reason) {
    this.#waiting = 0;
    this.#page.fail(reason);
  }
}

// ---------------------------------------------------------------- the form

document.addEventListener("DOMContentLoaded", () => {
  const { form, choice, area, clear } = makeForm();
  const shown = make("div", { id: "config-shown", role: "status" });
  const address = document.querySelector("meta[name=python]")?.content;
  const hasPython = address && location.protocol !== "file:";
  let last; // what is shown
  let width; // for which it is drawn

  const say = (words) => shown.replaceChildren(make("p", {}, words));
  const show = (read) => {
    last = read;
    width = shown.clientWidth;
    shown.replaceChildren(...showAll(read, width || 600));
  };

  function refuse(words) {
    say(`This can't be read: ${words}`);
    const line = wrongLine(area.value, words);
    if (!line) return;
    shown.append(make("pre", { class: "config-wrong" }, line.shown));
    area.setSelectionRange(line.start, line.end);
  }

  // When an answer comes, a released file may have been chosen, or the text cleared.
  const isPasted = () => !choice.value && area.value.trim();
  const reader = new PastedReader(address, {
    tell: (words) => isPasted() && say(`Reading … ${words}`),
    show: (read) => isPasted() && show(read),
    refuse: (words) => isPasted() && refuse(words),
    fail: (reason) => isPasted() && say(`Python couldn't be loaded. ${reason}`),
  });

  function readPasted() {
    choice.value = "";
    last = undefined;
    if (!area.value.trim()) return say("Paste a config.json, or choose a released one.");
    if (!hasPython) return say("This needs Python, which only a website can load, not a local file.");
    say("Reading …"); // at once: what was shown is another file's
    reader.read(area.value);
  }

  function showReleased() {
    const [config, read] = RELEASED[choice.value];
    area.value = JSON.stringify(config, null, 1);
    show(read);
  }

  if (hasPython) area.addEventListener("focus", () => reader.load(), { once: true });
  // What is pasted replaces a released file, and isn't mixed with it.
  area.addEventListener("focus", () => choice.value && area.select());
  area.addEventListener("input", readPasted);
  clear.addEventListener("click", () => {
    area.value = "";
    area.focus();
    readPasted();
  });
  choice.addEventListener("change", () => choice.value && showReleased());
  // What is drawn anew is announced anew, and a phone's address bar only changes the height.
  addEventListener("resize", () => last && shown.clientWidth !== width && show(last));
  document.getElementById("config-reader").replaceChildren(form, shown);
  showReleased();
});
