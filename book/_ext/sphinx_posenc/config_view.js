// The view of a configuration; `posenc.read_config` reads pasted files, in the page's Python
// (worker.js). `make` is book.js's.
const UNSAID = "the file doesn't say";
const some = (x) => x !== null && x !== undefined;
const digits = (x) => ({ maximumSignificantDigits: Number.isInteger(x) ? 21 : 4 });
const number = (x) => x.toLocaleString("en", digits(x)).replaceAll(",", " ");

/** Fields and what the file and the code say of them, as a list; `asked` in any case. */
function facts(said, asked = Object.keys(said)) {
  const told = (value) => (Array.isArray(value) ? value.join(", ") : typeof value === "number" ? number(value) : value);
  const rows = Object.entries(said).filter(([name, value]) => some(value) || asked.includes(name));
  const term = (name) => make("dt", {}, name.replaceAll("_", " "));
  return make("dl", {}, ...rows.flatMap(([name, value]) => [term(name), make("dd", {}, told(value ?? UNSAID))]));
}

/** The length that a scaling starts from (the limit without one), and the intended one, with their names. */
function lengthsOf({ length_before_scaling: before, intended_length: intended, limit }) {
  const first = [some(before) ? "length before scaling" : "limit", before ?? limit];
  return [first, ["intended length", intended]].filter(([, length], i) => some(length) && !(i && length === first[1]));
}

function sentence(scaling, lengths, waves) {
  const of = `of ${waves.now.length} pairs`;
  const moved = (all) => all.filter((wave, i) => Math.abs(wave / waves.plain[i] - 1) > 1e-6).length;
  const within = (length) => waves.now.filter((wave) => wave <= length).length;
  const turned = ([name, length]) => `${within(length)} ${of} finish a turn within the ${name}, ${number(length)}.`;
  const later = waves.beyond ? `, and ${moved(waves.beyond)} in longer texts` : "";
  const scaled = `The scaling, ${scaling}, moves ${moved(waves.now)} ${of}${later}.`;
  return [...lengths.map(turned), scaling === "default" ? "No scaling." : scaled].join(" ");
}

/** Wavelengths, one dot per pair, on a logarithmic scale, with lines at the lengths. */
function picture(title, lengths, { now, plain, beyond = [] }, width) {
  const [left, bottom] = [96, 226];
  const top = Math.ceil(Math.log10(Math.max(...now, ...beyond, ...lengths.map(([, length]) => length))));
  const x = (i) => left + 8 + (i / Math.max(1, now.length - 1)) * (width - left - 24);
  const y = (wave) => bottom - (Math.log10(wave) / top) * (bottom - 14);
  const line = (at, kind) => make("line", { x1: left, x2: width, y1: at, y2: at, class: `config-line ${kind}` });
  const words = (x, y, text, anchor) => make("text", { x, y, "text-anchor": anchor }, text);
  const at = (wave, i) => ({ cx: x(i).toFixed(1), cy: y(wave).toFixed(1), r: 2.5 });
  const dots = (all, kind) => all.map((wave, i) => make("circle", { ...at(wave, i), class: kind }));
  const attributes = { role: "img", "aria-label": title, viewBox: `0 0 ${width} 260`, class: "config-picture" };
  const drawn = make("svg", attributes, line(bottom, ""));
  for (let n = 0; n <= top; n += 2) drawn.append(words(left - 6, y(10 ** n) + 4, number(10 ** n), "end"));
  for (const [i, [name, length]] of lengths.entries())
    drawn.append(line(y(length), i ? "config-intended" : ""), words(left + 4, y(length) - 4, name, "start"));
  drawn.append(...dots(plain, "config-plain"), ...dots(beyond, "config-beyond"), ...dots(now, "config-dot"));
  drawn.append(words((left + width) / 2, 254, "pair, quick to slow", "middle"));
  return drawn;
}

/** What is shown of one kind of layer. */
function kind(part, layers, lengths, width) {
  const { where, count, frequencies, frequencies_beyond: later, indices, first, rotated, ...said } = layers;
  const many = some(count) ? ` (${count})` : "";
  const title = make("h2", {}, `${part}${said.name}${many}: ${where ?? UNSAID}`);
  const told = { layers: said.name === "all layers" ? null : indices, ...said, name: null };
  if (where !== "queries and keys, rotary") return [title, facts(told, [])];
  if (!frequencies) return [title, facts({ ...told, wavelengths: null }, ["base", "wavelengths"])];
  const whole = layers.scaling === "proportional" ? 2 * frequencies.length : rotated;
  const wave = (frequency) => (2 * Math.PI) / frequency;
  const now = frequencies.filter((frequency) => frequency > 0).map(wave);
  const waves = { now, plain: now.map((_, i) => wave(layers.base ** ((-2 * i) / whole))), beyond: later?.map(wave) };
  const range = `from ${number(now[0])} to ${number(now.at(-1))} positions`;
  const drawn = picture(`Wavelengths of ${now.length} pairs of ${part}${said.name}, ${range}`, lengths, waves, width);
  const says = make("p", {}, sentence(layers.scaling, lengths, waves));
  return [title, facts({ ...told, wavelengths: range }, ["base", "pairing"]), says, drawn];
}

/** A function that hands text to Python, loaded once; only the result of the latest is shown. */
function reader(python, hear) {
  const worker = new Worker(new URL(`${python}worker.js`, location), { type: "module" });
  let [waiting, said] = [0, ""];
  worker.addEventListener("message", ({ data }) => {
    const { total, loaded, starting, broken, done, stream = "" } = data;
    said += stream;
    if (total) hear.state(`Loading Python: ${(loaded / 1e6).toFixed(1)} of ${(total / 1e6).toFixed(1)} MB`);
    if (starting) hear.state("Starting Python …");
    if (broken) hear.state(`Python couldn't be loaded (${broken}).`);
    if (done && --waiting === 0) done.error ? hear.wrong(done.error.says) : hear.found(JSON.parse(said));
    if (done) said = "";
  });
  return (text) => {
    const read = `read_config(${JSON.stringify(text)}.encode()).as_dict()`;
    const source = `import json\nfrom posenc import read_config\nprint(json.dumps(${read}))`;
    worker.postMessage({ source, name: "file" });
    waiting++;
  };
}

document.addEventListener("DOMContentLoaded", () => {
  const options = Object.keys(RELEASED).map((name) => make("option", { value: name }, name));
  const choice = make("select", { id: "config-choice" }, ...options, make("option", { value: "", hidden: "" }, "your own"));
  const area = make("textarea", { id: "config-text", rows: 12, spellcheck: "false", autocomplete: "off" });
  const shown = make("div", { id: "config-shown", role: "status" });
  const python = document.querySelector("meta[name=python]")?.content;
  let last, read;
  const found = (positions = last) => {
    last = positions;
    const { code, model_type: type, layers, warnings, parts, ...lengths } = positions;
    shown.replaceChildren(facts({ type, code: code ?? "not known here, so this is what the file says", ...lengths }));
    const every = [["", positions], ...Object.entries(parts).map(([name, part]) => [`${name}, `, part])];
    const items = every.flatMap(([, part]) => part.warnings.map((each) => make("li", {}, each)));
    if (items.length) shown.append(make("ul", { "aria-label": "Warnings" }, ...items));
    for (const [name, part] of every)
      for (const each of part.layers) shown.append(...kind(name, each, lengthsOf(part), shown.clientWidth || 600));
  };
  const state = (words) => shown.replaceChildren(make("p", {}, words));
  // Mark the line that an error names, in the text itself.
  const wrong = (words) => {
    state(`This can't be read: ${words}`);
    const line = Number(/line (\d+), column/.exec(words)?.[1]);
    if (!line) return;
    const before = area.value.split("\n").slice(0, line);
    const [end, marked] = [before.join("\n").length, before.at(-1)];
    shown.append(make("pre", { class: "config-wrong" }, `${line}  ${marked.slice(0, 200)}`));
    area.setSelectionRange(end - marked.length, end);
  };
  const pick = () => {
    const [config, positions] = RELEASED[choice.value];
    area.value = JSON.stringify(config, null, 1);
    found(positions);
  };
  choice.addEventListener("change", () => choice.value && pick());
  area.addEventListener("input", () => {
    choice.value = "";
    if (!python || location.protocol === "file:")
      return state("This needs Python, which only a website can load, not a local file.");
    read ??= reader(python, { state, found, wrong });
    read(area.value);
  });
  window.addEventListener("resize", () => found());
  const form = make("div", {}, make("label", { for: choice.id }, "A released file"), choice);
  form.append(make("label", { for: area.id }, "Or paste your own in its place"), area);
  document.getElementById("config-reader").replaceChildren(form, shown);
  pick();
});
