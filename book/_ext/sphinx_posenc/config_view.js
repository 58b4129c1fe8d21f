// What the page shows of a configuration: controls, a sentence and a picture per kind of layer.
// What is pasted is read by `posenc.read_config`, in the Python of the site (worker.js).
const ROTARY = "queries and keys, rotary";
const some = (x) => x !== null && x !== undefined;
const UNSAID = "the file doesn't say";
const digits = (x) => (Number.isInteger(x) ? x : Number(x.toPrecision(4)));
const number = (x) => (some(x) ? digits(x).toLocaleString("en").replaceAll(",", " ") : UNSAID);

function make(name, attributes = {}, ...children) {
  const svg = ["svg", "line", "circle", "text"].includes(name);
  const made = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** What the pairs of a kind of layer do, in numbers. */
function counts(layers, found) {
  const waves = layers.frequencies.filter((w) => w > 0).map((w) => (2 * Math.PI) / w);
  const within = (length) => waves.filter((wave) => wave <= length).length;
  const whole = layers.scaling === "proportional" ? 2 * layers.frequencies.length : layers.rotated;
  const plain = waves.map((_, i) => 2 * Math.PI * layers.base ** ((2 * i) / whole));
  const moved = waves.filter((wave, i) => Math.abs(wave / plain[i] - 1) > 1e-6).length;
  const beyond = layers.frequencies_beyond?.map((w) => (2 * Math.PI) / w);
  const later = beyond?.filter((wave, i) => Math.abs(wave / plain[i] - 1) > 1e-6).length;
  return { waves, plain, moved, beyond, later, trained: some(found.trained_length) ? within(found.trained_length) : null, intended: some(found.intended_length) ? within(found.intended_length) : null };
}

function sentence(layers, found, seen) {
  const of = `of ${seen.waves.length} pairs`;
  const parts = [`Base ${number(layers.base)}; turned: ${layers.layout}; wavelengths from ${number(seen.waves[0])} to ${number(seen.waves.at(-1))} positions.`];
  if (some(seen.trained)) parts.push(`${seen.trained} ${of} finish a turn within the trained length, ${number(found.trained_length)}.`);
  if (some(seen.intended) && found.intended_length !== found.trained_length) parts.push(`${seen.intended} ${of} do within the intended length, ${number(found.intended_length)}.`);
  const later = seen.beyond ? `, and ${seen.later} in longer texts` : "";
  parts.push(layers.scaling === "default" ? "No scaling." : `The scaling, ${layers.scaling}, moves ${seen.moved} ${of}${later}.`);
  if (layers.attention_factor !== 1) parts.push(`Cosine and sine are multiplied by ${number(layers.attention_factor)}.`);
  if (layers.score_factor) parts.push(`The file asks for a score multiplied by ${number(layers.score_factor)}.`);
  if (layers.sections) parts.push(`Pairs of each axis: ${layers.sections.join(", ")}.`);
  if (layers.window) parts.push(`A query sees ${number(layers.window)} keys.`);
  return parts.join(" ");
}

/** Wavelengths, one dot a pair, on a scale of powers of ten; lines at both lengths. */
function picture(layers, found, seen, width) {
  const [height, left, bottom] = [260, 96, 34];
  const both = found.trained_length === found.intended_length;
  const lengths = [
    [both ? "length" : "trained length", found.trained_length, "config-line"],
    ["intended length", both ? null : found.intended_length, "config-line config-intended"],
  ].filter(([, x]) => some(x));
  const top = Math.ceil(Math.log10(Math.max(...seen.waves, ...(seen.beyond ?? []), ...lengths.map(([, x]) => x))));
  const x = (i) => left + 8 + (i / Math.max(1, seen.waves.length - 1)) * (width - left - 24);
  const y = (wave) => height - bottom - (Math.log10(wave) / top) * (height - bottom - 14);
  const dots = (waves, kind) => waves.map((wave, i) => make("circle", { cx: x(i).toFixed(1), cy: y(wave).toFixed(1), r: 2.5, class: kind }));
  const ticks = Array.from({ length: top + 1 }, (_, n) => n).filter((n) => n % 2 === 0).map((n) => make("text", { x: left - 6, y: y(10 ** n) + 4, "text-anchor": "end" }, number(10 ** n)));
  const lines = lengths.flatMap(([name, length, kind]) => [
    make("line", { x1: left, x2: width, y1: y(length), y2: y(length), class: kind }),
    make("text", { x: left + 4, y: y(length) - 4 }, name),
  ]);
  const label = `Wavelengths of ${seen.waves.length} pairs of ${layers.name}, from ${number(seen.waves[0])} to ${number(seen.waves.at(-1))} positions`;
  return make("svg", { role: "img", "aria-label": label, viewBox: `0 0 ${width} ${height}`, class: "config-picture" },
    make("line", { x1: left, x2: width, y1: height - bottom, y2: height - bottom, class: "config-line" }), ...ticks, ...lines,
    ...dots(seen.plain, "config-plain"), ...(seen.beyond ? dots(seen.beyond, "config-beyond") : []), ...dots(seen.waves, "config-dot"),
    make("text", { x: (left + width) / 2, y: height - 6, "text-anchor": "middle" }, "pair, quick to slow"));
}

function kind(layers, found, width) {
  const many = some(layers.count) ? ` (${layers.count})` : "";
  const title = make("h2", {}, `${layers.name}${many}: ${layers.where ?? UNSAID}`);
  if (layers.where !== ROTARY) return [title];
  if (!layers.frequencies) return [title, make("p", {}, `Base: ${number(layers.base)}. What is missing for the frequencies, only the code says.`)];
  const seen = counts(layers, found);
  return [title, make("p", {}, sentence(layers, found, seen)), picture(layers, found, seen, width)];
}

/** A function that hands a text to Python, which is loaded once, and gives what it says of the last. */
function reader(python, hear) {
  const worker = new Worker(new URL(`${python}worker.js`, location), { type: "module" });
  let waiting = 0;
  let said = "";
  worker.addEventListener("message", ({ data }) => {
    said += data.stream ?? "";
    if (data.total) hear.state(`Loading Python: ${(data.loaded / 1e6).toFixed(1)} of ${(data.total / 1e6).toFixed(1)} MB`);
    if (data.starting) hear.state("Starting Python …");
    if (data.broken) hear.state(`Python couldn't be loaded (${data.broken}).`);
    if (!data.done) return;
    if (--waiting === 0) data.done.error ? hear.error(data.done.error.says) : hear.found(JSON.parse(said));
    said = "";
  });
  return (text) => {
    const read = `read_config(json.loads(${JSON.stringify(text)}))`;
    worker.postMessage({ source: `import json\nfrom posenc import read_config\nprint(json.dumps(${read}.as_dict()))`, name: "file" });
    waiting++;
  };
}

function start() {
  const place = document.getElementById("config-reader");
  const names = Object.keys(RELEASED);
  const choice = make("select", { id: "config-choice" }, ...names.map((name) => make("option", { value: name }, name)));
  const area = make("textarea", { id: "config-text", rows: 12, spellcheck: "false", autocomplete: "off" });
  const shown = make("div", { id: "config-shown", role: "status" });
  const say = (words) => shown.replaceChildren(make("p", {}, words));
  let last;
  const show = (found) => {
    last = found;
    const lengths = `Trained length: ${number(found.trained_length)}. Intended length: ${number(found.intended_length)}.`;
    const warnings = found.warnings.length ? [make("h2", {}, "Warnings"), make("ul", {}, ...found.warnings.map((each) => make("li", {}, each)))] : [];
    shown.replaceChildren(make("p", {}, lengths), ...warnings, ...found.layers.flatMap((layers) => kind(layers, found, place.clientWidth || 600)));
  };
  const python = document.querySelector("meta[name=python]")?.content;
  const hear = { state: say, found: show, error: (says) => say(`This can't be read: ${says}`) };
  let read;
  const ask = () => {
    if (!python || location.protocol === "file:") return say("Only a site can read this, not a file: it loads Python.");
    read ??= reader(python, hear);
    read(area.value);
  };
  const pick = () => {
    const [config, found] = RELEASED[choice.value];
    area.value = JSON.stringify(config, null, 1);
    show(found);
  };
  choice.addEventListener("change", pick);
  area.addEventListener("input", ask);
  window.addEventListener("resize", () => last && show(last));
  place.replaceChildren(
    make("p", {}, make("label", { for: "config-choice" }, "A released file: "), choice),
    make("p", {}, make("label", { for: "config-text" }, "Or paste your own, in place of this one:")), area, shown);
  pick();
}
document.addEventListener("DOMContentLoaded", start);
