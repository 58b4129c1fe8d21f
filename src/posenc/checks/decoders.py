"""Decoders: steps, chunks, padding and packing, compared with each text read whole and alone.

A law makes some `Text`, whose scores are known since its parts were read alone, and compares. A
cause is a wrong argument that makes `full`, which needs no cache, give the same wrong scores.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from posenc._validate import check_int
from posenc.checks.reports import NO_CAUSE
from posenc.checks.trials import (
    SEED,
    Broken,
    Mistakes,
    Raised,
    Skip,
    Subject,
    Trial,
    Trials,
    argument,
    floats,
    matching,
    user,
)
from posenc.conventions import UNIT, Floats

TEXTS = 5  # a fault may begin at four
VOCABULARY = 8  # its first token, 0, is padding
IGNORED = {
    "mask": "padding seen: it is attended to; pass the mask on",
    "segments": "packed texts seen: they attend to each other; mask them",
    "positions": "positions ignored: they make no difference; pass them on",
}
CACHED = (
    "add how many tokens came before, once, without padding, in each text "
    "(exhibit B: notebooks/16_batches_and_caches.html#exhibit-b)"
)

Wrong = Iterator[tuple[str, str, Any]]  # sentences, and wrong arguments by name


class Text(NamedTuple):
    """Texts, one a row, and what a decoder should make of them."""

    tokens: Any  # (texts, seq_len)
    scores: Floats  # those that it should give: (texts, seq_len, vocabulary)
    shown: Any  # which of them are compared: (texts, seq_len)
    arguments: dict[str, Any]  # positions, mask and segments: (texts, seq_len)

    def masked(self, scores: Any) -> Floats:
        """Return the scores that are shown; padding may score anything, even NaN."""
        return np.where(self.shown[..., None], scores, 0.0)


class Decoder(Subject):
    """Functions `full` and `step` of the same decoder."""

    kind = "decoder"
    usage = "`full(tokens)`, or `step(tokens, cache)`"

    def __init__(self, full: Any, step: Any = None, length: int = 24) -> None:
        super().__init__(full)
        self.step, self.length = step, check_int("length", length, minimum=12)
        random = np.random.default_rng(SEED)
        self.tokens: Any = random.integers(1, VOCABULARY, (TEXTS, self.length))

    def plain(self) -> Any:
        """Read all texts."""
        return self.called(self.subject, self.tokens)

    # Reading

    def called(self, call: Any, tokens: Any, *cache: Any, **given: Any) -> Any:
        """Call the code; of its arguments, it may lack positions."""
        named = {}
        for name, part in given.items():
            if argument(call, [name]):
                named[name] = self.array(part, part.dtype.name)
            elif name != "positions":
                raise Skip(f"no argument for {name}")
        return user(call, self.array(tokens, "int64"), *cache, **named)

    def whole(self, tokens: Any, **given: Any) -> Floats:
        """Read texts whole; return the scores, (texts, seq_len, vocabulary)."""
        return in_shape(self.called(self.subject, tokens, **given), tokens)

    def in_chunks(self, ends: Sequence[int], tokens: Any, **given: Any) -> Floats:
        """Read texts in chunks that end before these columns, and a last one, with a cache.

        Of each argument, also of a mask, a step gets the columns of its chunk.
        """
        if self.step is None:
            raise Skip("no step: pass step=")
        cache, scores = None, []
        for columns in np.split(np.arange(tokens.shape[1]), ends):
            chunk = tokens[:, columns]
            parts = {name: part[:, columns] for name, part in given.items()}
            made = self.called(self.step, chunk, cache, **parts)
            if not isinstance(made, tuple) or len(made) != 2:
                raise Broken("a step returns its scores, and the new cache")
            cache = made[1]
            scores.append(in_shape(made[0], chunk))
        return np.concatenate(scores, axis=1)

    def compare(self, text: Text, ends: Sequence[int] = ()) -> Trial:
        """Read texts whole, or in chunks that end there, and compare their scores."""
        read = partial(self.in_chunks, ends) if ends else self.whole
        given = text.masked(read(text.tokens, **text.arguments))
        bound = UNIT**0.5 * float(np.ptp(self.alone))
        words = "in chunks" if ends else "whole"
        axes = ("text", "token", "score")
        return Trial(words, given, text.masked(text.scores), bound, axes, (text, ends))

    # Texts whose scores are known

    @cached_property
    def alone(self) -> Floats:
        """Scores of each text when it is read alone: (texts, seq_len, vocabulary)."""
        return floats(np.concatenate([self.whole(row[None]) for row in self.tokens]))

    def arranged(self, text: Any, word: Any, shown: Any, **arguments: Any) -> Text:
        """Put words, and their scores, into other places.

        `text` and `word` are the numbers of a text, and of its word, that is at each place:
        (texts, seq_len). So texts [[0, 0, 0]] and words [[0, 0, 1]] are the first two words of text
        0, behind a padding token, if [[False, True, True]] are shown.
        """
        arguments["positions"] = word
        if not shown.all():
            arguments["mask"] = shown
        tokens = self.tokens[text, word] * shown
        return Text(tokens, self.alone[text, word], shown, arguments)

    def unchanged(self, count: int = TEXTS, length: int = 0) -> Text:
        """Return the first texts, so many, and of each the first words, or all."""
        row, k = np.indices((count, length or self.length))
        return self.arranged(row, k, k >= 0)

    def left_padded(self) -> Text:
        """Turn a b c d into 0 a b c: row by row, a text begins later, and its end is lost."""
        row, k = np.indices(self.tokens.shape)
        return self.arranged(row, np.maximum(k - row, 0), k >= row)

    # Causes

    def explain(self, trials: list[Trial]) -> str:
        """Return which wrong arguments give the same scores, in texts that are read whole."""
        (trial,) = trials
        text, ends = trial.call
        wrong = other_begins(text, ends) if ends else ignored(text)
        texts = "; or ".join(matching(trial, self.misread(text, wrong)))
        if texts or not ends:
            return texts
        return (
            f"{NO_CAUSE}; count a query, in a bias, too, from a cache's length; if a decoder of "
            "one layer passes, layers share a count; other positions are tried if `full` has an "
            "argument `positions`"
        )

    def misread(self, text: Text, wrong: Wrong) -> Mistakes:
        """Read a text whole with each wrong argument that the code takes."""
        for sentence, name, other in wrong:
            if not argument(self.subject, [name]):
                continue
            with suppress(Broken, Raised, Skip):
                scores = self.whole(text.tokens, **text.arguments | {name: other})
                yield sentence, text.masked(scores)


def ignored(text: Text) -> Wrong:
    """Yield what shows that an argument is ignored.

    Of texts that are read whole, no other positions are tried: where scores depend on offsets
    alone, many give the same.
    """
    number = np.indices(text.tokens.shape)[1]
    # All words seen, one text, and an order that would change scores, even those of offsets alone
    other = {
        "mask": number >= 0,
        "segments": 0 * number,
        "positions": number[:, ::-1],
    }
    # What says the same as a decoder assumes by itself can't be ignored.
    if not np.array_equal(text.arguments["positions"], number):
        for name in text.arguments:
            yield IGNORED[name], name, other[name]


def other_begins(text: Text, ends: Sequence[int]) -> Wrong:
    """Yield positions that calls with a cache may take by mistake.

    For example, if calls of 2 tokens begin at 0 each, positions [0, 1, 0, 1] give their scores.
    """
    number = np.arange(text.tokens.shape[1])
    sizes = np.diff([0, *ends, len(number)])
    # Of each token: how many its call has, and how many tokens and calls came before that
    size, before, calls = np.repeat(
        [sizes, [0, *ends], range(len(sizes))], sizes, axis=1
    )
    # In words; if not 0, whether a token's call begins elsewhere; and where
    others = [
        ("at 0", before, 0),
        ("behind the padding, in all texts alike", before, before),
        ("at twice as many", before, 2 * before),
        ("so that they end with the text, unless single", size > 1, len(number) - size),
    ]
    for n in range(1, 9):
        others += [
            (f"{n} late", before, before + n),
            (f"{n} early", before, before - n),
            (
                f"{n} behind each other: heads, layers, or texts count",
                before,
                n * calls,
            ),
        ]
    right = text.arguments["positions"]
    for words, changed, begin in others:
        positions = np.where(changed, begin + number - before, right)
        if (positions != right).any():
            yield f"calls begin {words}; {CACHED}", "positions", positions


def in_shape(made: Any, tokens: Any) -> Floats:
    """Return scores in float64; those of padding may be NaN."""
    scores = floats(made, finite=False)
    if scores.ndim != 3 or scores.shape[:2] != tokens.shape or not scores.size:
        raise Broken(f"shape {scores.shape} for tokens of {tokens.shape}")
    return scores


# Laws


def shape(decoder: Decoder) -> None:
    """Read all texts."""
    scores = floats(decoder.whole(decoder.tokens))
    if not np.ptp(scores, axis=(0, 1)).any():
        raise Broken("all tokens get the same scores")


def repeat(decoder: Decoder) -> Trials:
    """Read one text again: what is drawn in each call, such as dropout, is no fault of batches."""
    yield decoder.compare(decoder.unchanged(1))


def batch(decoder: Decoder) -> Trials:
    """Read all at once."""
    yield decoder.compare(decoder.unchanged())


def causal(decoder: Decoder) -> Trials:
    """Read the first half of each text alone."""
    yield decoder.compare(decoder.unchanged(length=decoder.length // 2))


def steps(decoder: Decoder) -> Trials:
    """Read all at once, one token a call."""
    yield decoder.compare(decoder.unchanged(), range(1, decoder.length))


def chunks(decoder: Decoder) -> Trials:
    """Read all at once, several tokens a call: 5, 1, 3 and the rest."""
    yield decoder.compare(decoder.unchanged(), (5, 6, 9))


def padded(decoder: Decoder) -> Trials:
    """Read padded texts whole."""
    yield decoder.compare(decoder.left_padded())


def ragged(decoder: Decoder) -> Trials:
    """Read the last tokens of padded texts one by one."""
    ends = range(decoder.length - 4, decoder.length)
    yield decoder.compare(decoder.left_padded(), ends)


def packed(decoder: Decoder) -> Trials:
    """Turn a b c d, e f g h into a b e f, and e f a b, each text's positions from 0."""
    row, k = np.indices(decoder.tokens.shape)
    begin = decoder.length // 2 - 1
    second = k >= begin
    text = np.where(second, row[::-1], row)
    word = np.where(second, k - begin, k)
    segments = second.astype(np.int64)
    yield decoder.compare(decoder.arranged(text, word, k >= 0, segments=segments))
