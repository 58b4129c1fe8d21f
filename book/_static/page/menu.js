/* The menu of what a reader may take along: print, and the link. Uses tools.js and evidence.js. */
/* global all, classList, copyFrom, evidence, showEvidence */

/** What the entries of the menu do, by their data-does (article-header-buttons.html). */
const DOES = {
  print: () => print(),
  printAll() {
    const shown = classList.contains("evidence");
    const opened = all("details[open]");
    const revealed = evidence.filter((box) => !box.hidden);
    const restore = () => {
      showEvidence(shown);
      for (const box of all("details")) box.open = opened.includes(box);
      for (const box of revealed) box.hidden = false;
    };
    addEventListener("afterprint", restore, { once: true }); // print() may return before
    showEvidence(true);
    print();
  },
  link: ({ target }) => copyFrom(target, location.href),
};
for (const item of all("[data-does]")) item.addEventListener("click", DOES[item.dataset.does]);
