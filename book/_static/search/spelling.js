/* Words that the book doesn't have: the nearest ones that it has. Sets `window.bookSpelling`.
   A vocabulary is a Map of words, each with how often the book has it. */
{
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

  const SELDOM = 3; // a word that is met less often is hardly meant

  /** How far a typed word may be from another: short words are meant as they begin. */
  function allowed(word, other) {
    const isBegun = word[0] === other[0];
    const isSwapped = word[0] === other[1] && word[1] === other[0];
    if (word.length < 6) return isBegun || isSwapped ? 1 : 0;
    const isEnded = word.at(-1) === other.at(-1);
    return word.length > 7 || (isBegun && isEnded) ? 2 : 1;
  }

  /** The word nearest to another, if one is near, and in how many edits; of several the most frequent. */
  function nearest(word, vocabulary) {
    let best = { near: undefined, distance: Infinity, count: 0 };
    if (word.length < 4 || /\d/.test(word)) return best;
    for (const [near, count] of vocabulary) {
      if (near === word || near.length < 3 || count < SELDOM || Math.abs(near.length - word.length) > 2) continue;
      const distance = edits(word, near);
      if (distance > allowed(word, near) || distance > best.distance) continue;
      if (distance < best.distance || count > best.count) best = { near, distance, count };
    }
    return best;
  }

  /** Two words that were typed as one, or the name before a number: "kvcache", "llama3". */
  function parts(word, vocabulary) {
    const [, name] = word.match(/^([a-z]{3,})\d+$/) ?? [];
    if (vocabulary.has(name)) return [name];
    const cuts = Array.from({ length: Math.max(0, word.length - 3) }, (_, n) => n + 2);
    const pairs = cuts.map((cut) => [word.slice(0, cut), word.slice(cut)]);
    const frequency = (pair) => Math.min(...pair.map((part) => vocabulary.get(part) ?? 0));
    const [best] = pairs.sort((a, b) => frequency(b) - frequency(a));
    return best && frequency(best) > 2 ? best : [];
  }

  window.bookSpelling = { nearest, parts };
}
