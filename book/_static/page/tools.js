/* What the other scripts of a page share. They are classic scripts: a name at the top of one is known
   to all. webpack-macros.html lists them in order, and optimization.py joins and minifies them. It
   keeps the files that they name, so write names out.

   Nothing here or in them reads layout while the page comes, which would make a slow phone lay it out
   twice. What a script does at once, other than to listen, it does by `begin`. */

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

/** Say something for a moment where it was done; a second press meanwhile doesn't prolong it. */
function flash(button, words) {
  const usual = (button.dataset.usual ??= button.textContent);
  button.textContent = words;
  setTimeout(() => (button.textContent = usual), 1500);
}

/** Copy what a button is for; a browser may refuse. */
async function copyFrom(button, text) {
  try {
    await navigator.clipboard.writeText(text);
    flash(button, "Copied.");
  } catch {
    flash(button, "Not allowed.");
  }
}

/** What is kept of answers, `right`: { chapter: { right: checks, of: how many } }; or of edits, `typed`:
    { chapter: { cell: { of: what was published, text } } }. What can't be read is nothing. */
const kept = (name) => attempt(() => JSON.parse(getStored(name))) ?? {};
const chapter = location.pathname.split("/").pop().replace(/\.html$/, "");

function button(words, click, attributes = {}) {
  const made = make("button", { type: "button", ...attributes }, words);
  made.addEventListener("click", click);
  return made;
}

const whenIdle = window.requestIdleCallback ?? ((work) => setTimeout(work, 50)); // Safari has none
const onceLoaded = (work) =>
  document.readyState === "complete" ? work() : addEventListener("load", work, { once: true });
