/* Which sections answer a query, best first. `window.bookPages` has the sections (search_index.py),
   and MiniSearch counts words. What is ours: words as people type them, one nearest spelling for
   an unknown word, and an order of the sections. Nothing here touches the page. tests/test_searches.py holds what
   tests/searches.txt expects: change a weight only with it. */
{
  // ---------------------------------------------------------------- words

  const NUMBER_BREAK = /(?<=\d)[\s,](?=\d{3}(?!\d))/g; // 10 000 and 10,000 are 10000
  const PIECE = /[\p{L}\p{N}]+/gu;
  // Names, code and hyphenated words: max_len, i // 2, non-integer.
  const COMPOUND = /[\p{L}\p{N}]+(?:(?:_+|-|\s*\/\/\s*)[\p{L}\p{N}]+)*/gu;
  const LETTER = /^[a-z]$/i;

  /** The words of a text. A compound is one word, and its parts are words, too. */
  function split(text) {
    const compounds = text.replace(NUMBER_BREAK, "").match(COMPOUND) ?? [];
    const words = compounds.flatMap((compound) => {
      const parts = compound.match(PIECE);
      return parts.length > 1 ? [parts.join(""), ...parts] : parts;
    });
    return words.filter((word) => !LETTER.test(word));
  }

  const ENDING = /(?:able|ally|ations?|ate[ds]?|ating|ings?|ions?|ed|ies|e?s|[ey])$/;
  const SHORT = { dim: "dimension", emb: "embedding", freq: "frequency", len: "length", pos: "position" };
  const IRREGULAR = { chose: "choose", chosen: "choose", drawn: "draw" };
  const FORMS = { ...SHORT, ...IRREGULAR };

  /** What a word shares with its other forms: position, positions, positional differ by endings. */
  function stem(word) {
    const lower = word.toLowerCase();
    const long = Object.hasOwn(FORMS, lower) ? FORMS[lower] : lower;
    if (long.length < 4 || !/^[a-z]+$/.test(long)) return long;
    return long.replace(ENDING, "").replace(/(.)\1$/, "$1"); // embedding is embed, too
  }

  // Who asks for one may find the others, a little later.
  const ALIKE = [
    ["rope", "rotary", "rotate"],
    ["sin", "sine"],
    ["cos", "cosine"],
    ["torch", "pytorch"],
    ["bug", "mistake"],
    ["check", "verify"],
    ["choose", "choice"],
    ["draw", "plot"],
    ["build", "implement", "code"],
    ["prove", "proof"],
    ["permute", "shuffle", "reorder"],
  ];
  const alike = new Map(ALIKE.flatMap((group) => group.map((word) => [stem(word), group.map(stem)])));
  const meanings = (word) => alike.get(stem(word)) ?? [stem(word)];

  // They hold a question together, and say nothing of what it is about.
  const FILLERS = new Set(
    ("a about actually all am an and any applied apply are as at be between but by can compare compared " +
      "could did difference do does for from get happen happens has have how i if in into is it its itself " +
      "many me much my not of on or our please really should so than that the their there this " +
      "through to use used uses using versus vs was we were what when where which while who why will with " +
      "would you your").split(" "),
  );
  const COMPARES = /\b(?:difference|compared?|vs|versus|better)\b/i;

  const asPhrase = (words) => ` ${words.map(stem).join(" ")} `;
  const withoutFillers = (words) => words.filter((word) => !FILLERS.has(word.toLowerCase()));
  const phrase = (text) => asPhrase(withoutFillers(split(text)));

  // ---------------------------------------------------------------- the index

  const occurrences = new Map(); // of stems
  const spellings = new Map(); // and the stem of each

  function countAndStem(word) {
    const root = stem(word);
    occurrences.set(root, (occurrences.get(root) ?? 0) + 1);
    spellings.set(word.toLowerCase(), root);
    return root;
  }

  const index = new MiniSearch({
    fields: ["title", "other", "page", "text", "code"],
    storeFields: ["name", "anchor", "title", "other", "page", "text"],
    tokenize: split,
    processTerm: countAndStem,
  });
  for (const [name, [page, sections]] of Object.entries(window.bookPages)) {
    for (const [anchor, title, other, text, code] of sections) {
      const titles = title ? { title, page } : { title: page, page: "" };
      index.add({ id: index.documentCount, name, anchor, other, text, code, ...titles });
    }
  }

  // ---------------------------------------------------------------- spelling

  /** Edits between two words, where two letters swapped are one. */
  function edits(a, b) {
    let beforeLast = [];
    let last = Array.from({ length: b.length + 1 }, (_, column) => column);
    for (let i = 1; i <= a.length; i++) {
      const row = [i];
      for (let j = 1; j <= b.length; j++) {
        const isSame = a[i - 1] === b[j - 1];
        const isSwap = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
        row[j] = Math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (isSame ? 0 : 1));
        if (isSwap) row[j] = Math.min(row[j], beforeLast[j - 2] + 1);
      }
      beforeLast = last;
      last = row;
    }
    return last[b.length];
  }

  /** The book's word nearest to an unknown one, if it is near. */
  function nearest(word) {
    if (word.length < 4 || /\d/.test(word)) return undefined;
    const most = word.length > 7 ? 2 : 1;
    let best;
    let least = most + 1;
    for (const [spelling, root] of spellings) {
      if (Math.abs(spelling.length - word.length) > most) continue;
      const frequent = occurrences.get(root) / 1e6; // of two as near, the more frequent
      const distance = edits(word, spelling) - frequent;
      if (distance < least) [best, least] = [spelling, distance];
    }
    return least <= most ? best : undefined;
  }

  const isBeginning = (word) => [...occurrences.keys()].some((root) => root.startsWith(word));

  /** What to look for, word by word: the words of a query that mean something, or all of them. */
  function askedWords(query) {
    const typed = split(query);
    const meaningful = withoutFillers(typed);
    return (meaningful.length ? meaningful : typed).map((word) => word.toLowerCase());
  }

  /** The words to look for, and notes on those that the book doesn't have. */
  function understand(query) {
    const asked = askedWords(query);
    const compounds = new Set((query.match(COMPOUND) ?? []).map((text) => split(text)[0]?.toLowerCase()));
    const last = asked.length - 1; // perhaps not typed to its end
    const isMet = (word) => meanings(word).some((root) => occurrences.has(root));
    const isKnown = (word, n) => isMet(word) || (n === last && isBeginning(word));
    const hasParts = (word, n) => compounds.has(word) && asked[n + 1] && word.startsWith(asked[n + 1]);
    const words = new Set();
    const notes = [];
    for (const [n, word] of asked.entries()) {
      if (isKnown(word, n)) {
        words.add(word);
        continue;
      }
      if (hasParts(word, n)) continue; // its parts follow, and are looked for
      const other = nearest(word);
      notes.push(other ? `“${other}” instead of “${word}”.` : `Nothing has “${word}”.`);
      if (other && !FILLERS.has(other)) words.add(other);
    }
    return { words: [...words], notes };
  }

  // ---------------------------------------------------------------- the order

  // Weights. Where a query stands beside one, tests/searches.txt loses it when the weight is 1 (of
  // a power, 0); each other weight could be 1 by itself, and all would pass.
  const FIELDS = { title: 5, other: 5, page: 2.2, text: 1, code: 0.4 }; // title: "KV cache"
  const WHOLE_TITLE = 6; // the query is a title: "NoPE", "causal mask"
  const WITHIN_TITLE = 1.6; // the query is a part of a title
  const COMPARED = 3; // a title has both things that the query compares
  const SHARE_POWER = 2; // sections with all words of the query come first: "MLA rotary"
  const LIKENESS = 0.8; // how much of a word is met by one that means about the same
  const ALIKE_TERM = 0.15; // what such a word adds to MiniSearch's own score
  const PREFIX = 0.35; // what a word adds that only begins like the last one typed
  // A chapter explains, and a question is as people ask.
  const WEIGHTS = { notebooks: 1.1, questions: 1.2, rope_in_production: 1.2, glossary: 0.8 };
  const OTHER_PAGE = 0.9;


  // What every page is about tells little of one: "gradient through positional encoding".
  const SUBJECT = /\bpositional[ -]encodings?\b/i;
  const SUBJECT_ROOTS = new Set(["positional", "encod"]);
  const SUBJECT_TERM = 0.3; // of another word's weight

  /** How much each root of a query weighs, as a function. */
  function weights(query) {
    const light = SUBJECT.test(query) ? SUBJECT_ROOTS : new Set();
    return (root) => (light.has(root) ? SUBJECT_TERM : 1);
  }

  const rarity = (root) => Math.log(1 + index.documentCount / (occurrences.get(root) ?? 1));
  const sumOf = (items, value) => items.reduce((sum, item) => sum + value(item), 0);

  /** How well titles fit: the whole query is one, is in one, or has words of the heading. */
  function titleFit({ anchor, title, other }, words) {
    const whole = asPhrase(words);
    const isTerm = anchor.startsWith("term-");
    const phrases = [title, ...other.split(", ")].map(phrase);
    const isWhole = (each) => each === whole || (isTerm && each.startsWith(whole));
    if (phrases.some(isWhole)) return WHOLE_TITLE;
    const asked = new Set(words.flatMap(meanings));
    const heading = phrases[0].trim().split(" ");
    const met = heading.filter((root) => asked.has(root));
    const share = sumOf(met, rarity) / sumOf(heading, rarity);
    const isWithin = phrases.some((each) => each.includes(whole));
    return (isWithin ? WITHIN_TITLE : 1) * (1 + share);
  }

  /** Whether a title speaks of both things that a query compares. */
  function comparesInTitle({ title, page }, words) {
    const titled = phrase(`${title} ${page}`);
    const isIn = (root) => titled.includes(` ${root} `);
    return words.length > 1 && words.every((word) => meanings(word).some(isIn));
  }

  /** How much of a query a section has; a word that is only like one of its words counts less. */
  function share(words, { queryTerms }, weigh) {
    const fit = (word) => {
      if (queryTerms.includes(stem(word))) return 1;
      return meanings(word).some((root) => queryTerms.includes(root)) ? LIKENESS : 0;
    };
    const worth = (word) => weigh(stem(word)) * rarity(stem(word));
    return sumOf(words, (word) => fit(word) * worth(word)) / sumOf(words, worth);
  }

  /** Sections for a query, best first, with its words and notes on unknown ones. */
  window.bookSearch = (query) => {
    const { words, notes } = understand(query);
    const asked = new Set(words.map(stem));
    const weigh = weights(query);
    const lastStem = words.length && stem(words.at(-1));
    const isTyped = words.at(-1)?.length <= 2 && occurrences.has(lastStem);
    const hits = index.search(words.flatMap(meanings).join(" "), {
      tokenize: (stems) => stems.split(" "),
      processTerm: (root) => root,
      boost: FIELDS,
      boostTerm: (root) => (asked.has(root) ? weigh(root) : ALIKE_TERM),
      prefix: (root) => root === lastStem && !isTyped, // the last word may be half typed
      weights: { prefix: PREFIX, fuzzy: 0 },
    });
    const compares = COMPARES.test(query);
    for (const hit of hits) {
      const place = hit.name.startsWith("notebooks/") ? "notebooks" : hit.name.split("/").at(-1);
      hit.score *= share(words, hit, weigh) ** SHARE_POWER * titleFit(hit, words) * (WEIGHTS[place] ?? OTHER_PAGE);
      if (compares && comparesInTitle(hit, words)) hit.score *= COMPARED;
    }
    return { notes, words, results: hits.sort((a, b) => b.score - a.score) };
  };
  window.bookWords = { split, stem };
}
