/* The results of the search, while one types; `bookSearch` is in ranking.js, `bookWords` in words.js,
   `attempt`, `make` and `root` in page/tools.js. */
/* global attempt, make, root, bookSearch, bookWords */
{
  const MOST = 12; // results
  const BEFORE = 14; // pieces of text before the first word that was looked for; every second is a word
  const AFTER = 40;

  /** A text around the first of the words that were looked for, with all of them marked. */
  function excerpt(text, stems) {
    const pieces = text.split(/([\p{L}\p{N}_]+)/u);
    const isMatch = (piece) => bookWords.split(piece).some((word) => stems.has(bookWords.stem(word)));
    const isShort = text.length < 90;
    const first = Math.max(0, pieces.findIndex(isMatch));
    const start = isShort ? 0 : Math.max(0, first - BEFORE);
    const end = isShort ? pieces.length : first + AFTER;
    const marked = pieces.slice(start, end).map((piece) => (isMatch(piece) ? make("mark", {}, piece) : piece));
    return [start > 0 ? "… " : "", ...marked, end < pieces.length ? " …" : ""];
  }

  function resultLink({ name, anchor, title, page, text }, stems) {
    const address = `${root}${name}.html${anchor && "#"}${anchor}`;
    const heading = make("b", {}, ...excerpt(title, stems));
    const link = make("a", { href: address }, heading, make("small", {}, page), make("span", {}, ...excerpt(text, stems)));
    link.addEventListener("click", (event) => {
      const sought = { address: link.href, stems: [...stems] }; // for evidence.js, where the link leads
      attempt(() => sessionStorage.setItem("sought", JSON.stringify(sought)));
      const isElsewhere = event.ctrlKey || event.metaKey || event.shiftKey; // in another tab or window
      if (link.pathname === location.pathname && !isElsewhere) stay(link, event);
    });
    return link;
  }

  /** Follow a link within the page, which isn't loaded again: what was run there would be lost. */
  function stay(link, event) {
    link.closest("dialog")?.close();
    const isThere = link.href === location.href; // the browser scrolls, and says nothing
    if (!link.hash) {
      event.preventDefault();
      history.pushState(null, "", link.href);
      scrollTo(0, 0);
    }
    if (isThere || !link.hash) dispatchEvent(new Event("hashchange"));
  }

  function summary({ words, notes, results }) {
    if (words.length + notes.length === 0) return "A word, or a question.";
    const count = results.length > MOST ? `The best ${MOST} of ${results.length}` : results.length;
    const sections = results.length === 1 ? "section" : "sections";
    return [...notes, `${count} ${sections}.`].join(" ");
  }

  /** Show below a field's status what the book has of what is typed in it, now and from now on. */
  window.showSearch = (field, status) => {
    const list = make("div", { id: "hits" });
    const show = () => {
      const answer = bookSearch(field.value);
      const stems = new Set(answer.words.map(bookWords.stem));
      list.replaceChildren(...answer.results.slice(0, MOST).map((result) => resultLink(result, stems)));
      status.textContent = summary(answer);
    };
    field.addEventListener("input", show);
    field.addEventListener("keydown", ({ key }) => key === "Enter" && list.firstChild?.click());
    status.after(list);
    show();
  };
}
