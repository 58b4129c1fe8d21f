/* The switch between Read and Evidence, and what opens evidence that a link or a search leads to.
   Uses tools.js; python/page.js dispatches `reveal` at a cell whose check fails. */
/* global all, attempt, begin, layOutAll, setStored, targetOf */

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
  layOutAll();
  showEvidence(shown);
  if (read) scrollBy(0, read.getBoundingClientRect().top - before);
  setStored("evidence", shown ? "shown" : "hidden");
}

/** Open all that hides a part of the page, and a cell's own code. */
function reveal(part) {
  for (let box = part; box; box = box.parentElement) {
    if (box.matches("div.evidence")) box.hidden = false;
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
  for (const answer of target ? all(":scope > .question", target) : []) answer.open = true;
  if (!target?.closest("div.evidence, details")) return;
  reveal(target);
  target.scrollIntoView();
}

// Where book.css shows all answers, they are open to a screen reader, too, and no stops of the keyboard.
function openAnswers() {
  for (const answer of all(".question")) {
    answer.open = true;
    answer.firstElementChild.tabIndex = -1;
  }
}
if (matchMedia("(min-width: 960px)").matches) begin(openAnswers);
if (classList.contains("evidence")) begin(() => showEvidence(true));
begin(follow);
addEventListener("hashchange", follow);
addEventListener("reveal", ({ target }) => reveal(target)); // a check that fails (python/page.js)
for (const button of switches) button.addEventListener("click", switchEvidence);
addEventListener("keydown", ({ key, target, ctrlKey, metaKey, altKey }) => {
  const types = target.closest("input, select, textarea, dialog");
  if (key === "e" && switches.length && !(types || ctrlKey || metaKey || altKey)) switchEvidence();
});
