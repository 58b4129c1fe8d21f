/* The dialog of the search: opened here, filled by search/dialog.js, which is loaded with its index on
   first use. Uses tools.js. */
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
for (const opener of all("button.seek")) opener.addEventListener("click", () => seek());
if (document.getElementById("search-page") && location.search) seek();
if (/Mac|iP/.test(navigator.platform)) for (const key of all(".seek kbd")) key.textContent = "⌘ K";
addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return;
  if (event.key.toLowerCase() !== "k") return;
  event.preventDefault();
  seek();
});
