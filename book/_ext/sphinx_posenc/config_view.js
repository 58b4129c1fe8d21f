// The view of a configuration: controls, and a sentence and a picture per kind of layer.
// `posenc.read_config` reads pasted files, in the page's Python (worker.js).
const UNSAID = "the file doesn't say";
const some = (x) => x !== null && x !== undefined;
const digits = (x) => (Number.isInteger(x) ? x : Number(x.toPrecision(4)));
const shown = (x) => digits(x).toLocaleString("en", { maximumFractionDigits: 9 });
const number = (x) => (some(x) ? shown(x).replaceAll(",", " ") : UNSAID);

function make(name, attributes = {}, ...children) {
  const kind = ["svg", "line", "circle", "text"].includes(name) ? "2000/svg" : "1999/xhtml";
  const made = document.createElementNS(`http://www.w3.org/${kind}`, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** A list of terms and what the file and the code say of each. */
const facts = (said) =>
  make("dl", {}, ...Object.entries(said).flatMap(([term, value]) => [make("dt", {}, term), make("dd", {}, value)]));

/** Layers' places, a run of them as its ends. */
function places(indices) {
  const runs = [];
  for (const i of indices)
    if (runs.length && runs.at(-1)[1] === i - 1) runs.at(-1)[1] = i;
    else runs.push([i, i]);
  return runs.map(([a, b]) => (a === b ? a : `${a}–${b}`)).join(", ");
}

/** The length that a scaling starts from (the limit without one), and the intended one. */
const lengthsOf = ({ length_before_scaling: before, intended_length: intended, limit }) => [
  before ?? limit,
  intended,
];

function sentence(layers, found, waves) {
  const [trained, intended] = lengthsOf(found);
  const { scaling, attention_factor: factor, score_factor: score, sections, window } = layers;
  const { norm, chunk, score_scale: scale, axes } = layers;
  const of = `of ${waves.now.length} pairs`;
  const within = (length) => waves.now.filter((wave) => wave <= length).length;
  const moved = (all) => all.filter((wave, i) => Math.abs(wave / waves.plain[i] - 1) > 1e-6).length;
  const later = waves.beyond ? `, and ${moved(waves.beyond)} in longer texts` : "";
  const parts = [
    some(trained) &&
      `${within(trained)} ${of} finish a turn within the ${some(found.length_before_scaling) ? "length before scaling" : "limit"}, ${number(trained)}.`,
    some(intended) &&
      intended !== trained &&
      `${within(intended)} ${of} do within the intended length, ${number(intended)}.`,
    scaling === "default"
      ? "No scaling."
      : `The scaling, ${scaling}, moves ${moved(waves.now)} ${of}${later}.`,
    factor !== 1 && `Cosine and sine are multiplied by ${number(factor)}.`,
    scale && `Scores are multiplied by ${number(scale)}.`,
    score && `The file asks for scores multiplied by ${number(score)}${scale ? " more" : ""}.`,
    norm && `Queries and keys are normalized ${norm} the rotation.`,
    sections && `Pairs per axis: ${sections.join(", ")}${axes ? `; axis of each pair: ${axes.join("")}` : ""}.`,
    window && `A query sees ${number(window)} keys.`,
    chunk && `Attention begins anew every ${number(chunk)} keys.`,
  ];
  return parts.filter(Boolean).join(" ");
}

const range = (waves) => `from ${number(waves[0])} to ${number(waves.at(-1))} positions`;

/** Wavelengths, one dot per pair, on a logarithmic scale, with lines at both lengths. */
function picture(name, found, waves, width) {
  const [trained, intended] = lengthsOf(found);
  const { now, plain, beyond = [] } = waves;
  const [left, bottom] = [96, 226];
  const both = trained === intended;
  const lengths = [
    [both ? "limit" : "length before scaling", trained, "config-line"],
    ["intended length", both ? null : intended, "config-line config-intended"],
  ].filter(([, length]) => some(length));
  const most = Math.max(...now, ...beyond, ...lengths.map(([, length]) => length));
  const top = Math.ceil(Math.log10(most));
  const x = (i) => left + 8 + (i / Math.max(1, now.length - 1)) * (width - left - 24);
  const y = (wave) => bottom - (Math.log10(wave) / top) * (bottom - 14);
  const line = (at, kind) => make("line", { x1: left, x2: width, y1: at, y2: at, class: kind });
  const words = (x, y, text, anchor) => make("text", { x, y, "text-anchor": anchor }, text);
  const dot = (wave, i) => ({ cx: x(i).toFixed(1), cy: y(wave).toFixed(1), r: 2.5 });
  const dots = (all, kind) => all.map((wave, i) => make("circle", { ...dot(wave, i), class: kind }));
  const attributes = {
    role: "img",
    "aria-label": `Wavelengths of ${now.length} pairs of ${name}, ${range(now)}`,
    viewBox: `0 0 ${width} 260`,
    class: "config-picture",
  };
  const drawn = make("svg", attributes, line(bottom, "config-line"));
  for (let n = 0; n <= top; n += 2) drawn.append(words(left - 6, y(10 ** n) + 4, number(10 ** n), "end"));
  for (const [name, length, kind] of lengths)
    drawn.append(line(y(length), kind), words(left + 4, y(length) - 4, name, "start"));
  drawn.append(...dots(plain, "config-plain"), ...dots(beyond, "config-beyond"));
  drawn.append(...dots(now, "config-dot"));
  drawn.append(words((left + width) / 2, 254, "pair, quick to slow", "middle"));
  return drawn;
}

function kind(layers, found, width) {
  const which = layers.name !== "all layers" && layers.indices ? `: ${places(layers.indices)}` : "";
  const many = some(layers.count) ? ` (${layers.count}${which})` : "";
  const title = make("h2", {}, `${layers.name}${many}: ${layers.where ?? UNSAID}`);
  const table = layers.table ? { Table: layers.table } : {};
  if (layers.where !== "queries and keys, rotary") return layers.table ? [title, facts(table)] : [title];
  const { name, base, frequencies, frequencies_beyond: later } = layers;
  const missing = "The code determines what else the frequencies need.";
  if (!frequencies) return [title, make("p", {}, `Base: ${number(base)}. ${missing}`)];
  const whole = layers.scaling === "proportional" ? 2 * frequencies.length : layers.rotated;
  const wave = (frequency) => (2 * Math.PI) / frequency;
  const now = frequencies.filter((frequency) => frequency > 0).map(wave);
  const plain = now.map((_, i) => wave(base ** ((-2 * i) / whole)));
  const waves = { now, plain, beyond: later?.map(wave) };
  const { layout: Rotated, pairing } = layers;
  const told = facts({ Base: number(base), Rotated, Pairs: pairing ?? UNSAID, Wavelengths: range(now), ...table });
  const says = make("p", {}, sentence(layers, found, waves));
  return [title, told, says, picture(name, found, waves, width)];
}

/** A function that hands text to Python, loaded once; only the result of the latest is shown. */
function reader(python, hear) {
  const worker = new Worker(new URL(`${python}worker.js`, location), { type: "module" });
  const million = (bytes) => (bytes / 1e6).toFixed(1);
  let waiting = 0;
  let said = "";
  worker.addEventListener("message", ({ data }) => {
    const { total, loaded, starting, broken, done } = data;
    said += data.stream ?? "";
    if (total) hear.state(`Loading Python: ${million(loaded)} of ${million(total)} MB`);
    if (starting) hear.state("Starting Python …");
    if (broken) hear.state(`Python couldn't be loaded (${broken}).`);
    if (!done) return;
    waiting -= 1;
    if (waiting === 0 && done.error) hear.wrong(done.error.says);
    else if (waiting === 0) hear.found(JSON.parse(said));
    said = "";
  });
  return (text) => {
    const read = `read_config(${JSON.stringify(text)}.encode()).as_dict()`;
    const source = `import json\nfrom posenc import read_config\nprint(json.dumps(${read}))`;
    worker.postMessage({ source, name: "file" });
    waiting += 1;
  };
}

document.addEventListener("DOMContentLoaded", () => {
  const place = document.getElementById("config-reader");
  const options = Object.keys(RELEASED).map((name) => make("option", { value: name }, name));
  options.push(make("option", { value: "", hidden: "" }, "your own"));
  const choice = make("select", { id: "config-choice" }, ...options);
  const off = { spellcheck: "false", autocomplete: "off" };
  const area = make("textarea", { id: "config-text", rows: 12, ...off });
  const shown = make("div", { id: "config-shown", role: "status" });
  const label = (id, text) => make("label", { for: id }, text);
  const python = document.querySelector("meta[name=python]")?.content;
  let last, read;
  const found = (positions) => {
    last = positions;
    const { length_before_scaling: before, intended_length: intended, limit, code } = positions;
    const { warnings, layers, parts } = positions;
    const from = code ?? "not known here, so this is what the file says";
    const lengths = { "Length before scaling": number(before), "Intended length": number(intended), Limit: number(limit) };
    shown.replaceChildren(facts({ Type: positions.model_type ?? UNSAID, Code: from, ...lengths }));
    const every = [...warnings, ...Object.values(parts).flatMap((part) => part.warnings)];
    const items = every.map((each) => make("li", {}, each));
    if (items.length) shown.append(make("ul", { "aria-label": "Warnings" }, ...items));
    for (const each of layers) shown.append(...kind(each, positions, shown.clientWidth || 600));
    for (const [name, part] of Object.entries(parts))
      for (const each of part.layers)
        shown.append(...kind({ ...each, name: `${name}, ${each.name}` }, part, shown.clientWidth || 600));
  };
  const state = (words) => shown.replaceChildren(make("p", {}, words));
  // Mark the line that an error names, in the text itself.
  const wrong = (words) => {
    state(`This can't be read: ${words}`);
    const line = Number(/line (\d+), column/.exec(words)?.[1]);
    if (!line) return;
    const lines = area.value.split("\n");
    const start = lines.slice(0, line - 1).join("\n").length + (line > 1);
    shown.append(make("pre", { class: "config-wrong" }, `${line}  ${lines[line - 1].slice(0, 200)}`));
    area.setSelectionRange(start, start + lines[line - 1].length);
  };
  const pick = () => {
    if (!choice.value) return;
    const [config, positions] = RELEASED[choice.value];
    area.value = JSON.stringify(config, null, 1);
    found(positions);
  };
  choice.addEventListener("change", pick);
  area.addEventListener("input", () => {
    choice.value = "";
    if (!python || location.protocol === "file:")
      return state("This needs Python, which only a website can load, not a local file.");
    read ??= reader(python, { state, found, wrong });
    read(area.value);
  });
  window.addEventListener("resize", () => last && found(last));
  const form = [label("config-choice", "A released file"), choice, label("config-text", "Or paste your own in its place"), area];
  place.replaceChildren(make("div", {}, ...form), shown);
  pick();
  const search = document.getElementById("types-search");
  const rows = [...document.querySelectorAll("#types-table tbody tr")];
  search?.addEventListener("input", () => {
    const words = search.value.toLowerCase().split(/\s+/);
    for (const row of rows)
      row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
    const left = rows.filter((row) => !row.hidden).length;
    document.getElementById("types-found").textContent = `${left} types`;
  });
});
