// Cells that run in the page. Loaded when a reader first uses one, by book.js, whose functions it
// uses.
/* global all, make, addBar, chapter, editor, kept, sizes */

const here = new URL(".", import.meta.url).href;

const picture = (svg, alt) => make("img", { src: `data:image/svg+xml,${encodeURIComponent(svg)}`, alt });
const spoken = make("p", { class: "spoken", role: "status" });

/** Show how far something is. */
function tell(cell, words, verdict = "") {
  cell.state.textContent = words;
  cell.state.dataset.verdict = verdict;
}

/** Show a status, and announce it to screen readers. */
function say(cell, words, verdict) {
  tell(cell, words, verdict);
  spoken.textContent = `${cell.name}: ${words}`;
}

// ---------------------------------------------------------------- the worker

let worker;
let starting;
let running; // the cell that runs, and the function that resolves its promise
let queue = Promise.resolve();
let stops = 0;

function hear({ data }) {
  if (data.broken) return stop(`Python couldn't be loaded (${data.broken}).`);
  if (!running) return;
  const { cell, resolve } = running;
  const { done, stream, text, svg, figure } = data;
  if (data.running && !cell.state.textContent.includes(" of ")) tell(cell, "Running");
  if (stream) cell.print(stream, data.name);
  if (text) cell.show(make("pre", {}, text));
  if (figure) cell.showFigure(figure, svg);
  else if (svg) cell.showPicture(svg);
  if (done) resolve(done);
}

/** Cache what the worker loads for offline use, if the browser can. */
async function keepForOffline() {
  const { serviceWorker } = navigator;
  if (!serviceWorker || serviceWorker.controller) return;
  try {
    const known = await serviceWorker.getRegistration();
    const controls = new Promise((go) => {
      serviceWorker.addEventListener("controllerchange", go);
      setTimeout(go, known ? 0 : 10_000); // after a forced reload it doesn't control the page
    });
    const version = here.split("/").at(-2);
    await serviceWorker.register(new URL(`../../offline.js?version=${version}`, here));
    const { active } = await serviceWorker.ready;
    await controls;
    const files = performance.getEntriesByType("resource").map(({ name }) => name);
    active.postMessage([location.href.split("#")[0], ...files]);
  } catch {
    // May be forbidden in a private window; everything else works.
  }
}

function stop(words) {
  stops++;
  worker?.terminate();
  worker = starting = undefined;
  for (const cell of cells) cell.ran = undefined;
  if (running) say(running.cell, words);
  running?.resolve({ stopped: words });
}

async function start() {
  await keepForOffline();
  worker = new Worker(`${here}worker.js`, { type: "module" });
  worker.addEventListener("message", hear);
  worker.addEventListener("error", () => stop("Python couldn't be loaded. Is there a network?"));
}

/** Start Python, unless it has started: when a reader points at a bar (book.js), or types. */
export const warm = () => (starting ??= start());

/** Post a message about a cell to the worker; resolves to its answer. */
async function post(cell, message) {
  const answer = new Promise((resolve) => (running = { cell, resolve }));
  if (!worker) tell(cell, "Starting Python …");
  await warm();
  worker?.postMessage(message);
  const found = await answer;
  running = undefined;
  return found;
}

/** Run cells in order until one fails, and tell whether none did; a reader started `asked`. */
async function runEach(list, asked) {
  for (const [n, cell] of list.entries()) {
    if (list.length > 1) tell(asked, `Running ${cell.name}, ${n + 1} of ${list.length}`);
    cell.box.classList.add("stale"); // the old output stays, dimmed, until there is new output
    const { stopped, error } = await post(cell, { source: cell.source, name: cell.name });
    cell.ran = stopped || error ? undefined : cell.source;
    if (!stopped) cell.finish(error);
    if (cell.ran !== undefined) continue;
    if (cell !== asked) say(asked, `It stopped at ${cell.name}: ${stopped ?? error.says}`);
    return false;
  }
  return true;
}

/** Run a cell after the cells above that it needs (slices.py) and that haven't run yet. */
async function runOne(cell) {
  if (cell.check && cell.source === cell.published) {
    return say(cell, "Put your answer in the place of “...” first.");
  }
  const before = above(cell);
  const sources = before.map(({ source }) => source);
  const needed = await post(cell, { sources, source: cell.source });
  if (needed.stopped) return;
  const missed = needed.map((n) => before[n]).filter((other) => other.ran !== other.source);
  await runEach([...missed, cell], cell);
}

/** Run all cells of the page, in order, except answers and solutions. */
async function runAll(cell) {
  const list = cells.filter((each) => !each.check && !each.isSolution);
  if (await runEach(list, cell)) say(cell, `All ${list.length} cells have run.`);
}

/** The cells that a cell may depend on; only solutions depend on solutions. */
function above(cell) {
  const end = cells.indexOf(cell);
  const checks = ({ published }) => published.includes(`def ${cell.check}(`);
  const before = cells.filter((other, n) => !other.check && (n < end || checks(other)));
  return before.filter((other) => cell.isSolution || !other.isSolution);
}

/** Queue work in the order started; Stop also drops what is still waiting. */
function enqueue(cell, work) {
  const before = stops;
  cell.state.textContent = "Waiting";
  queue = queue.then(async () => {
    if (stops !== before) return say(cell, "Stopped.");
    cell.box.ariaBusy = true; // shows Stop
    await work(cell);
    cell.box.ariaBusy = false;
  });
}

// ---------------------------------------------------------------- cells

/** A cell of the chapter, or the box that book.js made for the answer to a check. */
class Cell {
  constructor(box) {
    const { name, check } = box.dataset;
    Object.assign(this, { box, name, check });
    this.ran = undefined; // the source that last ran without an error
    this.input = box.querySelector(".cell_input");
    this.code = box.querySelector("pre");
    this.published = this.area?.defaultValue ?? this.code.textContent.replace(/\n$/, "");
    this.isSolution = box.matches(".tag_solution");
    this.alt = box.querySelector("img")?.alt || `The picture that ${name} draws`;
    this.output = make("div", { class: "cell_output ran" });
    if (check) this.watch();
  }

  get area() {
    return this.box.querySelector("textarea");
  }

  get state() {
    return addBar(this.input).querySelector(".state");
  }

  get source() {
    return this.area?.value ?? this.published;
  }

  /** Before the first new output, clear the old. */
  replace() {
    if (!this.box.classList.contains("stale")) return;
    this.output.replaceChildren();
    const stored = this.box.querySelector(".cell_output:not(.ran)"); // a picture's code is below it
    (stored ?? this.input.closest("details") ?? this.input).after(this.output);
    this.box.classList.replace("stale", "has-run");
  }

  show(node) {
    this.replace();
    this.output.append(node);
    sizes.observe(node);
  }

  print(text, stream) {
    this.replace();
    const last = this.output.lastChild;
    if (last?.className === stream) last.append(text);
    else this.show(make("pre", { class: stream }, text));
  }

  showPicture(svg) {
    const edited = this.source !== this.published;
    const alt = edited ? `The picture that ${this.name} draws now` : this.alt;
    const label = "Figure, scrolls sideways if it is wide"; // as for the stored ones
    const scrolls = { class: "picture", role: "group", "aria-label": label };
    this.show(make("div", scrolls, picture(svg, alt)));
  }

  async showFigure({ kind, state }, svg) {
    const el = make("div");
    this.show(el);
    const { default: figures } = await import(`${here}figures.js`);
    const shown = { ...state, _kind: kind.toLowerCase() };
    const ignore = () => {};
    const model = { get: (name) => shown[name], set: ignore, save_changes: ignore, on: ignore };
    figures.render({ model, el });
    el.firstChild.append(picture(svg, "")); // for print
  }

  finish(error) {
    this.replace();
    if (this.check && error?.type === "AssertionError") {
      say(this, `Not yet: ${error.says.replace(/^AssertionError: (not yet:? *)?/i, "")}`, "wrong");
    } else if (error) {
      this.show(make("pre", { class: "error" }, error.text));
      this.box.dispatchEvent(new Event("reveal", { bubbles: true })); // if it is evidence
      say(this, error.line ? `Line ${error.line}: ${error.says}` : error.says, "error");
    } else if (this.check && this.source.includes(`${this.check}(`)) {
      if (this.output.textContent === "Right.\n") this.output.replaceChildren(); // not twice
      say(this, "Right.", "right");
      remember(this.check);
    } else say(this, this.output.lastChild ? "Done." : "Done: it showed nothing.");
  }

  /** Replace the code with a text area. */
  edit(text) {
    if (!this.area) {
      this.code.hidden = true;
      this.code.after(editor(`Code of ${this.name}`, text));
      this.watch();
    }
    this.area.value = text;
    this.changed();
  }

  watch() {
    this.area.addEventListener("input", () => this.changed());
    this.area.addEventListener("input", warm, { once: true });
    this.area.addEventListener("keydown", (event) => this.press(event));
  }

  changed() {
    this.area.rows = this.source.split("\n").length;
    this.box.classList.toggle("edited", !this.check && this.source !== this.published);
    keep(this);
  }

  /** Auto-indent: Enter keeps the line's indentation, one level deeper after a colon. */
  press(event) {
    if (event.key !== "Enter" || event.isComposing || event.shiftKey) return;
    event.preventDefault();
    if (event.ctrlKey || event.metaKey) return enqueue(this, runOne);
    const { value, selectionStart: at, selectionEnd: end } = this.area;
    const line = value.slice(value.lastIndexOf("\n", at - 1) + 1, at);
    const deeper = line.trimEnd().endsWith(":") ? "    " : "";
    this.area.setRangeText(`\n${line.match(/^ */)[0]}${deeper}`, at, end, "end");
    this.changed();
  }

  reset() {
    this.output.remove();
    this.box.classList.remove("has-run", "stale");
    if (this.area) this.edit(this.published);
    if (!this.check) {
      this.area?.remove();
      this.code.hidden = false;
    }
    say(this, "As it was published.");
  }
}

const cells = all("div.cell:not(.needs-torch)").map((box) => new Cell(box));
document.querySelector("article").append(spoken);
document.head.append(make("link", { rel: "stylesheet", href: `${here}page.css` }));

// ---------------------------------------------------------------- local storage

/** Save an edit until it is reset; `of` is the published code, to detect that the cell changed. */
function keep({ name, published, source }) {
  const { [chapter]: mine = {}, ...others } = kept("typed");
  if (source === published) delete mine[name];
  else mine[name] = { of: published, text: source };
  const typed = Object.keys(mine).length ? { ...others, [chapter]: mine } : others;
  localStorage.setItem("typed", JSON.stringify(typed));
}

for (const cell of cells) {
  const { of, text } = kept("typed")[chapter]?.[cell.name] ?? {};
  if (of === cell.published) {
    cell.edit(text);
    cell.state.textContent = "As you left it.";
  }
}

/** Save that an answer was right. */
function remember(check) {
  const right = kept("right");
  const found = new Set([...(right[chapter]?.right ?? []), check]);
  right[chapter] = { right: [...found], of: cells.filter((cell) => cell.check).length };
  localStorage.setItem("right", JSON.stringify(right));
  dispatchEvent(new Event("right"));
}

/** What the buttons of a cell's bar do (book.js). */
const ACTS = {
  Run: (cell) => enqueue(cell, runOne),
  "Run all": (cell) => enqueue(cell, runAll),
  Edit(cell) {
    cell.edit(cell.source);
    cell.area.focus();
  },
  Reset: (cell) => cell.reset(),
  Stop: () => stop("Stopped. The variables are gone: Run makes those that a cell needs again."),
};
export const act = (box, words) => ACTS[words](cells.find((cell) => cell.box === box));
