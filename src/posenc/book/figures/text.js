// The text moves a figure: <a href="#fig-scores" data-set="key=4&method=added">marked words</a> set it,
// by a click, and by scrolling until the reader plays. live_figures.py puts them on a stage with it,
// and this module into pages with such words, beside website.js.

const marked = (hash = "") => document.querySelectorAll(`a[href^="#"][href$="${hash}"][data-set]`);
const figureOf = (link) => document.querySelector(`${link.hash} posenc-figure`);
const isSeen = (host) => {
  const { top, bottom } = host.getBoundingClientRect();
  return bottom > 100 && top < innerHeight - 100;
};

/** Set the figure that a link names; the link that did it last is lit. */
function obey(link) {
  const host = figureOf(link);
  const given = Object.fromEntries(new URLSearchParams(link.dataset.set));
  host.figure.update({ ...host.figure.state, ...given });
  for (const other of marked(link.hash)) other.classList.toggle("set", other === link);
}

/**
 * Let the marked words that follow a figure set it as they scroll by: the first mark of the last
 * paragraph that has come up does, until the reader plays.
 */
function follow(host) {
  const ids = [host.closest("section"), host.closest("[id]")].map((named) => `#${named?.id}`);
  const isAfter = (link) => host.compareDocumentPosition(link) & Node.DOCUMENT_POSITION_FOLLOWING;
  const links = [...new Set(ids.flatMap((id) => [...marked(id)]))].filter(isAfter);
  const risen = new Set();
  let isTouched = false;
  let quiet = 0; // until when a jump to the figure counts as no scrolling
  for (const type of ["pointerdown", "keydown"]) host.addEventListener(type, () => (isTouched = true));
  const watch = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) risen[isIntersecting ? "add" : "delete"](target);
      const link = links.findLast((one) => risen.has(one));
      if (link && !isTouched && performance.now() > quiet && !link.classList.contains("set")) obey(link);
    },
    { rootMargin: "9999px 0px -25% 0px" },
  );
  for (const link of links) {
    if (link === link.closest("p")?.querySelector("[data-set]")) watch.observe(link);
    link.addEventListener("click", () => {
      isTouched = false;
      quiet = performance.now() + 1000;
    });
  }
}

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[data-set]");
  const host = link && figureOf(link);
  if (!host?.figure) return;
  obey(link);
  if (isSeen(host)) event.preventDefault(); // else go where it is
});
addEventListener("DOMContentLoaded", () => document.querySelectorAll("posenc-figure").forEach(follow));
