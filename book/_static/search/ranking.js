/* Which sections answer a query, best first. `window.bookPages` has the sections (search_index.py),
   and MiniSearch counts words; words.js and spelling.js say what a query's words may stand for.
   Nothing here touches the page. tests/test_searches.py holds what tests/searches.txt expects:
   change a weight only with it. */
{
  const { compounds, split, stem, meaningful, known, meanings, isLight } = window.bookWords;
  const { nearest, parts } = window.bookSpelling;

  // ---------------------------------------------------------------- the index

  const occurrences = new Map(); // of stems
  const IN_TITLE = 4; // a word of a title is meant more often
  const vocabulary = new Map(known.map((word) => [word, IN_TITLE])); // how often each word's stem is met
  const titled = new Set();

  function countAndStem(word, field) {
    const root = stem(word);
    const lower = word.toLowerCase();
    const isTitle = field === "title" || field === "other";
    occurrences.set(root, (occurrences.get(root) ?? 0) + 1);
    vocabulary.set(lower, 0); // for now
    if (isTitle) titled.add(lower);
    return root;
  }

  const index = new MiniSearch({
    fields: ["title", "other", "asked", "page", "text", "code"],
    storeFields: ["name", "anchor", "title", "other", "asked", "page", "text"],
    tokenize: split,
    processTerm: countAndStem,
  });
  for (const [name, [page, sections]] of Object.entries(window.bookPages)) {
    for (const [anchor, title, other, text, code, asked] of sections) {
      const titles = title ? { title, page } : { title: page, page: "" };
      index.add({ id: index.documentCount, name, anchor, other, text, code, asked, ...titles });
    }
  }

  for (const word of vocabulary.keys()) {
    const count = occurrences.get(stem(word)) ?? IN_TITLE;
    vocabulary.set(word, count * (titled.has(word) ? IN_TITLE : 1));
  }

  const sumOf = (items, value) => items.reduce((sum, item) => sum + value(item), 0);
  const rarityOf = (count) => Math.log(1 + index.documentCount / Math.max(1, count));
  const LITTLE = 0.3; // of another word's weight
  const weight = (root) => rarityOf(occurrences.get(root)) * (isLight(root) ? LITTLE : 1);

  const kept = new Map();

  /** The stems of a text, without fillers. They are kept, since each query reads all titles. */
  function rootsOf(text) {
    if (!kept.has(text)) kept.set(text, meaningful(split(text)).map(stem));
    return kept.get(text);
  }
  const phrase = (roots) => ` ${roots.join(" ")} `;

  // ---------------------------------------------------------------- what is asked

  // An asked word is { word, roots, share, worth }: the stems that it may stand for, each with how
  // likely it is meant, the likeliest first; how much of its rarity counts; and how much it says.
  // "rope angle" asks for
  //   { word: "rope", roots: { rop: 1, rotar: 0.6, rot: 0.6 }, share: 1, worth: 0.8 }, often met,
  //   { word: "angle", roots: { angl: 1, phas: 0.6, radian: 0.6 }, share: 1, worth: 1.5 }
  const LIKENESS = 0.6; // of a word that means about the same

  /** The stems that one may stand for, as far as the book has them. */
  function readings(root) {
    const others = meanings(root).filter((other) => other !== root && occurrences.has(other));
    const likely = others.map((other) => [other, LIKENESS]);
    return new Map(occurrences.has(root) ? [[root, 1], ...likely] : likely);
  }

  /** Neighbors that the book writes as one word: "bfloat 16", "batch first". */
  function joined(pieces) {
    const isNew = (piece) => piece.length < 2 || !occurrences.has(stem(piece));
    const isOne = ({ pair, word }) => titled.has(word) || (vocabulary.has(word) && pair.some(isNew));
    const pairs = pieces.slice(1).map((piece, n) => [pieces[n], piece]);
    return pairs.map((pair) => ({ pair, word: pair.join("") })).filter(isOne);
  }

  /** The words that an unknown one was perhaps meant to be, and a note on it. */
  function respelled(word) {
    const { near, distance } = nearest(word, vocabulary);
    const two = distance === 1 ? [] : parts(word, vocabulary);
    if (two.length) return { meant: two };
    if (!near) return { meant: [], note: `Nothing has “${word}”.` };
    return { meant: meaningful([near]), note: `“${near}” instead of “${word}”.` };
  }

  /** A word that stands for some stems. */
  function asking(word, roots) {
    const [root] = roots.keys();
    const share = isLight(root) ? LITTLE : 1;
    const count = sumOf([...roots], ([other, likeness]) => likeness * (occurrences.get(other) ?? 0));
    return { word, roots, share, worth: share * rarityOf(count) };
  }

  /** What words ask for, and notes on those that the book doesn't have. */
  function ask(words, compound, wholes) {
    const isMet = (word) => readings(stem(word)).size;
    const isBeginning = (word) => [...vocabulary.keys()].some((other) => other.startsWith(word));
    const isPart = (word) => wholes.some(({ pair }) => pair.includes(word));
    const notes = [];
    const asked = words.flatMap((word) => {
      if (isMet(word)) return asking(word, readings(stem(word))); // rope
      // sinus, on the way to sinusoidal
      if (word === words.at(-1) && isBeginning(word)) return asking(word, new Map([[stem(word), 1]]));
      const isMadeOf = compound.has(word) && nearest(word, vocabulary).distance > 1;
      // ropeangle, of rope-angle: its parts, or what it is a part of, are asked for.
      if (isMadeOf || isPart(word)) return [];
      // sinosoidal
      const { meant, note } = respelled(word);
      if (note) notes.push(note);
      return meant.filter(isMet).map((other) => asking(other, readings(stem(other))));
    });
    return { asked, notes };
  }

  /** What a query asks for: its words that mean something, or if there are none, all of them. */
  function understand(query) {
    const typed = compounds(query.toLowerCase());
    const pieces = typed.flat();
    const wholes = joined(pieces);
    const words = [...new Set([...wholes.map(({ word }) => word), ...split(query.toLowerCase())])];
    const compound = new Set(typed.filter(({ length }) => length > 1).map((part) => part.join("")));
    const answer = ask(meaningful(words), compound, wholes);
    return answer.asked.length + answer.notes.length ? answer : ask(words, compound, wholes);
  }

  // ---------------------------------------------------------------- the order

  const FIELDS = { title: 5, other: 5, asked: 3, page: 2.2, text: 1, code: 0.4 };
  const PREFIX = 0.35; // what a word adds that only begins like the last one typed
  const ALIKE_POWER = 3; // 0.6³ is 0.2: a word that means the same comes after the word itself
  const COVER_POWER = 1.5; // sections with all words of the query come first
  const WHOLE_TITLE = 25; // the query is a title: "NoPE", "causal mask"
  const AGREEMENT = 4; // the query has all words of a title, and the title all of the query's
  const NEAR = 1; // words that stand together in the query do in the section
  const NEAR_DEPTH = 30; // of the best sections: it takes their texts
  // A chapter explains, and a question is as people ask. Exercises answer nothing.
  const PLACES = { notebooks: 1.1, questions: 1.2, rope_in_production: 1.2, glossary: 0.8 };
  const ASIDE = { claims: 0.6, errata: 0.6, api: 0.5, references: 0.5 };
  const OTHER_PLACE = 0.8;
  // Who asks whether a claim is true finds the ledger's row, with its verdict, or the errata's.
  const TRUTH = /\b(?:true|claims?|myth)\b/i;
  const TRUTH_PLACES = { claims: 4, errata: 4 };
  const EXERCISES = 0.6;

  function place({ name, anchor }, query) {
    const folder = name.startsWith("notebooks/") ? "notebooks" : name.split("/").at(-1);
    const truth = TRUTH.test(query) ? (TRUTH_PLACES[folder] ?? 1) : 1;
    return (PLACES[folder] ?? ASIDE[folder] ?? OTHER_PLACE) * truth * (anchor === "exercises" ? EXERCISES : 1);
  }

  /** The most that a function says of one of a word's stems. */
  const best = ({ roots }, value) => Math.max(0, ...[...roots].map(([root, likeness]) => value(root, likeness)));

  /** How much of what is asked is met, from 0 to 1. */
  function cover(asked, isMet) {
    const likelihood = (each) => best(each, (root, likeness) => (isMet(root) ? likeness : 0));
    return sumOf(asked, (each) => each.worth * likelihood(each)) / sumOf(asked, ({ worth }) => worth);
  }

  /** How well a title and a query agree, from 0 to 1: how much of each the other has. */
  function agreement(title, asked) {
    const inTitle = (root, likeness) => (title.includes(root) ? likeness * weight(root) : 0);
    const met = sumOf(asked, (each) => best(each, inTitle));
    if (!met) return 0;
    const titleMet = Math.min(1, met / sumOf(title, weight));
    const queryMet = cover(asked, (root) => title.includes(root));
    return (2 * titleMet * queryMet) / (titleMet + queryMet);
  }

  const phrases = (text) => text.split("; ").map(rootsOf);

  /** How well titles fit: the query is one, or agrees with one, or with how people ask. */
  function titleFit(section, asked) {
    const titles = [rootsOf(section.title), ...phrases(section.other)];
    const written = titles.map((title) => phrase([...new Set(title)])); // PE @ PE.T is asked for as pe
    const query = phrase(asked.map(({ roots }) => [...roots.keys()][0]));
    const isTerm = section.anchor.startsWith("term-");
    const isWhole = (each) => each === query || (isTerm && each.startsWith(query));
    if (written.some(isWhole)) return WHOLE_TITLE;
    const likeTitles = [...titles, ...phrases(section.asked)];
    const most = Math.max(...likeTitles.map((each) => agreement(each, asked)));
    return 1 + AGREEMENT * most;
  }

  /** The share of neighbors in the query that are neighbors, or next to it, in a section. */
  function nearness({ title, other, text }, asked) {
    if (asked.length < 2) return 0;
    const words = rootsOf(`${title} ${other} ${text}`);
    const places = words.map((word) => asked.findIndex(({ roots }) => roots.has(word)));
    const isBefore = (a, b) => places.some((place, n) => place === a && places.slice(n + 1, n + 3).includes(b));
    const pairs = asked.slice(1).filter((_, n) => isBefore(n, n + 1) || isBefore(n + 1, n));
    return pairs.length / (asked.length - 1);
  }

  /** Sections that have a word of what is asked, with the score that MiniSearch gives them. */
  function find(asked) {
    const boosts = new Map();
    for (const { roots, share } of asked)
      for (const [root, likeness] of roots) {
        const boost = share * likeness ** ALIKE_POWER;
        boosts.set(root, Math.max(boost, boosts.get(root) ?? 0));
      }
    const last = asked.at(-1)?.word ?? "";
    const isWhole = last.length < 3 && occurrences.has(stem(last));
    return index.search([...boosts.keys()].join(" "), {
      tokenize: (stems) => stems.split(" "),
      processTerm: (root) => root,
      boost: FIELDS,
      boostTerm: (root) => boosts.get(root),
      prefix: (root) => root === stem(last) && !isWhole, // the last word may be half typed
      weights: { prefix: PREFIX, fuzzy: 0 },
    });
  }

  /** Sections for a query, best first, with its words and notes on unknown ones. */
  window.bookSearch = (query) => {
    const { asked, notes } = understand(query);
    const results = find(asked);
    const byScore = (a, b) => b.score - a.score;
    for (const hit of results) {
      const isMet = (root) => hit.queryTerms.includes(root);
      hit.score *= cover(asked, isMet) ** COVER_POWER * titleFit(hit, asked) * place(hit, query);
    }
    results.sort(byScore);
    for (const hit of results.slice(0, NEAR_DEPTH)) hit.score *= 1 + NEAR * nearness(hit, asked);
    return { notes, words: asked.map(({ word }) => word), results: results.sort(byScore) };
  };
}
