// Cells that run in the page. Loaded when a reader first presses Run (see book.js).

const here = new URL(".", import.meta.url).href;
const root = new URL("../../", here);
const chapter = location.pathname.split("/").pop().replace(/\.html$/, "");
const MEGA = 1e6;

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(key, value);
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

const address = (svg) => `data:image/svg+xml,${encodeURIComponent(svg)}`;
const button = (words, click) => element("button", { type: "button", click }, words);

// ---------------------------------------------------------------- what is said, to all readers

const spoken = element("p", { class: "spoken", role: "status" });

function say(cell, words, { quietly = false } = {}) {
  cell.state.textContent = words;
  if (!quietly) spoken.textContent = `${cell.name}: ${words}`;
}

// ---------------------------------------------------------------- the worker

let worker;
let running; // the cell whose outputs come in, and what to call when it is done
let queue = Promise.resolve();
let stops = 0;

const hear = {
  loaded({ loaded, total }) {
    const [is, of] = [loaded, total].map((bytes) => (bytes / MEGA).toFixed(1));
    if (running) say(running.cell, `Loading Python: ${is} of ${of} MB`, { quietly: true });
  },
  starting: () => running && say(running.cell, "Starting Python …", { quietly: true }),
  running: () => running && say(running.cell, "Running", { quietly: true }),
  done({ done }) {
    running?.resolve(done);
    running = undefined;
  },
  broken({ broken }) {
    stop(`Python couldn't be loaded (${broken}).`);
  },
  stream: (message) => running?.cell.print(message),
  text: (message) => running?.cell.show(element("pre", {}, message.text)),
  widget: (message) => running?.cell.showFigure(message),
  svg: (message) => running?.cell.showPicture(message.svg),
  state: ({ number, state }) => models.get(number)?.follow(state),
};

/** A worker with Python in it; what it loads is kept for a plane, where the browser can. */
async function begin() {
  await keepForOffline();
  worker = new Worker(`${here}worker.js`, { type: "module" });
  worker.addEventListener("message", ({ data }) => {
    const kind = Object.keys(hear).find((name) => name in data);
    hear[kind](data);
  });
  worker.addEventListener("error", () => stop("Python couldn't be loaded. Is there a network?"));
}

async function keepForOffline() {
  const { serviceWorker } = navigator;
  if (!serviceWorker || serviceWorker.controller) return;
  try {
    const version = here.split("/").at(-2);
    await serviceWorker.register(new URL(`offline.js?version=${version}`, root));
    const { active } = await serviceWorker.ready;
    if (!serviceWorker.controller) {
      await new Promise((controlled) =>
        serviceWorker.addEventListener("controllerchange", controlled, { once: true }),
      );
    }
    const files = performance.getEntriesByType("resource").map(({ name }) => name);
    active.postMessage([location.href.split("#")[0], ...files]);
  } catch {
    // In a private window it may not be allowed: all else works.
  }
}

function stop(words) {
  stops++;
  worker?.terminate();
  worker = undefined;
  models.clear();
  for (const cell of cells) cell.ran = undefined;
  const { cell, resolve } = running ?? {};
  running = undefined;
  if (cell) say(cell, words);
  resolve?.({ stopped: true });
}

/** Hand a cell to Python; the promise of what became of it. */
async function execute(cell) {
  cell.clear();
  const done = new Promise((resolve) => (running = { cell, resolve }));
  if (!worker) {
    say(cell, "Loading Python");
    await begin();
  }
  worker?.postMessage({ source: cell.source, name: cell.name });
  const result = await done;
  cell.ran = result.error || result.stopped ? undefined : cell.source;
  return result;
}

/** Run cells, one after the other, until one fails; `asked` is the one that a reader pressed. */
async function runEach(list, asked) {
  for (const [n, cell] of list.entries()) {
    if (cell !== asked) say(asked, `Running ${cell.name}, ${n + 1} of ${list.length}`, { quietly: true });
    cell.busy(true);
    const result = await execute(cell);
    cell.busy(false);
    if (result.stopped) return false;
    cell.finish(result);
    if (result.error) {
      if (cell !== asked) say(asked, `It stopped at ${cell.name}: ${result.error.says}`);
      return false;
    }
  }
  return true;
}

/** Run a cell; if it misses a name, run what stands above and didn't run yet, and try again. */
async function runOne(cell) {
  cell.busy(true);
  const result = await execute(cell);
  const missed = above(cell).filter((other) => other.ran !== other.source);
  if (result.error?.type === "NameError" && missed.length) {
    cell.clear();
    say(cell, "It needs what stands above, which runs first.");
    if (await runEach(missed, cell)) await runEach([cell], cell);
  } else if (!result.stopped) cell.finish(result);
  cell.busy(false);
}

async function runAbove(cell) {
  if (await runEach(above(cell), cell)) say(cell, "All above has run.");
}

/** The cells that a cell may build on; a solution stands in for nobody's answer. */
function above(cell) {
  const before = cells.slice(0, cells.indexOf(cell.after ?? cell) + Boolean(cell.after));
  return before.filter((other) => cell.isSolution || !other.isSolution);
}

/** One thing after another, as they were pressed, unless a reader stops it all. */
function enqueue(cell, work) {
  const before = stops;
  cell.open();
  say(cell, "Waiting", { quietly: true });
  queue = queue.then(() => (stops === before ? work(cell) : say(cell, "Stopped.")));
  return queue;
}

// ---------------------------------------------------------------- cells

class Cell {
  constructor(box, name) {
    Object.assign(this, { box, name, ran: undefined }); // `ran`: the code that Python has seen
    this.state = element("span", { class: "state" });
  }

  /** Below the code: what can be done with it, and what Python said. Cells that run for another's
      sake get none, so that the page stays where it was. */
  open(asked = true) {
    if (asked) this.box.querySelector(".cell_input .run")?.remove();
    if (this.bar) {
      this.bar.hidden &&= !asked;
      return;
    }
    this.stopping = button("Stop", () =>
      stop("Stopped. The variables are gone: Run all above makes them again."),
    );
    this.stopping.hidden = true;
    this.editing = button("Edit", () => this.edit());
    this.bar = element(
      "div",
      { class: "bar", role: "group", "aria-label": this.name },
      button("Run", () => enqueue(this, runOne)),
      button("Run all above", () => enqueue(this, runAbove)),
      this.editing,
      button("Reset", () => this.reset()),
      this.stopping,
      this.state,
    );
    this.bar.hidden = !asked;
    this.output = element("div", { class: "cell_output ran" });
    this.place();
  }

  busy(is) {
    this.open(false);
    this.stopping.hidden = !is;
    this.box.setAttribute("aria-busy", is);
  }

  /** What was shown stays, dimmed, until something new takes its place. */
  clear() {
    this.open(false);
    this.mark();
    this.box.classList.add("stale");
  }

  replace() {
    if (!this.box.classList.contains("stale")) return;
    this.output.replaceChildren();
    this.box.classList.remove("stale");
    this.box.classList.add("has-run");
  }

  show(...nodes) {
    this.replace();
    this.output.append(...nodes);
  }

  print({ stream, name }) {
    this.replace();
    const last = this.output.lastChild;
    if (last?.className === name) last.append(stream);
    else this.show(element("pre", { class: name }, stream));
  }

  showPicture(svg) {
    const src = address(svg);
    const alt = this.edited ? `The picture that ${this.name} draws now` : this.alt;
    const label = "Figure, scrolls sideways if it is wide"; // as around the stored ones
    const scrolls = { class: "picture", role: "group", "aria-label": label, tabindex: "0" };
    this.show(element("div", scrolls, element("img", { src, alt })));
  }

  async showFigure({ widget: { number, state }, svg }) {
    const place = element("div");
    this.show(place);
    const { default: figures } = await import(`${here}figures.js`);
    models.set(number, new Model(number, state));
    figures.render({ model: models.get(number), el: place });
    place.firstChild.append(element("img", { src: address(svg), alt: "" }));
  }

  finish({ error }) {
    this.replace();
    if (error) {
      this.show(element("pre", { class: "error" }, error.text));
      this.mark(error.line);
      say(this, error.line ? `Line ${error.line}: ${error.says}` : error.says);
    } else say(this, this.output.lastChild ? "Done." : "Done: it showed nothing.");
  }

  /** A stripe behind the line where it went wrong. */
  mark(line) {
    const code = this.editor ?? this.box.querySelector("pre");
    code.classList.toggle("wrong", Boolean(line));
    code.style.setProperty("--line", line);
  }

  /** A text area in the place of the code. */
  write(text, label) {
    this.editor = element("textarea", {
      "aria-label": `${label}. Control and Enter run it`,
      autocapitalize: "off",
      autocomplete: "off",
      spellcheck: "false",
      wrap: "off",
      input: () => {
        this.fit();
        this.mark();
        keep(this);
      },
      keydown: (event) => this.press(event),
    });
    this.editor.value = text;
    this.fit();
    return this.editor;
  }

  fit() {
    this.editor.rows = this.editor.value.split("\n").length;
  }

  /** Enter goes on as deep as the line before, and deeper after a colon. */
  press(event) {
    if (event.key !== "Enter" || event.isComposing) return;
    if (event.ctrlKey || event.metaKey) enqueue(this, runOne);
    else if (!event.shiftKey) {
      const { value, selectionStart: at, selectionEnd: end } = this.editor;
      const line = value.slice(value.lastIndexOf("\n", at - 1) + 1, at);
      const deeper = line.trimEnd().endsWith(":") ? "    " : "";
      this.editor.setRangeText(`\n${line.match(/^ */)[0]}${deeper}`, at, end, "end");
      this.editor.dispatchEvent(new Event("input"));
    } else return;
    event.preventDefault();
  }
}

class Printed extends Cell {
  constructor(box, number) {
    super(box, `cell ${number}`);
    this.code = box.querySelector("pre");
    this.isSolution = box.matches(".tag_solution");
    this.published = this.code.textContent.replace(/\n$/, "");
    this.alt = box.querySelector("img")?.alt || `The picture that ${this.name} draws`;
  }

  get source() {
    return this.editor ? this.editor.value : this.published;
  }

  get edited() {
    return this.source !== this.published;
  }

  place() {
    const input = this.box.querySelector(".cell_input");
    input.after(this.bar);
    (this.bar.closest("details") ?? this.bar).after(this.output);
  }

  edit(text = this.published) {
    this.open();
    if (this.editor) return this.editor.focus();
    this.code.hidden = true;
    this.code.after(this.write(text, `Code of ${this.name}`));
    this.editing.hidden = true;
    if (text === this.published) this.editor.focus();
  }

  reset() {
    this.mark();
    this.output.replaceChildren();
    this.box.classList.remove("has-run", "stale");
    this.editor?.remove();
    this.editor = undefined;
    this.code.hidden = this.editing.hidden = false;
    keep(this);
    say(this, "As it was published.");
  }
}

/** Where a reader answers an exercise, below the cell with its check. */
class Answer extends Cell {
  constructor(after, check, names) {
    super(element("div", { class: "cell answer" }), `your answer to ${check}`);
    Object.assign(this, { after, check, edited: true });
    const answers = names.map((name) => name + " = ...");
    this.start = [...answers, "", `${check}(${names.join(", ")})`].join("\n"); // no nested `: jsmin
    this.box.append(
      element("p", {}, "Your answer"),
      element("div", { class: "cell_input" }, this.write(this.start, `Your answer to ${check}`)),
    );
    after.box.before(this.box);
    this.open();
  }

  get published() {
    return this.start;
  }

  edit(text) {
    this.editor.value = text;
    this.fit();
  }

  get source() {
    return this.editor.value;
  }

  place() {
    this.editing.remove();
    this.box.append(this.bar, this.output);
  }

  reset() {
    this.output.replaceChildren();
    this.editor.value = this.start;
    this.editor.dispatchEvent(new Event("input"));
    say(this, "Empty again.");
  }

  /** What the check says is said once: beside the buttons. */
  print(message) {
    if (message.stream.trim() !== "Right.") super.print(message);
  }

  finish({ error, right }) {
    if (error?.type === "AssertionError") {
      this.replace();
      say(this, `Not yet: ${error.says.replace(/^AssertionError: /, "")}`);
    } else super.finish({ error });
    if (error || !right.includes(this.check)) return;
    say(this, "Right.");
    remember(this.check);
  }
}

const cells = [...document.querySelectorAll("div.cell")]
  .map((box, n) => new Printed(box, n + 1))
  .filter(({ box }) => !box.matches(".needs-torch"));
const answers = [];
for (const cell of cells) {
  for (const [, check, given] of cell.published.matchAll(/^def (check_\w+)\((.*)\):/gm)) {
    answers.push(new Answer(cell, check, given.split(/, */)));
  }
}
document.querySelector("article").append(spoken);
document.head.append(element("link", { rel: "stylesheet", href: `${here}page.css` }));

// ---------------------------------------------------------------- what this browser alone keeps

const kept = (name) => JSON.parse(localStorage.getItem(name) ?? "{}");

/** What a reader typed, until it is reset; `of` tells whether the cell is still the one it was. */
function keep({ name, published, source }) {
  const { [chapter]: mine = {}, ...others } = kept("typed");
  if (source === published) delete mine[name];
  else mine[name] = { of: published, text: source };
  const all = Object.keys(mine).length ? { ...others, [chapter]: mine } : others;
  localStorage.setItem("typed", JSON.stringify(all));
}

for (const cell of [...cells, ...answers]) {
  const { of, text } = kept("typed")[chapter]?.[cell.name] ?? {};
  if (of === cell.published) {
    cell.edit(text);
    say(cell, "As you left it.", { quietly: true });
  }
}

/** Which answers were right. */
function remember(check) {
  const all = kept("right");
  const { right = [] } = all[chapter] ?? {};
  all[chapter] = { right: [...new Set([...right, check])], of: answers.length };
  localStorage.setItem("right", JSON.stringify(all));
  dispatchEvent(new Event("right"));
}

// ---------------------------------------------------------------- figures that move

/** What a figure shares with its widget in Python. */
class Model {
  constructor(number, state) {
    Object.assign(this, { number, state, changed: {} });
  }

  get(name) {
    return this.state[name];
  }

  set(values) {
    Object.assign(this.state, values);
    Object.assign(this.changed, values);
  }

  save_changes() {
    worker?.postMessage({ number: this.number, state: this.changed });
    this.changed = {};
  }

  on(names, call) {
    this.call = call;
  }

  off() {}

  follow(state) {
    Object.assign(this.state, state);
    this.call?.();
  }
}

const models = new Map();

/** Called by the small button of a cell. */
export function press(box) {
  const cell = [...cells, ...answers].find((each) => each.box === box);
  cell.open();
  cell.bar.querySelector("button").focus();
  return enqueue(cell, runOne);
}
