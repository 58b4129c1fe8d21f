/* How many exercises were answered, in the list of chapters. python/page.js keeps the answers, and
   dispatches `right`. Uses tools.js. */
/* global all, attempt, begin, button, kept, make */

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
