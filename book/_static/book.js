/* All that a page does before a reader runs a cell or searches; those scripts are loaded on first
   use. It reads no layout while the page comes, which would make a slow phone lay it out twice. */

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
  localStorage.setItem("theme", dataset.theme);
};
dark.addEventListener("change", paint);
for (const button of all("button.theme")) {
  button.addEventListener("click", () => {
    const other = dataset.theme === "dark" ? "light" : "dark";
    dataset.mode = (other === "dark") === dark.matches ? "auto" : other;
    localStorage.setItem("mode", dataset.mode);
    paint();
  });
}
paint();

// Printed in the light theme; book.css opens the boxes.
addEventListener("beforeprint", () => (dataset.theme = "light"));
addEventListener("afterprint", paint);

// ---------------------------------------------------------------- the bars and the menu

for (const side of ["primary", "secondary"]) {
  const button = document.querySelector(`.${side}-toggle`);
  const box = document.getElementById(`pst-${side}-sidebar-checkbox`);
  const bar = document.querySelector(`.bd-sidebar-${side}`);
  if (!button || !bar) continue;
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

// The list of chapters shows the current one; after the page is laid out, that costs nothing.
addEventListener("load", () =>
  requestAnimationFrame(() => {
    const current = document.querySelector(".bd-sidebar-primary .current.active");
    const bar = current?.closest(".bd-sidebar-primary");
    if (bar && current.offsetTop > bar.clientHeight) bar.scrollTop = current.offsetTop - 200;
  }),
);

const DOES = {
  print: () => print(),
  printAll() {
    const shown = classList.contains("evidence");
    showEvidence(true);
    print();
    showEvidence(shown);
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
  for (const box of all(":is(.documents, .opening)", document)) box.open = shown;
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
  localStorage.setItem("evidence", shown ? "shown" : "hidden");
}

/** Open all that hides a part of the page, and a cell's own code. */
function reveal(part) {
  for (let box = part; box; box = box.parentElement) {
    if (box.matches(".evidence")) box.hidden = false;
    if (box.matches("details")) box.open = true;
  }
  for (const fold of all(":scope > details", part)) fold.open = true;
}

function follow() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target?.closest(".evidence, details")) return;
  reveal(target);
  target.scrollIntoView();
}

if (classList.contains("evidence")) showEvidence(true);
follow();
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
let loaded;
const seek = async () => {
  const page = document.getElementById("search-page");
  let box = page ?? document.querySelector("dialog.search");
  if (!box) {
    box = make("dialog", { class: "search", "aria-label": "Search" });
    box.addEventListener("click", ({ target }) => target === box && box.close());
    document.body.append(box);
  }
  if (!page && !box.open) box.showModal();
  if (!loaded) box.replaceChildren("Loading the index …");
  loaded ??= load("_static/search/minisearch.js")
    .then(() => load("searchindex.js"))
    .then(() => load("_static/search/ranking.js"))
    .then(() => load("_static/search/dialog.js"));
  try {
    await loaded;
    showSearch(box, new URLSearchParams(location.search).get("q") ?? "");
  } catch {
    loaded = undefined;
    box.replaceChildren("The index of the book can't be loaded. Is there a network?");
  }
};
for (const button of all("button.seek")) button.addEventListener("click", seek);
if (document.getElementById("search-page") && location.search) seek();
if (/Mac|iP/.test(navigator.platform)) for (const key of all(".seek kbd")) key.textContent = "⌘ K";
addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return;
  if (event.key.toLowerCase() !== "k") return;
  event.preventDefault();
  seek();
});

// A field above a long table leaves the rows that have all its words.
for (const field of all("input.finds"))
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/);
    const has = (row) => words.every((word) => row.textContent.toLowerCase().includes(word));
    const rows = all("tbody tr", field.closest("p").nextElementSibling);
    for (const row of rows) row.hidden = !has(row);
    const status = field.parentElement.nextElementSibling;
    status.textContent = `${rows.filter(has).length} of ${rows.length}`;
  });

// ---------------------------------------------------------------- contents, scrolling

// The contents of the page mark the section in a band near the top, where readers look and links lead.
const contents = all(".bd-toc-nav a[href^='#']");
const section = (link) => document.getElementById(decodeURIComponent(link.hash.slice(1)));
const seen = new Set();
const spy = new IntersectionObserver(
  (changes) => {
    for (const { target, isIntersecting } of changes) seen[isIntersecting ? "add" : "delete"](target);
    const last = contents.findLast((link) => seen.has(section(link)));
    if (!last) return; // between two sections, the last one stays marked
    for (const link of contents) link.classList.toggle("active", link.closest("li").contains(last));
    last.scrollIntoView({ block: "nearest" }); // contents may be taller than the viewport
  },
  { rootMargin: "-15% 0px -80%" },
);
for (const link of contents) spy.observe(section(link));

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

// A bar below each cell, made when it comes near: Run, Edit and Reset where Python is, and Copy. An
// answer box stands above each cell that checks an exercise. The rest is in book/python.
const python = location.protocol !== "file:" && document.querySelector("meta[name=python]")?.content;
const runtime = () => import(new URL(`${python}page.js`, location));
const act = async ({ target }) => (await runtime()).act(target.closest("div.cell"), target.textContent);
const button = (words, click) => {
  const made = make("button", { type: "button" }, words);
  made.addEventListener("click", click);
  return made;
};

function copy({ target }) {
  const cell = target.closest(".bar").parentElement;
  const text = cell.querySelector("textarea")?.value ?? cell.querySelector("pre").textContent;
  navigator.clipboard.writeText(text).then(() => flash(target, "Copied."));
}

/** The bar of a cell, in the space that book.css keeps for it. */
function addBar(input) {
  const made = input.querySelector(":scope > .bar");
  if (made) return made;
  const cell = input.closest("div.cell");
  const bar = make("div", { class: "bar", role: "group", "aria-label": cell?.dataset.name ?? "code" });
  bar.append(button("Copy", copy));
  if (cell && python && !cell.matches(".needs-torch")) {
    const words = cell.matches(".answer") ? ["Run", "Reset"] : ["Run", "Edit", "Reset"];
    if (cell.matches(".first")) words.push("Run all");
    bar.prepend(...words.map((each) => button(each, act)));
    const stop = button("Stop", act);
    stop.className = "stop"; // shown while the cell runs
    bar.append(stop, make("span", { class: "state" }));
    // Whoever points at a bar probably runs the cell: Python starts.
    const warm = async ({ pointerType }) => pointerType === "mouse" && (await runtime()).warm();
    bar.addEventListener("pointerenter", warm, { once: true });
  }
  near.unobserve(input);
  input.append(bar);
  return bar;
}

const near = new IntersectionObserver(
  (changes) => {
    for (const { target, isIntersecting } of changes) if (isIntersecting) addBar(target);
  },
  { rootMargin: "600px" },
);

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
  return area;
}

function ask(cell, check, given) {
  const names = given.split(/, */).filter((name) => !name.includes("="));
  const lines = [...names.map((name) => `${name} = ...`), "", `${check}(${names.join(", ")})`];
  const box = make("div", { class: "cell answer", "data-check": check, "data-name": `your answer to ${check}` });
  const area = editor(`Your answer to ${check}`, lines.join("\n"));
  box.append(make("p", {}, "Your answer"), make("div", { class: "cell_input" }, area));
  box.addEventListener("focusin", runtime, { once: true });
  (cell.closest(".evidence") ?? cell).before(box);
}

const cells = all("div.cell");
for (const [n, cell] of cells.entries()) cell.dataset.name = `cell ${n + 1}`;
const runnable = cells.filter((cell) => python && !cell.matches(".needs-torch"));
for (const cell of runnable) {
  const checks = cell.querySelector("pre").textContent.matchAll(/^def (check_\w+)\((.*)\):/gm);
  for (const [, check, given] of checks) ask(cell, check, given);
}
runnable.find((cell) => !cell.querySelector("details"))?.classList.add("first");
for (const input of all("article :is(.cell_input, .highlight:not(.cell *))")) near.observe(input);

// The list of chapters shows how many exercises were answered, from local storage.
const kept = (name) => JSON.parse(localStorage.getItem(name) ?? "{}");
const chapter = location.pathname.split("/").pop().replace(/\.html$/, "");
if (python && chapter in kept("typed")) runtime(); // restores edits
function showProgress() {
  const list = document.querySelector(".bd-links");
  for (const old of all(".right, .forget")) old.remove();
  for (const [name, { right, of }] of Object.entries(kept("right"))) {
    const link = all("a", list).find(({ pathname }) => pathname.endsWith(`/${name}.html`));
    link?.append(" ", make("span", { class: "right" }, `✓ ${right.length} of ${of}`));
  }
  if (!Object.keys({ ...kept("right"), ...kept("typed") }).length) return;
  const forget = () => {
    if (!confirm("Forget all answers and edits in this book?")) return;
    for (const name of ["right", "typed"]) localStorage.removeItem(name);
    showProgress();
  };
  list?.append(make("p", { class: "forget" }, button("Forget answers and edits", forget)));
}
addEventListener("right", showProgress);
addEventListener("storage", showProgress);
showProgress();
