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
  const MOST = 3; // of the words that are as near, the most frequent
  const single = (word) => word.replace(/(.)\1/g, "$1"); // a letter doubled, or not

  /** How far a typed word may be from another: short words are meant as they begin. */
  function allowed(word, other) {
    const isBegun = word[0] === other[0];
    const isSwapped = word[0] === other[1] && word[1] === other[0];
    if (word.length < 6) return isBegun || isSwapped ? 1 : 0;
    const isEnded = word.at(-1) === other.at(-1);
    return word.length > 7 || (isBegun && isEnded) ? 2 : 1;
  }

  /** The other words nearest to one, if they are near, and in how many edits. */
  function nearest(word, vocabulary) {
    let near = [];
    let least = 2;
    if (word.length < 4 || /\d/.test(word)) return { near, least };
    for (const [other, count] of vocabulary) {
      const most = Math.min(least, allowed(word, other));
      if (other === word || other.length < 3 || count < SELDOM || Math.abs(other.length - word.length) > 2) continue;
      const distance = single(word) === single(other) ? 1 : edits(word, other);
      if (distance > most) continue;
      near = distance < least ? [other] : [...near, other];
      least = distance;
    }
    near.sort((a, b) => vocabulary.get(b) - vocabulary.get(a));
    return { near: near.slice(0, MOST), least };
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
