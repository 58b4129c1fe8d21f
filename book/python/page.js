// Cells that run in the page. Loaded when a reader first uses one, or nears one, by cells.js, whose
// functions it uses.
/* global all, make, addBar, chapter, editor, kept, setStored, watchBox */
//
//   all(query)                      elements of the page, as an array
//   make(name, attributes, words)   a new element
//   addBar(input)                   a cell's bar, which it makes once: its buttons, and `.state`
//   editor(label, text)             a box with a text area, which colors.js paints
//   kept(name), setStored           an object that this browser keeps, or {}; a text to keep
//   chapter                         the page's name, by which `typed` and `right` are kept
//   watchBox(box)                   one that scrolls takes the focus, and fades while more is hidden

import { colored } from "./colors.js";
import { Python } from "./python.js";

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

// ---------------------------------------------------------------- running

// What a cell goes through, and what its bar says then:
//
//   waiting   "Waiting": `enqueue` was called, other cells run
//   starting  "Loading …", "Starting …": it is its turn, but Python isn't there yet
//   running   `cell.progress`: the worker runs it, or for it one of the cells that it needs
//   ended     "Done.", "Right.", an error, "Stopped."
//
// The states follow each other in this order. Stop leads from each to the end, and a failure of a
// cell that is needed does, too. From the end, `enqueue` leads to waiting, and Reset to no state. A
// cell that is reset while it waits runs as it was published. What comes next never goes by the words
// in the bar: they are for readers.

const RUNNING = "Running";

/** @type {?{ cell: Cell, resolve: (answer: Needed | Ran | Stopped) => void }}
    The cell that the worker has, and what ends its `post`, which sets this and clears it. */
let running;
let queue = Promise.resolve(); // `enqueue` appends to it; it ends with the last cell that was started
let stops = 0; // `stop` counts; work that was queued before the latest one is dropped by `enqueue`

const python = new Python({
  hear,
  tell: (words) => running && tell(running.cell, words),
  fail: (reason) => stop(`Python, or a package, couldn't be loaded. ${reason}`),
});

/** Start Python, unless it has started: when a reader nears a cell (cells.js), or types. */
export const warm = () => python.warm();

/** Show what the worker sends while a cell runs. */
function hear(message) {
  if (!running) return;
  const { cell, resolve } = running;
  if (message.running) tell(cell, cell.progress);
  if (message.stream) cell.print(message.stream, message.name);
  if (message.text) cell.show(make("pre", {}, message.text));
  if (message.html) cell.showHtml(message.html);
  if (message.figure) cell.showFigure(message.figure, message.svg);
  else if (message.svg) cell.showPicture(message.svg);
  if (message.done) resolve(message.done);
}

/** What a `post` is answered with.

    @typedef {number[]} Needed to { sources, source }: which of the sources the cell needs, by index
    @typedef {{ error?: { type: string, says: string, text: string, line: ?number } }} Ran
      to { source, name }: no error, or the one that kernel.py describes
    @typedef {{ stopped: string }} Stopped to either, if Python was stopped: why */

function stop(words) {
  stops++;
  python.stop();
  for (const cell of cells) cell.ran = undefined;
  if (running) say(running.cell, words);
  running?.resolve({ stopped: words });
}

/** Post a message about a cell to the worker.

    @returns {Promise<Needed | Ran | Stopped>} */
async function post(cell, message) {
  const answer = new Promise((resolve) => (running = { cell, resolve }));
  python.post(message);
  const answered = await answer;
  running = undefined;
  return answered;
}

/** Run cells in order until one fails, and tell whether none did; a reader started `asked`. */
async function runEach(list, asked) {
  for (const [n, cell] of list.entries()) {
    if (list.length > 1) {
      asked.progress = `Running ${cell.name}, ${n + 1} of ${list.length}`;
      tell(asked, asked.progress);
    }
    cell.box.classList.add("stale"); // the old output stays, dimmed, until there is new output
    const { source, name } = cell; // a reader may edit while it runs
    const { stopped, error } = await post(cell, { source, name });
    cell.ran = stopped || error ? undefined : source;
    if (!stopped) cell.finish(source, error);
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
    try {
      await work(cell);
    } catch (error) {
      say(cell, `The page failed: ${error.message}`, "error");
      reportError(error);
    } finally {
      cell.box.ariaBusy = false;
      cell.progress = RUNNING;
    }
  });
}

// ---------------------------------------------------------------- cells

// Classes that page.css goes by:
//
//   stale    of the box: its output is an old one. `runEach` sets it, `replace` and `reset` clear it
//   has-run  of the box: new output stands in the place of the stored one. `replace`, until `reset`
//   edited   of the box: the code isn't the published one. `changed` sets and clears it
//   ran      of the new output, always

/** A cell of the chapter, or the box that cells.js made for the answer to a check. */
class Cell {
  constructor(box) {
    const { name, check } = box.dataset;
    Object.assign(this, { box, name, check });
    this.ran = undefined; // the source that last ran without an error
    this.progress = RUNNING; // what its bar says while it runs; for several cells, which one
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
    watchBox(node);
  }

  print(text, stream) {
    this.replace();
    const last = this.output.lastChild;
    if (last?.className === stream) last.append(text);
    else this.show(make("pre", { class: stream }, text));
  }

  /** Show a table or a quotation. */
  showHtml(html) {
    const box = make("div", { class: "output text_html" });
    box.innerHTML = html; // by the reader's own Python; the policy lets no script in it run
    this.show(box);
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
    const loaded = await import(`${here}figures.js`).catch(() => undefined);
    if (!loaded) return el.append(svg ? picture(svg, this.alt) : this.alt); // without a network
    // Jupyter's model, as figures/jupyter.js uses it: it reads `_kind` and the kind's fields.
    const shown = { ...state, _kind: kind.toLowerCase() };
    const ignore = () => {};
    const model = { get: (name) => shown[name], set: ignore, save_changes: ignore, on: ignore };
    loaded.default.render({ model, el });
    if (svg) el.firstChild.append(picture(svg, "")); // for print
  }

  /** Whether a source calls the cell's check, and not in a comment. */
  isChecked(source) {
    return new RegExp(`^[^#\n]*\\b${this.check}\\(`, "m").test(source);
  }

  /** Say how this source, which the cell may no longer have, ended. */
  finish(source, error) {
    this.replace();
    if (this.check && error?.type === "AssertionError") {
      say(this, `Not yet: ${error.says.replace(/^AssertionError: (not yet:? *)?/i, "")}`, "wrong");
    } else if (error) {
      this.show(make("pre", { class: "error" }, error.text));
      this.box.dispatchEvent(new Event("reveal", { bubbles: true })); // if it is evidence
      say(this, error.line ? `Line ${error.line}: ${error.says}` : error.says, "error");
    } else if (this.check && this.isChecked(source)) {
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
    this.paint = colored(this.area);
    this.area.addEventListener("input", () => this.changed());
    this.area.addEventListener("input", warm, { once: true });
    this.area.addEventListener("keydown", (event) => this.press(event));
  }

  changed() {
    this.area.rows = this.source.split("\n").length;
    this.paint();
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
    if (running?.cell === this) return say(this, "It is running: stop it, or wait, and then reset it.");
    this.output.remove();
    this.box.classList.remove("has-run", "stale");
    if (this.area) this.edit(this.published);
    if (!this.check) {
      this.area?.parentElement.remove();
      this.code.hidden = false;
    }
    say(this, "As it was published.");
  }
}

const cells = all("div.cell:has(.cell_input):not(.needs-torch)").map((box) => new Cell(box));
document.querySelector("article").append(spoken);
document.head.append(make("link", { rel: "stylesheet", href: `${here}page.css` }));

// ---------------------------------------------------------------- local storage

/** Save an edit until it is reset; `of` is the published code, to detect that the cell changed. */
function keep({ name, published, source }) {
  const { [chapter]: mine = {}, ...others } = kept("typed");
  if (source === published) delete mine[name];
  else mine[name] = { of: published, text: source };
  const typed = Object.keys(mine).length ? { ...others, [chapter]: mine } : others;
  setStored("typed", JSON.stringify(typed));
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
  setStored("right", JSON.stringify(right));
  dispatchEvent(new Event("right"));
}

/** What the buttons of a cell's bar do, by their data-act (cells.js). */
const ACTS = {
  run: (cell) => enqueue(cell, runOne),
  runAll: (cell) => enqueue(cell, runAll),
  edit(cell) {
    cell.edit(cell.source);
    cell.area.focus();
  },
  reset: (cell) => cell.reset(),
  stop() {
    stop("Stopped. The variables are gone: Run makes those that a cell needs again.");
    warm(); // for the next Run
  },
};
export const act = (box, name) => ACTS[name](cells.find((cell) => cell.box === box));
