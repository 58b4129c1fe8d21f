// Search scorer, set in `_config.yml`. Documents are pages, sections (`page#anchor`), and the code
// of a page (`page#`); see search_index.py.

// A number is one word, however it is spaced, and single letters are none, as in search_index.py.
splitQuery = (query) => {
  const whole = query.replace(/(?<=\d)[\s,](?=\d{3}(?!\d))|(?<=\w)\/\/(?=\w)/g, "");
  return (whole.match(/[\p{L}\p{N}_]+/gu) ?? []).filter((word) => !/^[a-z\d]$/i.test(word));
};

// Sphinx drops numbers from queries, and highlights the query on whichever page comes next. Keep
// numbers, and highlight only on the page that a result leads to.
const { _parseQuery } = Search;
Search._parseQuery = (query) => {
  const parsed = _parseQuery(query);
  for (const word of splitQuery(query)) if (/^\d+$/.test(word)) parsed[1].add(word);
  const marked = localStorage.getItem("sphinx_highlight_terms");
  localStorage.removeItem("sphinx_highlight_terms");
  document.getElementById("search-results").addEventListener("click", ({ target }) => {
    if (target.closest("a")) localStorage.setItem("sphinx_highlight_terms", marked);
  });
  return parsed;
};

// Rare words count more than frequent ones. A word counts most in a section's title, less in its
// text or its page's title, and little in code or elsewhere on the page.
Search.performTermsSearch = (words) => {
  const { docnames, titles, terms, titleterms } = Search._index;
  const pages = docnames.map((name) => docnames.indexOf(name.split("#")[0]));
  const all = docnames.map((name, file) => ({ name, file, score: 0, found: 0, own: false }));
  let best = 0;
  for (const word of words) {
    const isKnown = Object.hasOwn(terms, word) || Object.hasOwn(titleterms, word);
    const match = (term) => (isKnown ? term === word : term.startsWith(word));
    const [text, title] = [terms, titleterms].map(
      (index) => new Set(Object.keys(index).filter(match).flatMap((term) => index[term])),
    );
    const near = new Set([...text, ...title].map((file) => pages[file]));
    const rare = Math.log(1 + docnames.length / (1 + text.size + title.size));
    best += 3 * rare;
    for (const one of all) {
      let weight = near.has(pages[one.file]) ? 0.6 : 0;
      if (text.has(one.file)) weight = one.name.endsWith("#") ? 0.3 : 1;
      if (title.has(pages[one.file])) weight += 1;
      if (title.has(one.file)) weight = 3 + 1 / titles[one.file].split(/[ -]/).length;
      one.score += weight * rare;
      one.found += weight > 0;
      one.own ||= text.has(one.file) || title.has(one.file);
    }
  }
  const kind = (name) => (name.includes("#term-") ? 0.8 : name.startsWith("notebooks/") ? 1.15 : 1);
  const most = Math.max(...all.map(({ found }) => found));
  return all
    .filter(({ own, found }) => own && found === most)
    .map(({ name, score }) => [name, "", "", null, (40 * kind(name) * score) / best, ""])
    .sort((a, b) => b[4] - a[4])
    .slice(0, 30);
};

// A result is [document, title, anchor, description, score, file].
Scorer.title = 60; // for a title that contains the query verbatim
Scorer.score = (result) => {
  const { docnames, titles } = Search._index;
  const [page, section] = result[0].split("#");
  const title = titles[docnames.indexOf(page)];
  if (result[3] === null) {
    result[1] = section ? `${title} > ${titles[docnames.indexOf(result[0])]}` : title;
    result[2] = section ? `#${section}` : "";
  }
  [result[0], result[5]] = [page, ""];
  return result[4];
};
