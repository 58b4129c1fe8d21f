// The text moves a figure: <a href="#fig-scores" data-set="key=4&method=added">marked words</a> set it,
// by a click, and by scrolling until the reader plays. live_figures.py puts them on a stage with it,
// and this module into pages with such words, beside website.js.

const figureOf = (link) => document.querySelector(`${link.hash} posenc-figure`);
/** The marked words that set a figure, in the page's order. */
const marksOf = (host) => [...document.querySelectorAll("a[data-set]")].filter((link) => figureOf(link) === host);

/** Set the figure that a link names; the link that did it last is lit. Return the figure's element. */
function obey(link) {
  const host = figureOf(link);
  const given = Object.fromEntries(new URLSearchParams(link.dataset.set));
  host.figure.update({ ...host.figure.state, ...given });
  for (const other of marksOf(host)) other.classList.toggle("set", other === link);
  return host;
}

const topOf = (node) => node.getBoundingClientRect().top;
const isSeen = (host) => host.getBoundingClientRect().bottom > 100 && topOf(host) < innerHeight - 100;

/**
 * Let its marked words set a figure: by a click, and those that follow it as they scroll by. The
 * first mark of the last paragraph that has come up does. Who sets the figure changes so:
 * - at first, words do, whenever scrolling brings up others than those that are lit;
 * - once the reader has touched the figure, scrolling sets nothing any more;
 * - a click on marked words sets it, and they do again; but not in the next second, in which the
 *   page may scroll to the figure, past other words.
 */
function follow(host) {
  const links = marksOf(host);
  const isAfter = (link) => host.compareDocumentPosition(link) & Node.DOCUMENT_POSITION_FOLLOWING;
  const isFirst = (link) => link === link.closest("p")?.querySelector("[data-set]");
  const leading = links.filter((link) => isAfter(link) && isFirst(link));
  let isTouched = false;
  let quiet = 0; // until when a jump to the figure counts as no scrolling
  for (const type of ["pointerdown", "keydown"]) host.addEventListener(type, () => (isTouched = true));
  addEventListener("scroll", () => {
    const link = leading.findLast((one) => topOf(one) < 0.75 * innerHeight);
    if (link && !isTouched && performance.now() > quiet && !link.classList.contains("set")) obey(link);
  });
  for (const link of links)
    link.addEventListener("click", (event) => {
      isTouched = false;
      quiet = performance.now() + 1000;
      if (isSeen(obey(link))) event.preventDefault(); // else go where it is
    });
}

addEventListener("DOMContentLoaded", () => {
  // A page's script knows the kinds that are on it; a figure of another one stays a picture.
  for (const host of document.querySelectorAll("posenc-figure")) if (host.figure) follow(host);
});
