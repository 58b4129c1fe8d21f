// Cells that run in the page. Loaded when a reader first uses one (see book.js).

const here = new URL(".", import.meta.url).href;
const root = new URL("../../", here);
const chapter = location.pathname.split("/").pop().replace(/\.html$/, "");

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function button(words, click) {
  const made = element("button", { type: "button" }, words);
  made.addEventListener("click", click);
  return made;
}

const address = (svg) => `data:image/svg+xml,${encodeURIComponent(svg)}`;
const mega = (bytes) => (bytes / 1e6).toFixed(1);
const spoken = element("p", { class: "spoken", role: "status" });

/** Show a status and announce it to screen readers; mere progress is only shown. */
function say(cell, words) {
  cell.state.textContent = words;
  spoken.textContent = `${cell.name}: ${words}`;
}

// ---------------------------------------------------------------- the worker

let worker;
let running; // the cell that runs, and the function that resolves its promise
let queue = Promise.resolve();
let stops = 0;

function hear({ data }) {
  if (data.broken) return stop(`Python couldn't be loaded (${data.broken}).`);
  if (!running) return;
  const { cell, resolve } = running;
  const { total, loaded, done, stream, text, svg, figure } = data;
  if (total) cell.state.textContent = `Loading Python: ${mega(loaded)} of ${mega(total)} MB`;
  if (data.starting) cell.state.textContent = "Starting Python …";
  if (data.running) cell.state.textContent = "Running";
  if (stream) cell.print(stream, data.name);
  if (text) cell.show(element("pre", {}, text));
  if (figure) cell.showFigure(figure, svg);
  else if (svg) cell.showPicture(svg);
  if (done) resolve(done);
}

/** Cache what the worker loads for offline use, if the browser can. */
async function keepForOffline() {
  const { serviceWorker } = navigator;
  if (!serviceWorker || serviceWorker.controller) return;
  try {
    const version = here.split("/").at(-2);
    await serviceWorker.register(new URL(`offline.js?version=${version}`, root));
    const { active } = await serviceWorker.ready;
    // It soon controls the page, except after a forced reload.
    for (let n = 0; n < 20 && !serviceWorker.controller; n++) {
      await new Promise((go) => setTimeout(go, 50));
    }
    const files = performance.getEntriesByType("resource").map(({ name }) => name);
    active.postMessage([location.href.split("#")[0], ...files]);
  } catch {
    // May be forbidden in a private window; everything else works.
  }
}

function stop(words) {
  stops++;
  worker?.terminate();
  worker = undefined;
  for (const cell of cells) cell.ran = undefined;
  if (running) say(running.cell, words);
  running?.resolve({ stopped: words });
}

/** Run a cell in the worker; resolves to its result. */
async function execute(cell) {
  const done = new Promise((resolve) => (running = { cell, resolve }));
  cell.box.classList.add("stale"); // the old output stays, dimmed, until there is new output
  if (!worker) {
    say(cell, "Loading Python");
    await keepForOffline();
    worker = new Worker(`${here}worker.js`, { type: "module" });
    worker.addEventListener("message", hear);
    worker.addEventListener("error", () => stop("Python couldn't be loaded. Is there a network?"));
  }
  worker.postMessage({ source: cell.source, name: cell.name });
  const result = await done;
  running = undefined;
  cell.ran = result.error || result.stopped ? undefined : cell.source;
  return result;
}

/** Run cells in order until one fails; `asked` is the one that the reader started. */
async function runEach(list, asked) {
  for (const [n, cell] of list.entries()) {
    const share = `${n + 1} of ${list.length}`;
    if (cell !== asked) asked.state.textContent = `Running ${cell.name}, ${share}`;
    const result = await execute(cell);
    if (!result.stopped) cell.finish(result);
    const why = result.stopped ?? result.error?.says;
    if (why && cell !== asked) say(asked, `It stopped at ${cell.name}: ${why}`);
    if (why) return false;
  }
  return true;
}

/** Run a cell; on a NameError, run the cells above that haven't run yet, and retry. */
async function runOne(cell) {
  const result = await execute(cell);
  const missed = above(cell).filter((other) => other.ran !== other.source);
  if (result.error?.type === "NameError" && missed.length) {
    say(cell, "It needs what stands above, which runs first.");
    await runEach([...missed, cell], cell);
  } else if (!result.stopped) cell.finish(result);
}

async function runAbove(cell) {
  if (await runEach(above(cell), cell)) say(cell, "All above has run.");
}

/** The cells that a cell may depend on; only solutions depend on solutions. */
function above(cell) {
  const follows = Node.DOCUMENT_POSITION_FOLLOWING;
  const precedes = ({ box }) => box.compareDocumentPosition(cell.box) & follows;
  const checks = ({ published }) => published.includes(`def ${cell.check}(`);
  const before = cells.filter((other) => precedes(other) || checks(other));
  return before.filter((other) => cell.isSolution || !other.isSolution);
}

/** Queue work in the order started; Stop also drops what is still waiting. */
function enqueue(cell, work) {
  const before = stops;
  cell.open();
  cell.state.textContent = "Waiting";
  queue = queue.then(async () => {
    if (stops !== before) return say(cell, "Stopped.");
    cell.busy(true);
    await work(cell);
    cell.busy(false);
  });
}

// ---------------------------------------------------------------- cells

/** A cell of the chapter, or the box that book.js made for the answer to a check. */
class Cell {
  constructor(box, name, check) {
    Object.assign(this, { box, name, check });
    this.ran = undefined; // the source that last ran without an error
    this.input = box.querySelector(".cell_input");
    this.code = box.querySelector("pre");
    this.editor = box.querySelector("textarea");
    this.published = this.editor?.defaultValue ?? this.code.textContent.replace(/\n$/, "");
    this.isSolution = box.matches(".tag_solution");
    this.alt = box.querySelector("img")?.alt || `The picture that ${name} draws`;
    this.state = element("span", { class: "state" });
    this.output = element("div", { class: "cell_output ran" });
    if (check) this.watch();
  }

  get source() {
    return this.editor?.value ?? this.published;
  }

  /** Replace the Run button with a toolbar and status below the code. */
  open() {
    this.box.querySelector(".run")?.remove();
    if (this.bar) return;
    this.stopping = button("Stop", () =>
      stop("Stopped. The variables are gone: Run all above makes them again."),
    );
    this.stopping.hidden = true;
    const edit = () => {
      this.edit(this.source);
      this.editor.focus();
    };
    this.bar = element(
      "div",
      { class: "bar", role: "group", "aria-label": this.name },
      button("Run", () => enqueue(this, runOne)),
      button("Run all above", () => enqueue(this, runAbove)),
      ...(this.check ? [] : [button("Edit", edit)]),
      button("Reset", () => this.reset()),
      this.stopping,
      this.state,
    );
    this.input.after(this.bar);
  }

  busy(is) {
    this.stopping.hidden = !is;
    this.box.setAttribute("aria-busy", is);
  }

  /** Before the first new output, clear the old. */
  replace() {
    if (!this.box.classList.contains("stale")) return;
    this.output.replaceChildren();
    (this.input.closest("details") ?? this.bar ?? this.input).after(this.output);
    this.box.classList.replace("stale", "has-run");
  }

  show(...nodes) {
    this.replace();
    this.output.append(...nodes);
  }

  print(text, stream) {
    this.replace();
    const last = this.output.lastChild;
    if (last?.className === stream) last.append(text);
    else this.show(element("pre", { class: stream }, text));
  }

  showPicture(svg) {
    const edited = this.source !== this.published;
    const alt = edited ? `The picture that ${this.name} draws now` : this.alt;
    const label = "Figure, scrolls sideways if it is wide"; // as for the stored ones
    const scrolls = { class: "picture", role: "group", "aria-label": label, tabindex: "0" };
    this.show(element("div", scrolls, element("img", { src: address(svg), alt })));
  }

  async showFigure({ kind, state }, svg) {
    const el = element("div");
    this.show(el);
    const { default: figures } = await import(`${here}figures.js`);
    const shown = { ...state, _kind: kind.toLowerCase() };
    const ignore = () => {};
    const model = { get: (name) => shown[name], set: ignore, save_changes: ignore, on: ignore };
    figures.render({ model, el });
    el.firstChild.append(element("img", { src: address(svg), alt: "" })); // for print
  }

  finish({ error }) {
    this.replace();
    if (this.check && error?.type === "AssertionError") {
      say(this, `Not yet: ${error.says.replace(/^AssertionError: /, "")}`);
    } else if (error) {
      this.show(element("pre", { class: "error" }, error.text));
      say(this, error.line ? `Line ${error.line}: ${error.says}` : error.says);
    } else if (this.check && this.source.includes(`${this.check}(`)) {
      if (this.output.textContent === "Right.\n") this.output.replaceChildren(); // not twice
      say(this, "Right.");
      remember(this.check);
    } else say(this, this.output.lastChild ? "Done." : "Done: it showed nothing.");
  }

  /** Replace the code with a text area. */
  edit(text) {
    if (!this.editor) {
      this.editor = element("textarea", {
        "aria-label": `Code of ${this.name}. Control and Enter run it`,
        autocapitalize: "off",
        autocomplete: "off",
        spellcheck: "false",
        wrap: "off",
      });
      this.code.hidden = true;
      this.code.after(this.editor);
      this.watch();
    }
    this.editor.value = text;
    this.changed();
  }

  watch() {
    this.editor.addEventListener("input", () => this.changed());
    this.editor.addEventListener("keydown", (event) => this.press(event));
  }

  changed() {
    this.editor.rows = this.editor.value.split("\n").length;
    keep(this);
  }

  /** Auto-indent: Enter keeps the line's indentation, one level deeper after a colon. */
  press(event) {
    if (event.key !== "Enter" || event.isComposing) return;
    if (event.ctrlKey || event.metaKey) enqueue(this, runOne);
    else if (!event.shiftKey) {
      const { value, selectionStart: at, selectionEnd: end } = this.editor;
      const line = value.slice(value.lastIndexOf("\n", at - 1) + 1, at);
      const deeper = line.trimEnd().endsWith(":") ? "    " : "";
      this.editor.setRangeText(`\n${line.match(/^ */)[0]}${deeper}`, at, end, "end");
      this.changed();
    } else return;
    event.preventDefault();
  }

  reset() {
    this.output.remove();
    this.box.classList.remove("has-run", "stale");
    if (this.editor) this.edit(this.published);
    if (!this.check) {
      this.editor?.remove();
      this.editor = undefined;
      this.code.hidden = false;
    }
    say(this, "As it was published.");
  }
}

const cells = [...document.querySelectorAll("div.cell:not(.answer)")]
  .map((box, n) => new Cell(box, `cell ${n + 1}`))
  .filter(({ box }) => !box.matches(".needs-torch"));
const answers = [...document.querySelectorAll("div.answer")].map((box) => {
  const { check } = box.dataset;
  return new Cell(box, `your answer to ${check}`, check);
});
document.querySelector("article").append(spoken);
document.head.append(element("link", { rel: "stylesheet", href: `${here}page.css` }));

// ---------------------------------------------------------------- local storage

const kept = (name) => JSON.parse(localStorage.getItem(name) ?? "{}");

/** Save an edit until it is reset; `of` is the published code, to detect that the cell changed. */
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
    cell.open();
    cell.edit(text);
    cell.state.textContent = "As you left it.";
  }
}

/** Save that an answer was right. */
function remember(check) {
  const all = kept("right");
  const { right = [] } = all[chapter] ?? {};
  all[chapter] = { right: [...new Set([...right, check])], of: answers.length };
  localStorage.setItem("right", JSON.stringify(all));
  dispatchEvent(new Event("right"));
}

/** Called by a cell's Run button (book.js). */
export function press(box) {
  const cell = [...cells, ...answers].find((each) => each.box === box);
  enqueue(cell, runOne);
  cell.bar.querySelector("button").focus();
}
