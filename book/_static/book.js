/* All that a page does before a reader runs a cell or searches; those scripts are loaded on first
   use. It reads no layout while the page comes, which would make a slow phone lay it out twice.

   It stands at the end of the body and runs from top to bottom. All parts use the names before
   "light and dark"; the menu prints evidence; cells wait as "contents, scrolling" does (`whenIdle`,
   `onceLoaded`), and `sizes` of it watches what they print. What a part does at once, other than to
   listen, it does by `begin`, so that a failure leaves the parts below it at work.

   It is no module, so other scripts use these names of it:
   - `make`: page.js, colors.js, config_view.js, search/dialog.js
   - `root`, `attempt`: search/dialog.js
   - `all`, `addBar`, `editor`, `kept`, `sizes`, `chapter`: page.js
   - `setStored`: page.js, python.js; `getStored`: python.js
   And it calls others: `warm` and `act` of page.js, `showSearch` of search/dialog.js.

   optimization.py minifies it, and keeps the files that it names: write their names out. */

const all = (query, within = document) => [...within.querySelectorAll(query)];
const { dataset } = document.documentElement;
const root = dataset.content_root;

function make(name, attributes = {}, ...children) {
  const kind = ["svg", "line", "circle", "text"].includes(name) ? "2000/svg" : "1999/xhtml";
  const made = document.createElementNS(`http://www.w3.org/${kind}`, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** Begin a part of the page; should it fail, the console says why, and those below it still work. */
function begin(part) {
  try {
    part();
  } catch (error) {
    reportError(error);
  }
}

/** The result of what a browser may refuse, such as storage; undefined if it does. */
function attempt(work) {
  try {
    return work();
  } catch {
    return undefined;
  }
}

const getStored = (name) => attempt(() => localStorage.getItem(name));
const setStored = (name, text) => attempt(() => localStorage.setItem(name, text));

/** What a hash leads to; one that is no percent code, as in #100%, leads nowhere. */
const targetOf = (hash) => document.getElementById(attempt(() => decodeURIComponent(hash.slice(1))) ?? "");

/** Say something for a moment where it was done. */
function flash(button, words) {
  const before = button.textContent;
  button.textContent = words;
  setTimeout(() => (button.textContent = before), 1500);
}

// ---------------------------------------------------------------- light and dark, print

const dark = matchMedia("(prefers-color-scheme: dark)");
const paint = () => {
  const { mode } = dataset;
  dataset.theme = mode === "light" || mode === "dark" ? mode : dark.matches ? "dark" : "light";
  setStored("theme", dataset.theme);
};
dark.addEventListener("change", paint);
for (const button of all("button.theme")) {
  button.addEventListener("click", () => {
    const other = dataset.theme === "dark" ? "light" : "dark";
    dataset.mode = (other === "dark") === dark.matches ? "auto" : other;
    setStored("mode", dataset.mode);
    paint();
  });
}
begin(paint);

// Printed in the light theme; book.css opens the boxes.
addEventListener("beforeprint", () => (dataset.theme = "light"));
addEventListener("afterprint", paint);

// ---------------------------------------------------------------- the bars and the menu

/** On a narrow screen a button opens a bar beside the page: the theme shows it while `box` is checked. */
function connectBar(side) {
  const button = document.querySelector(`.${side}-toggle`);
  const box = document.getElementById(`pst-${side}-sidebar-checkbox`);
  const bar = document.querySelector(`.bd-sidebar-${side}`);
  if (!button || !bar) return;
  button.addEventListener("click", () => {
    box.checked = !box.checked;
    if (box.checked) setTimeout(() => bar.querySelector("a, button").focus(), 100);
  });
  bar.addEventListener("keydown", ({ key }) => {
    if (key !== "Escape") return;
    box.checked = false;
    button.focus();
  });
}
for (const side of ["primary", "secondary"]) begin(() => connectBar(side));

// The list of chapters shows the current one; after the page is laid out, that costs nothing.
addEventListener("load", () =>
  requestAnimationFrame(() => {
    const current = document.querySelector(".bd-sidebar-primary .current.active");
    const bar = current?.closest(".bd-sidebar-primary");
    if (bar && current.offsetTop > bar.clientHeight) bar.scrollTop = current.offsetTop - 200;
  }),
);

/** What the entries of the menu do, by their data-does (article-header-buttons.html). */
const DOES = {
  print: () => print(),
  printAll() {
    const shown = classList.contains("evidence");
    const opened = all("details[open]");
    const restore = () => {
      showEvidence(shown);
      for (const box of opened) box.open = true;
    };
    addEventListener("afterprint", restore, { once: true }); // print() may return before
    showEvidence(true);
    print();
  },
  async link({ target }) {
    await navigator.clipboard.writeText(location.href);
    flash(target, "Copied.");
  },
};
for (const item of all("[data-does]")) item.addEventListener("click", DOES[item.dataset.does]);

// ---------------------------------------------------------------- evidence

// Checks, code of drawings and boxes on the documents stand behind a switch (folds.py). Where a link
// or the reader's last choice asks for them, layout.html shows them before the first paint. A
// browser's search finds what is hidden until found, and opens it.
const { classList } = document.documentElement;
const evidence = all("div.evidence");
const switches = all("button.switch");

function showEvidence(shown) {
  classList.toggle("evidence", shown);
  for (const button of switches) button.ariaPressed = shown;
  for (const box of evidence) box.hidden = shown ? false : "until-found";
  for (const box of all(":is(.documents, .opening)")) box.open = shown;
}

/** Show or hide evidence, and keep the text that is read where it is. */
function switchEvidence() {
  const shown = !classList.contains("evidence");
  const read = all("article section > :not(.evidence, section)").find(
    (part) => part.getBoundingClientRect().bottom > innerHeight / 5,
  );
  const before = read?.getBoundingClientRect().top;
  showEvidence(shown);
  if (read) scrollBy(0, read.getBoundingClientRect().top - before);
  setStored("evidence", shown ? "shown" : "hidden");
}

/** Open all that hides a part of the page, and a cell's own code. */
function reveal(part) {
  for (let box = part; box; box = box.parentElement) {
    if (box.matches(".evidence")) box.hidden = false;
    if (box.matches("details")) box.open = true;
  }
  for (const fold of all(":scope > details", part)) fold.open = true;
}

/** Open the evidence that alone has what was searched for (dialog.js), in a section that was found. */
function openSought(section, sought) {
  const main = section.cloneNode(true);
  for (const box of all(".evidence", main)) box.remove();
  const missing = sought.filter((stem) => !main.textContent.toLowerCase().includes(stem));
  for (const box of all(".evidence", section)) {
    const text = box.textContent.toLowerCase();
    if (!missing.some((stem) => text.includes(stem))) continue;
    for (const part of [box, ...all("details", box)]) reveal(part);
  }
}

/** Take what was searched for, if a result led to this address (dialog.js). */
function takeSought() {
  const { address, stems } = attempt(() => JSON.parse(sessionStorage.getItem("sought"))) ?? {};
  attempt(() => sessionStorage.removeItem("sought"));
  return address === location.href ? stems : [];
}

/** Open what hides the place that the address names. */
function follow() {
  const target = targetOf(location.hash);
  const section = (target ?? document.querySelector("h1"))?.closest("section");
  const sought = takeSought();
  if (section && sought.length) openSought(section, sought);
  if (!target?.closest(".evidence, details")) return;
  reveal(target);
  target.scrollIntoView();
}

if (classList.contains("evidence")) begin(() => showEvidence(true));
begin(follow);
addEventListener("hashchange", follow);
addEventListener("reveal", ({ target }) => reveal(target)); // a check that fails (page.js)
for (const button of switches) button.addEventListener("click", switchEvidence);
addEventListener("keydown", ({ key, target, ctrlKey, metaKey, altKey }) => {
  const types = target.closest("input, select, textarea, dialog");
  if (key === "e" && switches.length && !(types || ctrlKey || metaKey || altKey)) switchEvidence();
});

// ---------------------------------------------------------------- search

const load = (file) =>
  new Promise((done, failed) => {
    const script = make("script", { src: `${root}${file}` });
    script.addEventListener("load", done);
    script.addEventListener("error", failed);
    document.head.append(script);
  });

// In the order in which they need each other.
const SEARCH = ["_static/search/minisearch.js", "searchindex.js", "_static/search/ranking.js", "_static/search/dialog.js"];
async function loadSearch() {
  for (const file of SEARCH) await load(file);
}

/** Where the search is: on its own page, or in a dialog, which is made once and opened. */
function openSearchBox() {
  const page = document.getElementById("search-page");
  if (page) return page;
  let dialog = document.querySelector("dialog.search");
  if (!dialog) {
    dialog = make("dialog", { class: "search", "aria-label": "Search" });
    dialog.addEventListener("click", ({ target }) => target === dialog && dialog.close()); // beside it
    document.body.append(dialog);
  }
  if (!dialog.open) dialog.showModal();
  return dialog;
}

let searchLoads; // a promise; a failed one is forgotten, so that the next try loads again
async function seek(query = new URLSearchParams(location.search).get("q") ?? "") {
  const box = openSearchBox();
  if (!searchLoads) box.replaceChildren("Loading the index …");
  searchLoads ??= loadSearch();
  try {
    await searchLoads;
  } catch {
    searchLoads = undefined;
    return box.replaceChildren("The index of the book can't be loaded. Is there a network?");
  }
  showSearch(box, query);
}
for (const button of all("button.seek")) button.addEventListener("click", () => seek());
if (document.getElementById("search-page") && location.search) seek();
if (/Mac|iP/.test(navigator.platform)) for (const key of all(".seek kbd")) key.textContent = "⌘ K";
addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return;
  if (event.key.toLowerCase() !== "k") return;
  event.preventDefault();
  seek();
});

/** Leave the rows of the table below a field that have all the words typed there. */
function filterRows({ target: field }) {
  const words = field.value.toLowerCase().split(/\s+/);
  const hasAll = (row) => words.every((word) => row.textContent.toLowerCase().includes(word));
  const rows = all("tbody tr", field.closest("p").nextElementSibling);
  for (const row of rows) row.hidden = !hasAll(row);
  const status = field.parentElement.nextElementSibling;
  const shown = rows.filter(hasAll).length;
  status.textContent = `${shown} of ${rows.length}. `;
  if (!shown) status.append(button("Search the book", () => seek(field.value)));
}
for (const field of all("input.finds")) field.addEventListener("input", filterRows);

// ---------------------------------------------------------------- contents, scrolling

const whenIdle = window.requestIdleCallback ?? ((work) => setTimeout(work, 50)); // Safari has none
const onceLoaded = (work) =>
  document.readyState === "complete" ? work() : addEventListener("load", work, { once: true });

// The contents of the page mark the section that is read: the last one that began above this share of
// the window, or, at the end of the page, the one that a link led to, or the last.
const READ = 0.2;
const contents = all(".bd-toc-nav a[href^='#']");
const sectionOf = (link) => targetOf(link.hash);

function readNow() {
  const { scrollHeight } = document.documentElement;
  const isAtEnd = scrollY > 0 && scrollY + innerHeight >= scrollHeight - 2;
  const isInSight = (link) => sectionOf(link)?.getBoundingClientRect().top > 0;
  if (isAtEnd) return contents.find((link) => link.hash === location.hash && isInSight(link)) ?? contents.at(-1);
  return contents.findLast((link) => sectionOf(link)?.getBoundingClientRect().top <= innerHeight * READ);
}

/** Show a link of the contents, which may be taller than the window. `scrollIntoView` would scroll the page. */
function showInContents(link) {
  const bar = link.closest(".bd-sidebar-secondary");
  bar.scrollTop = link.offsetTop - bar.clientHeight / 2;
}

let marked;
let isMarking = false;
function markContents() {
  if (isMarking) return; // once a frame is enough
  isMarking = true;
  requestAnimationFrame(() => {
    isMarking = false;
    const current = readNow();
    if (current === marked) return;
    marked = current;
    for (const link of contents) link.classList.toggle("active", link.closest("li").contains(current ?? null));
    if (current) showInContents(current);
  });
}
if (contents.length) addEventListener("scroll", markContents, { passive: true });

// Sections that are far away aren't laid out while the page comes (book.css), and their heights are
// guesses. Once it has come they are laid out one by one, each in a task too short to be felt, so that
// the scroll bar is right before a reader scrolls. Chromium holds what is read in its place when a
// section above it grows, and that ends a scroll that is under way, such as Home's: so they wait.
const STILL = 500; // ms
const unlaid = all("article > section > section");
let lastMove = -Infinity;
const noteMove = () => (lastMove = performance.now());
// A key or a wheel moves the page only some frames later.
for (const kind of ["keydown", "wheel", "scroll"]) addEventListener(kind, noteMove, { passive: true });
function layOut() {
  if (performance.now() - lastMove < STILL) {
    setTimeout(layOut, STILL);
    return;
  }
  const section = unlaid.shift();
  if (!section) return;
  section.style.contentVisibility = "visible";
  whenIdle(layOut);
}
onceLoaded(layOut);

// A box that scrolls takes the keyboard's focus; one that doesn't is no stop.
const sizes = new ResizeObserver((changes) => {
  for (const { target } of changes) {
    const { scrollWidth, clientWidth, scrollHeight, clientHeight } = target;
    if (scrollWidth > clientWidth + 1 || scrollHeight > clientHeight + 1) target.tabIndex = 0;
    else target.removeAttribute("tabindex");
  }
});
const boxes = "article :is(pre, .picture, .pst-scrollable-table-container, div.math)";
for (const box of all(boxes)) sizes.observe(box);

// ---------------------------------------------------------------- cells

// A bar below each cell, made when it comes near. Run and Edit are in sight, the rest is behind
// "More". An answer box stands above each cell that checks an exercise. What the buttons do, other
// than Copy, is in book/python, which is loaded on first use.
const python = location.protocol !== "file:" && document.querySelector("meta[name=python]")?.content;
const runtime = () => import(new URL(`${python}page.js`, location));
const act = async ({ target }) => (await runtime()).act(target.closest("div.cell"), target.dataset.act);
const canRun = (cell) => Boolean(cell && python && !cell.matches(".needs-torch"));

function button(words, click, attributes = {}) {
  const made = make("button", { type: "button", ...attributes }, words);
  made.addEventListener("click", click);
  return made;
}

/** A button for what `ACTS` of page.js names. */
const actButton = (words, name, attributes = {}) => button(words, act, { "data-act": name, ...attributes });

function copy({ target }) {
  const cell = target.closest(".bar").parentElement;
  const text = cell.querySelector("textarea")?.value ?? cell.querySelector("pre").textContent;
  navigator.clipboard.writeText(text).then(() => flash(target, "Copied."));
}

/** A button that shows and hides the rest of a bar. */
function moreButton(rest) {
  const more = button("More", () => {
    rest.hidden = !rest.hidden;
    more.ariaExpanded = !rest.hidden;
  });
  more.ariaExpanded = false;
  return more;
}

/** The bar of a cell or of other code, in the space that book.css keeps for it. */
function addBar(input) {
  const made = input.querySelector(":scope > .bar");
  if (made) return made;
  near.unobserve(input);
  const cell = input.closest("div.cell");
  const bar = make("div", { class: "bar", role: "group", "aria-label": cell?.dataset.name ?? "code" });
  if (canRun(cell)) {
    const isAnswer = cell.matches(".answer");
    const rest = make("span", { class: "rest", hidden: "" }, actButton("Reset", "reset"));
    if (cell.matches(".first")) rest.append(actButton("Run all", "runAll"));
    rest.append(button("Copy", copy));
    const stop = actButton("Stop", "stop", { class: "stop" }); // shown while it runs
    bar.append(actButton("Run", "run"), stop);
    if (!isAnswer) bar.append(actButton("Edit", "edit"));
    bar.append(moreButton(rest), rest, make("span", { class: "state" }));
  } else bar.append(button("Copy", copy));
  input.append(bar);
  return bar;
}

const near = new IntersectionObserver(
  (changes) => {
    for (const { target, isIntersecting } of changes) if (isIntersecting) addBar(target);
  },
  { rootMargin: "600px" },
);

/** A text area for code, above a copy of its text. */
function editor(name, code) {
  const area = make("textarea", {
    rows: code.split("\n").length,
    "aria-label": `${name}. Control and Enter run it`,
    autocapitalize: "off",
    autocomplete: "off",
    spellcheck: "false",
    wrap: "off",
  });
  area.defaultValue = code;
  const copy = make("pre", { "aria-hidden": "true" }); // for colors (colors.js)
  return make("div", { class: "editor highlight" }, copy, area);
}

/** Put an answer box above a cell that defines `check`, which takes the names `given`. */
function ask(cell, check, given) {
  const names = given.split(/, */).filter((name) => !name.includes("="));
  const lines = [...names.map((name) => `${name} = ...`), "", `${check}(${names.join(", ")})`];
  const box = make("div", { class: "cell answer", "data-check": check, "data-name": `your answer to ${check}` });
  const editable = editor(`Your answer to ${check}`, lines.join("\n"));
  box.append(make("p", {}, "Your answer"), make("div", { class: "cell_input" }, editable));
  box.addEventListener("focusin", runtime, { once: true });
  (cell.closest(".evidence") ?? cell).before(box);
}

/** Move a comment above its line, if it stands behind code and the line is too long for a phone. */
function liftComment(comment) {
  let before = "";
  let node = comment.previousSibling;
  for (; node && !node.textContent.includes("\n"); node = node.previousSibling) before = node.textContent + before;
  if (node && node.nodeType !== Node.TEXT_NODE) return; // behind a string of several lines
  const start = node ? node.splitText(node.data.lastIndexOf("\n") + 1) : comment.parentNode.firstChild;
  if (node) before = start.data + before;
  const isAlone = !before.trim();
  if (isAlone || before.length + comment.textContent.length < PHONE_LINE) return;
  start.before(before.match(/^ */)[0], comment, "\n");
}

const PHONE_LINE = 42; // letters
if (innerWidth <= 600) begin(() => all("article pre .c1").forEach(liftComment));

const cells = all("div.cell");
for (const [n, cell] of cells.entries()) cell.dataset.name = `cell ${n + 1}`;
const runnable = cells.filter(canRun);

function askAll() {
  for (const cell of runnable) {
    const checks = cell.querySelector("pre").textContent.matchAll(/^def (check_\w+)\((.*)\):/gm);
    for (const [, check, given] of checks) ask(cell, check, given);
  }
}
begin(askAll);

const isOpen = (cell) => !cell.querySelector(".cell_input").closest("details, .evidence");
const firstOpen = runnable.find(isOpen);
firstOpen?.classList.add("first");
for (const input of all("article :is(.cell_input, .highlight:not(.cell *))")) near.observe(input);

// Python starts when a reader, who has scrolled, nears the first cell that runs, and the page has
// come; not where the browser says that bytes are dear.
const { saveData, type, effectiveType = "4g" } = navigator.connection ?? {};
const isDear = saveData || type === "cellular" || effectiveType !== "4g";
const startSoon = new IntersectionObserver(
  ([{ isIntersecting }]) => {
    if (!isIntersecting) return;
    startSoon.disconnect();
    onceLoaded(() => whenIdle(async () => (await runtime()).warm()));
  },
  { rootMargin: "800px" },
);
if (firstOpen && !isDear) addEventListener("scroll", () => startSoon.observe(firstOpen), { once: true, passive: true });

const kept = (name) => JSON.parse(getStored(name) ?? "{}");
const chapter = location.pathname.split("/").pop().replace(/\.html$/, "");
if (python && chapter in kept("typed")) runtime(); // restores edits

function forgetAll() {
  if (!confirm("Forget all answers and edits in this book?")) return;
  for (const name of ["right", "typed"]) attempt(() => localStorage.removeItem(name));
  showProgress();
}

/** Show in the list of chapters how many exercises were answered, from local storage. */
function showProgress() {
  const list = document.querySelector(".bd-links");
  if (!list) return;
  for (const old of all(".right, .forget", list)) old.remove();
  for (const [name, { right, of }] of Object.entries(kept("right"))) {
    const link = all("a", list).find(({ pathname }) => pathname.endsWith(`/${name}.html`));
    link?.append(make("span", { class: "right" }, `✓ ${right.length} of ${of}`));
  }
  const isAnythingKept = Object.keys({ ...kept("right"), ...kept("typed") }).length > 0;
  if (isAnythingKept) list.append(make("p", { class: "forget" }, button("Forget answers and edits", forgetAll)));
}
addEventListener("right", showProgress);
addEventListener("storage", showProgress);
begin(showProgress);
