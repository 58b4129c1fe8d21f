/* The buttons of code, answer boxes, and when Python starts. What the buttons do, other than Copy, is
   in book/python/page.js, which is loaded on first use and calls `addBar` and `editor`. Uses tools.js. */
/* global all, begin, button, chapter, copyFrom, kept, make, onceLoaded, whenIdle */

const python = location.protocol !== "file:" && document.querySelector("meta[name=python]")?.content;
const runtime = () => import(new URL(`${python}page.js`, location));
const act = async ({ target }) => (await runtime()).act(target.closest("div.cell"), target.dataset.act);
const canRun = (cell) => Boolean(python && cell?.matches(":has(.cell_input):not(.needs-torch)"));

/** A button for what `ACTS` of page.js names. */
const actButton = (words, name, attributes = {}) => button(words, act, { "data-act": name, ...attributes });

function copy({ target }) {
  const code = target.parentElement;
  const text = code.querySelector("textarea")?.value ?? code.querySelector("pre").textContent;
  copyFrom(target, text);
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

/** The bar of a cell that runs. */
function addBar(input) {
  const made = input.querySelector(":scope > .bar");
  if (made) return made;
  const cell = input.closest("div.cell");
  const bar = make("div", { class: "bar", role: "group", "aria-label": cell.dataset.name });
  const rest = make("span", { class: "rest", hidden: "" }, actButton("Reset", "reset"));
  if (cell.matches(".first")) rest.append(actButton("Run all", "runAll"));
  const stop = actButton("Stop", "stop", { class: "stop" }); // shown while it runs
  bar.append(actButton("Run", "run"), stop);
  if (!cell.matches(".answer")) bar.append(actButton("Edit", "edit"));
  bar.append(moreButton(rest), rest, make("span", { class: "state" }));
  input.append(bar);
  return bar;
}

/** The buttons of code, which come when it comes near. They take no room (book.css). */
function addButtons(input) {
  near.unobserve(input);
  input.append(button("Copy", copy, { class: "copy" }));
  if (canRun(input.closest("div.cell"))) addBar(input);
}

const near = new IntersectionObserver(
  (changes) => {
    for (const { target, isIntersecting } of changes) if (isIntersecting) addButtons(target);
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
  const colored = make("pre", { "aria-hidden": "true" }); // by colors.js
  return make("div", { class: "editor highlight" }, colored, area);
}

/** Put an answer box above a cell that defines `check`. Its parameters are plain names, without types;
    those that have a default stand last, and aren't asked for. */
function ask(cell, check, parameters) {
  const names = parameters.replace(/\w+ *=.*/, "").match(/\w+/g) ?? [];
  const lines = [...names.map((name) => `${name} = ...`), "", `${check}(${names.join(", ")})`];
  const box = make("div", { class: "cell answer", "data-check": check, "data-name": `your answer to ${check}` });
  const editable = editor(`Your answer to ${check}`, lines.join("\n"));
  box.append(make("p", {}, "Your answer"), make("div", { class: "cell_input" }, editable));
  box.addEventListener("focusin", runtime, { once: true });
  (cell.closest("div.evidence") ?? cell).before(box);
}

const PHONE_LINE = 42; // letters

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

if (innerWidth <= 600) begin(() => all("article pre .c1").forEach(liftComment));

const cells = all("div.cell");
for (const [n, cell] of cells.entries()) cell.dataset.name = `cell ${n + 1}`;
const runnable = cells.filter(canRun);

/** Checks are defined in one line, at the start of it. */
function askAll() {
  for (const cell of runnable) {
    const checks = cell.querySelector("pre").textContent.matchAll(/^def (check_\w+)\((.*)\)(?: -> .+)?:/gm);
    for (const [, check, parameters] of checks) ask(cell, check, parameters);
  }
}
begin(askAll);

const isOpen = (cell) => !cell.querySelector(".cell_input").closest("details, div.evidence");
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

begin(() => python && chapter in kept("typed") && runtime()); // restores edits
