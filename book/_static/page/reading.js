/* What scrolls: marks in the contents, sections that are measured later, and boxes that the keyboard
   reaches. Uses tools.js; python/page.js calls `watchBox` for what cells print, too. */
/* global all, begin, make, onceLoaded, targetOf, whenIdle */

begin(() => {
  // The contents of the page mark the section that is read: the last one that began above this share of
  // the window, or, at the end of the page, the one that a link led to, or the last.
  const READ = 0.2;
  const contents = all(".bd-toc-nav a[href^='#']");
  const sectionOf = (link) => targetOf(link.hash);

  function readNow() {
    const { scrollHeight } = document.documentElement;
    const isAtEnd = scrollY > 0 && scrollY + innerHeight >= scrollHeight - 2;
    const isInSight = (link) => sectionOf(link)?.getBoundingClientRect().top > 0;
    if (isAtEnd) return contents.find((link) => link.hash === location.hash && isInSight(link)) ?? contents.at(-1);
    return contents.findLast((link) => sectionOf(link)?.getBoundingClientRect().top <= innerHeight * READ);
  }

  /** Show a link of the contents, which may be taller than the window. `scrollIntoView` would scroll the page. */
  function showInContents(link) {
    const bar = link.closest(".bd-sidebar-secondary");
    const fold = link.closest("details"); // "Going further"
    if (fold) fold.open = true;
    bar.scrollTop = link.offsetTop - bar.clientHeight / 2;
  }

  let marked;
  let isMarking = false;
  function markContents() {
    if (isMarking) return; // once a frame is enough
    isMarking = true;
    requestAnimationFrame(() => {
      isMarking = false;
      const current = readNow();
      if (current === marked) return;
      marked = current;
      for (const link of contents) link.classList.toggle("active", link.closest("li").contains(current ?? null));
      if (current) showInContents(current);
    });
  }
  if (!contents.length) return;
  addEventListener("scroll", markContents, { passive: true });
  addEventListener("hashchange", markContents); // at the end of a page a link may have nothing to scroll
});

// Sections that are far away aren't laid out while the page comes (book.css), and their heights are
// guesses. Once it has come they are measured one by one, each in a task too short to be felt, so that
// the scroll bar is right before a reader scrolls; they are painted when they come near. Chromium holds
// what is read in its place when a section above it grows, and that ends a scroll that is under way,
// such as Home's: so they wait.
const STILL = 500; // ms
const MOST_WAIT = 100; // ms; beside a figure that plays, a slow machine has no idle time
const lateSections = all("article > section > section:not(:has(dl.py)), section > dl.py");
const unmeasured = [...lateSections];
const sectionEnd = make("div", { style: "display: flow-root" }); // the margin before it doesn't reach below it
/** Make a section as high as what it holds, which is laid out when it is asked where it ends. */
function measureSection(section) {
  section.append(sectionEnd);
  const height = sectionEnd.getBoundingClientRect().top - section.getBoundingClientRect().top;
  sectionEnd.remove();
  section.style.containIntrinsicHeight = `auto ${height}px`;
}
let lastMove = -Infinity;
const noteMove = () => (lastMove = performance.now());
// A key or a wheel moves the page only some frames later.
for (const kind of ["keydown", "wheel", "scroll"]) addEventListener(kind, noteMove, { passive: true });
function measureNextSection() {
  if (performance.now() - lastMove < STILL) {
    setTimeout(measureNextSection, STILL);
    return;
  }
  const section = unmeasured.shift();
  if (!section) return;
  measureSection(section);
  whenIdle(measureNextSection, { timeout: MOST_WAIT });
}
onceLoaded(measureNextSection);

/** Lay out all sections: at another width, or once evidence.js shows more, their heights are others. */
function layOutAll() {
  unmeasured.length = 0;
  for (const section of lateSections) section.style.contentVisibility = "visible";
}
onceLoaded(() => {
  const width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth !== width) layOutAll(); // a phone's bar changes the height alone
  });
});

// A box that scrolls takes the keyboard's focus; one that doesn't is no stop. It fades at its right edge
// (book.css) while anything is hidden there: a number that is cut between digits reads as another one.
const boxScrolls = (box) => box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1;
const hasMore = (box) => box.scrollWidth - box.clientWidth - box.scrollLeft > 1;
const markMore = (box, more) => box.classList.toggle("more", more);
const watchedBoxes = new ResizeObserver((changes) => {
  // All are measured before one is changed, or each would be laid out again.
  const measured = changes.map(({ target }) => [target, boxScrolls(target), hasMore(target)]);
  for (const [box, isStop, more] of measured) {
    if (isStop) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
    markMore(box, more);
  }
});
/** Do so with a box: now, when its size changes, and when what it holds does, as a line that grows. */
function watchBox(box) {
  const measure = () => {
    watchedBoxes.unobserve(box); // or it would wait for another size
    watchedBoxes.observe(box);
  };
  measure();
  new MutationObserver(measure).observe(box, { characterData: true, childList: true, subtree: true });
  box.addEventListener("scroll", () => markMore(box, hasMore(box)), { passive: true });
}
begin(() => all("article :is(pre, .picture, .pst-scrollable-table-container, div.math)").forEach(watchBox));
