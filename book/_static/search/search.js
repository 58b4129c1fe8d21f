/* The search, loaded on first use (book.js) after MiniSearch and the sections of all pages
   (search_index.py). Results come while one types. */
/* global make, root */
{
  // A number is one word, however it is spaced, position_ids is three, itself and its parts, and a
  // letter is none.
  const split = (text) =>
    (text.replace(/(?<=\d)[\s,](?=\d{3}(?!\d))|(?<=\w)\/\/(?=\w)/g, "").match(/[\p{L}\p{N}_]+/gu) ?? [])
      .flatMap((word) => (/\w_\w/.test(word) ? [word, ...word.split("_").filter(Boolean)] : [word]))
      .filter((word) => !/^[a-z]$/i.test(word));
  const ENDING = /(?:ations?|ate[ds]?|ating|ings?|ions?|ed|ies|e?s|[ey])$/;
  const SHORT = { dim: "dimension", emb: "embedding", freq: "frequency", len: "length", pos: "position" };
  const stem = (word) => {
    const low = SHORT[word.toLowerCase()] ?? word.toLowerCase();
    return low.length > 3 && /^[a-z]+$/.test(low) ? low.replace(ENDING, "") : low;
  };
  const known = new Map(); // stems, and how often they occur
  const spelled = new Map(); // spellings, and their stems
  const processTerm = (word) => {
    const root = stem(word);
    known.set(root, (known.get(root) ?? 0) + 1);
    spelled.set(word.toLowerCase(), root);
    return root;
  };

  // A chapter explains, and a question is as people ask.
  const KINDS = { notebooks: 1.1, questions: 1.2, rope_in: 1.2 };
  const fields = ["title", "other", "page", "text", "code"];
  const storeFields = ["name", "anchor", "title", "other", "page", "text"];
  const index = new MiniSearch({ fields, storeFields, tokenize: split, processTerm });
  for (const [name, [page, sections]] of Object.entries(window.bookPages)) {
    for (const [anchor, title, other, text, code] of sections) {
      const titles = title ? { title, page } : { title: page, page: "" };
      index.add({ id: `${name}#${anchor}`, name, anchor, other, text, code, ...titles });
    }
  }

  /** Edits between two words, where two letters swapped are one. */
  function edits(a, b) {
    let [before, last] = [[], Array.from({ length: b.length + 1 }, (_, n) => n)];
    for (let i = 1; i <= a.length; i++) {
      const row = [i];
      for (let j = 1; j <= b.length; j++) {
        const same = a[i - 1] === b[j - 1];
        row[j] = Math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + !same);
        if (a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) row[j] = Math.min(row[j], before[j - 2] + 1);
      }
      [before, last] = [last, row];
    }
    return last[b.length];
  }

  /** The book's word nearest to an unknown one, if it is near. */
  function nearest(word) {
    if (word.length < 4 || /\d/.test(word)) return undefined;
    const most = word.length > 7 ? 2 : 1;
    let best, least = most + 1;
    for (const [spelling, root] of spelled) {
      if (Math.abs(spelling.length - word.length) > most) continue;
      const away = edits(word, spelling) - known.get(root) / 1e6;
      if (away < least) [best, least] = [spelling, away];
    }
    return least <= most ? best : undefined;
  }

  const normal = (text) => ` ${split(text).map(stem).join(" ")} `;

  /** Sections for a query, best first, and what became of words that the book doesn't have. */
  function find(query) {
    const said = [];
    const found = new Set();
    const parts = split(query);
    for (const [n, typed] of parts.entries()) {
      const word = typed.toLowerCase();
      const begins = n === parts.length - 1 && [...known.keys()].some((root) => root.startsWith(word));
      if (known.has(stem(word)) || begins) found.add(word);
      else if (!word.includes("_")) {
        const other = nearest(word);
        said.push(other ? `“${other}” instead of “${typed}”.` : `Nothing has “${typed}”.`);
        if (other) found.add(other);
      }
    }
    const words = [...found];
    const whole = normal(words.join(" "));
    const rarity = (word) => Math.log(1 + index.documentCount / (known.get(stem(word)) ?? 1));
    const weight = (some) => some.reduce((sum, word) => sum + rarity(word), 0);
    const results = index.search(words.join(" "), {
      tokenize: (text) => text.split(" "),
      processTerm: stem,
      boost: { title: 5, other: 5, page: 2.2, text: 1, code: 0.4 },
      prefix: (root, n, all) => n === all.length - 1 && (words.at(-1).length > 2 || !known.has(root)),
      weights: { prefix: 0.35, fuzzy: 0 },
    });
    for (const result of results) {
      const { anchor, name, title, other, queryTerms } = result;
      const share = weight(words.filter((word) => queryTerms.includes(stem(word)))) / weight(words);
      const isTerm = anchor.startsWith("term-");
      const named = [title, ...other.split(", ")].map(normal);
      const isExact = (each) => each === whole || (isTerm && each.startsWith(whole));
      const exact = named.some(isExact) ? 6 : named.some((each) => each.includes(whole)) ? 1.6 : 1;
      const [place] = name.match(/notebooks|questions|rope_in/) ?? [];
      const kind = isTerm ? 0.8 : (KINDS[place] ?? 0.9);
      result.score *= share ** 2 * exact * kind;
    }
    return { said, words, results: results.sort((a, b) => b.score - a.score) };
  }
  window.bookSearch = find;

  // ---- the dialog, or the page of results

  const SHOWN = 12;

  /** The part of a text around its first sought word, with these words marked. */
  function excerpt(text, roots) {
    const pieces = text.split(/([\p{L}\p{N}_]+)/u);
    const isMet = (piece) => split(piece).some((word) => roots.has(stem(word)));
    const first = pieces.findIndex((piece, n) => n % 2 && isMet(piece));
    const short = text.length < 90;
    const [from, to] = short ? [0, Infinity] : [Math.max(0, first - 14), Math.max(0, first) + 40];
    const parts = pieces.slice(from, to).map((piece, n) =>
      (from + n) % 2 && isMet(piece) ? make("mark", {}, piece) : piece,
    );
    return [from ? "… " : "", ...parts, to < pieces.length ? " …" : ""];
  }

  function result({ name, anchor, title, page, text }, roots) {
    return make(
      "a",
      { href: `${root}${name}.html${anchor && "#"}${anchor}` },
      make("b", {}, ...excerpt(title, roots)),
      make("small", {}, page),
      make("span", {}, ...excerpt(text, roots)),
    );
  }

  /** Put a field and its results into a box. */
  window.showSearch = (box, query = "") => {
    const label = "Search the book";
    const named = { placeholder: label, "aria-label": label };
    const field = make("input", { ...named, type: "search", autocomplete: "off", spellcheck: "false" });
    const said = make("p", { role: "status" });
    const hits = make("div", { id: "hits" });
    const show = () => {
      const { said: notes, words, results } = find(field.value);
      const roots = new Set(words.map(stem));
      hits.replaceChildren(...results.slice(0, SHOWN).map((each) => result(each, roots)));
      const count = results.length > SHOWN ? `The best ${SHOWN} of ${results.length} sections.` : `${results.length} sections.`;
      said.textContent = words.length + notes.length ? [...notes, count].join(" ") : "A word, or a question.";
    };
    field.addEventListener("input", show);
    field.addEventListener("keydown", ({ key }) => key === "Enter" && hits.firstChild?.click());
    box.replaceChildren(field, said, hits);
    field.value = query;
    show();
    field.focus();
  };
}
