/* The dialog of the search and its field. The results are by search/dialog.js, which is loaded with the
   index on first use. Uses tools.js. */
/* global all, make, root, showSearch */

const load = (file) =>
  new Promise((done, failed) => {
    const script = make("script", { src: `${root}${file}` });
    script.addEventListener("load", done);
    script.addEventListener("error", failed);
    document.head.append(script);
  });

// In the order in which they need each other.
const SEARCH = ["minisearch", "words", "spelling", "ranking", "dialog"];
async function loadSearch() {
  await load("searchindex.js");
  for (const name of SEARCH) await load(`_static/search/${name}.js`);
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
let waiting; // the field, while the index loads: what is typed meanwhile is searched for then
/** What is typed where the search is open. */
const typed = () => document.querySelector("#search-page input, dialog.search[open] input")?.value ?? "";
async function seek(query = typed()) {
  const box = openSearchBox();
  if (waiting) {
    if (query) waiting.value = query;
    return waiting.focus();
  }
  const label = "Search the book";
  const asSearch = { type: "search", autocomplete: "off", spellcheck: "false" };
  const field = make("input", { ...asSearch, placeholder: label, "aria-label": label });
  const status = make("p", { role: "status" }, "Loading the index …");
  box.replaceChildren(field, status);
  field.value = query;
  field.focus(); // at once, or a phone shows no keyboard
  waiting = field;
  try {
    await (searchLoads ??= loadSearch());
  } catch {
    searchLoads = undefined;
    status.textContent = "The index of the book can't be loaded. Is there a network?";
  }
  waiting = undefined;
  if (searchLoads) showSearch(field, status);
}
for (const opener of all("button.seek")) opener.addEventListener("click", () => seek());
const asked = new URLSearchParams(location.search).get("q");
if (document.getElementById("search-page") && asked) seek(asked);
if (/Mac|iP/.test(navigator.platform)) for (const key of all(".seek kbd")) key.textContent = "⌘ K";
addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return;
  if (event.key.toLowerCase() !== "k") return;
  event.preventDefault();
  seek();
});
