// The text moves a figure: <a href="#fig-scores" data-set="key=4&method=added">marked words</a> set it,
// by a click, and by scrolling until the reader plays. live_figures.py puts them on a stage with it,
// and this module into pages with such words, beside website.js.

const hostOf = (link) => document.querySelector(`${link.hash} posenc-figure`);
const marksOf = (host) =>
  [...document.querySelectorAll('a[href^="#"][data-set]')].filter((link) => hostOf(link) === host);
const isSeen = (host) => {
  const { top, bottom } = host.getBoundingClientRect();
  return bottom > 100 && top < innerHeight - 100;
};

/** Set a figure as a link says; the link that did it last is lit. */
function obey(host, link) {
  const given = Object.fromEntries(new URLSearchParams(link.dataset.set));
  host.figure.update({ ...host.figure.state, ...given });
  for (const other of marksOf(host)) other.classList.toggle("set", other === link);
}

/**
 * Let the marked words that follow a figure set it as they scroll by: the first mark of the last
 * paragraph that has come up does. Who sets the figure, words or reader, changes so:
 * - at first, words do, whenever scrolling brings up others than those that are lit;
 * - once the reader has touched the figure, scrolling sets nothing any more;
 * - a click on marked words sets it, and they do again; but not in the next second, in which the
 *   page may scroll to the figure, past other words.
 */
function follow(host) {
  const isAfter = (link) => host.compareDocumentPosition(link) & Node.DOCUMENT_POSITION_FOLLOWING;
  const links = marksOf(host).filter(isAfter);
  const risen = new Set(); // marks that have come up, or have scrolled past
  let isTouched = false;
  let quiet = 0; // until when a jump to the figure counts as no scrolling
  for (const type of ["pointerdown", "keydown"]) host.addEventListener(type, () => (isTouched = true));
  const watch = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) risen[isIntersecting ? "add" : "delete"](target);
      const link = links.findLast((one) => risen.has(one));
      if (link && !isTouched && performance.now() > quiet && !link.classList.contains("set")) obey(host, link);
    },
    // All above the screen counts as seen, and its lowest quarter doesn't.
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
  const host = link && hostOf(link);
  if (!host?.figure) return;
  obey(host, link);
  if (isSeen(host)) event.preventDefault(); // else go where it is
});
addEventListener("DOMContentLoaded", () => {
  // A page's script knows the kinds that are on it; a figure of another one stays a picture.
  for (const host of document.querySelectorAll("posenc-figure")) if (host.figure) follow(host);
});
