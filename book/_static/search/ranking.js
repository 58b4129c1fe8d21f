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
  const LIKENESS = 0.6; // of a word that means about the same
  const SELDOM = 3;
  const OFTEN = 30;
  const LETTERS = { q: "query", k: "key", v: "value" };
  const SUBJECT = [["positional", "position"], ["encod", "embed"]]; // what every page is about

  /** The stems that one may stand for, as far as the book has them. */
  function readings(root) {
    const others = meanings(root).filter((other) => other !== root && occurrences.has(other));
    const likely = others.map((other) => [other, LIKENESS]);
    return new Map(occurrences.has(root) ? [[root, 1], ...likely] : likely);
  }

  /** Neighbors that the book writes as one word: "bfloat 16", "batch first". */
  function joined(pieces) {
    const isNew = (piece) => piece.length < 2 || !occurrences.has(stem(piece));
    const asOne = (pair) => {
      const word = pair.join("");
      if (titled.has(word)) return word;
      if (!pair.some(isNew)) return undefined;
      if (vocabulary.has(word)) return word;
      const { near, least } = nearest(word, vocabulary);
      return least === 1 && titled.has(near[0]) ? near[0] : undefined;
    };
    const pairs = pieces.slice(1).map((piece, n) => [pieces[n], piece]);
    return pairs.map((pair) => ({ pair, word: asOne(pair) })).filter(({ word }) => word);
  }

  /** "query" and "key" for q and k, if both are there. */
  function spelledOut(pieces) {
    const letters = pieces.filter((piece) => Object.hasOwn(LETTERS, piece));
    return new Set(letters).size > 1 ? letters.map((letter) => LETTERS[letter]) : [];
  }

  /** What a seldom word is perhaps, mistyped: the book quotes mistakes. */
  function mistyped(word) {
    const count = occurrences.get(stem(word)) ?? SELDOM;
    if (count >= SELDOM || titled.has(word)) return [];
    const { near, least } = nearest(word, vocabulary);
    const often = near.filter((other) => vocabulary.get(other) > OFTEN);
    return least === 1 ? often.map((other) => [stem(other), 1]) : [];
  }

  /** An unknown word as it was perhaps meant, and a note on it. */
  function respelled(word) {
    const { near, least } = nearest(word, vocabulary);
    const two = near.length && least === 1 ? [] : parts(word, vocabulary);
    if (two.length) return { asked: two.map((part) => ({ word: part, roots: readings(stem(part)) })) };
    if (!near.length) return { asked: [], note: `Nothing has “${word}”.` };
    const meant = meaningful(near).map((other) => readings(stem(other)));
    const likely = meant.map(([first]) => first);
    const roots = new Map([...likely, ...meant.flatMap((each) => [...each])]);
    const note = `“${near[0]}” instead of “${word}”.`;
    return { asked: roots.size ? [{ word: near[0], roots }] : [], note };
  }

  /** Say how much each word says: its rarity, and little if it is light or what every page is about. */
  function weigh(asked) {
    const isAsked = (root) => asked.some(({ roots }) => roots.get(root) === 1);
    const isSubject = asked.length > SUBJECT.length && SUBJECT.every((group) => group.some(isAsked));
    const little = new Set(isSubject ? SUBJECT.flat() : []);
    for (const each of asked) {
      const [root] = each.roots.keys();
      const count = sumOf([...each.roots], ([other, likeness]) => likeness * (occurrences.get(other) ?? 0));
      each.share = isLight(root) || little.has(root) ? LITTLE : 1;
      each.worth = each.share * rarityOf(count);
    }
  }

  /** What words ask for, and notes on those that the book doesn't have. */
  function ask(words, compound, wholes) {
    const isBeginning = (word) => [...vocabulary.keys()].some((other) => other.startsWith(word));
    const isPart = (word) => wholes.some(({ pair }) => pair.includes(word));
    const notes = [];
    const asked = words.flatMap((word) => {
      const root = stem(word);
      const roots = new Map([...readings(root), ...mistyped(word)]);
      if (roots.size) return { word, roots };
      if (word === words.at(-1) && isBeginning(word)) return { word, roots: new Map([[root, 1]]) };
      const isMadeOf = compound.has(word) && nearest(word, vocabulary).least > 1;
      if (isMadeOf || isPart(word)) return []; // its parts, or what it is a part of, are asked for
      const other = respelled(word);
      if (other.note) notes.push(other.note);
      return other.asked;
    });
    weigh(asked);
    return { asked, notes };
  }

  /** What a query asks for: its words that mean something, or if there are none, all of them. */
  function understand(query) {
    const typed = compounds(query.toLowerCase());
    const pieces = typed.flat();
    const wholes = joined(pieces);
    const words = [...new Set([...wholes.map(({ word }) => word), ...split(query.toLowerCase()), ...spelledOut(pieces)])];
    const compound = new Set(typed.filter(({ length }) => length > 1).map((part) => part.join("")));
    const answer = ask(meaningful(words), compound, wholes);
    return answer.asked.length + answer.notes.length ? answer : ask(words, compound, wholes);
  }

  // ---------------------------------------------------------------- the order

  const FIELDS = { title: 5, other: 5, asked: 3, page: 2.2, text: 1, code: 0.4 };
  const PREFIX = 0.35; // what a word adds that only begins like the last one typed
  const COVER_POWER = 1.5; // sections with all words of the query come first
  const WHOLE_TITLE = 25; // the query is a title: "NoPE", "causal mask"
  const WITHIN_TITLE = 1.4; // the query is a part of a title
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

  /** How much of what is asked is met, from 0 to 1. */
  function cover(asked, isMet) {
    const likelihood = ({ roots }) => Math.max(0, ...[...roots].map(([root, likeness]) => (isMet(root) ? likeness : 0)));
    return sumOf(asked, (each) => each.worth * likelihood(each)) / sumOf(asked, ({ worth }) => worth);
  }

  /** How well a title and a query agree, from 0 to 1: how much of each the other has. */
  function agreement(title, asked) {
    const inTitle = ([root, likeness]) => (title.includes(root) ? likeness * weight(root) : 0);
    const met = sumOf(asked, ({ roots }) => Math.max(0, ...[...roots].map(inTitle)));
    if (!met) return 0;
    const titleMet = Math.min(1, met / sumOf(title, weight));
    const queryMet = cover(asked, (root) => title.includes(root));
    return (2 * titleMet * queryMet) / (titleMet + queryMet);
  }

  const phrases = (text) => text.split("; ").map(rootsOf);

  /** How well titles fit: the query is one, is in one, or agrees with one, or with how people ask. */
  function titleFit(section, asked) {
    const titles = [rootsOf(section.title), ...phrases(section.other)];
    const written = titles.map((title) => phrase([...new Set(title)])); // PE @ PE.T is asked for as pe
    const query = phrase(asked.map(({ roots }) => [...roots.keys()][0]));
    const isTerm = section.anchor.startsWith("term-");
    const isWhole = (each) => each === query || (isTerm && each.startsWith(query));
    if (written.some(isWhole)) return WHOLE_TITLE;
    const isWithin = written.some((each) => each.includes(query));
    const likeTitles = [...titles, ...phrases(section.asked)];
    const most = Math.max(...likeTitles.map((each) => agreement(each, asked)));
    return (isWithin ? WITHIN_TITLE : 1) * (1 + AGREEMENT * most);
  }

  /** The share of neighbors in the query that are neighbors, or next to it, in a section. */
  function nearness({ title, other, text }, asked) {
    if (asked.length < 2) return 0;
    const places = rootsOf(`${title} ${other} ${text}`).map((root) => asked.findIndex(({ roots }) => roots.has(root)));
    const isFollowed = (n, next) => places[n + 1] === next || places[n + 2] === next;
    const areNear = (a, b) => places.some((each, n) => (each === a && isFollowed(n, b)) || (each === b && isFollowed(n, a)));
    const pairs = asked.slice(1).filter((_, n) => areNear(n, n + 1));
    return pairs.length / (asked.length - 1);
  }

  /** Sections that have a word of what is asked, with the score that MiniSearch gives them. */
  function find(asked) {
    const boosts = new Map();
    for (const { roots, share } of asked)
      for (const [root, likeness] of roots) boosts.set(root, Math.max(share * likeness ** 3, boosts.get(root) ?? 0));
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
