"""Decoders: steps, chunks, padding and packing, compared with each text read whole and alone.

A law makes some `Text`, whose scores are known since its parts were read alone, and compares. A
cause is a wrong argument that makes `full`, which needs no cache, give the same wrong scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from posenc._validate import check_int
from posenc.checks.laws import Law
from posenc.checks.subjects import Subject, argument, floats
from posenc.checks.trials import (
    SEED,
    Broken,
    Raised,
    Skip,
    Trial,
    Trials,
    tolerance,
    user,
)
from posenc.conventions import UNIT, Floats

TEXTS = 5  # a fault may begin at four; `left_padded` has five numbers
CHUNKS = (5, 1, 3)  # lengths of the chunks; a last one takes the rest
BOUND = (
    "half the digits of the scores' spread: sums in another order cost a few u of it"
)
IGNORED = {
    "mask": "padding seen: it is attended to; pass the mask on",
    "segments": "packed texts seen: they attend to each other; mask them",
    "positions": "positions ignored: they make no difference; pass them on",
}
CACHED = (
    "add how many tokens came before, once, and count each text's own "
    "(exhibit B: notebooks/16_batches_and_caches.html#exhibit-b)"
)


class Text(NamedTuple):
    """Texts, one a row, and what a decoder should make of them."""

    tokens: Any  # (texts, seq_len)
    scores: Floats  # those that it should give: (texts, seq_len, vocabulary)
    shown: Any  # which of them are compared: (texts, seq_len)
    arguments: dict[str, Any]  # positions, mask and segments: (texts, seq_len)
    lengths: Sequence[int] = ()  # of the chunks that it is read in, but the last

    def masked(self, scores: Any) -> Floats:
        """Return the scores that are shown; padding may score anything, even NaN."""
        return np.where(self.shown[..., None], scores, 0.0)


class Decoder(Subject):
    """Functions `full` and `step` of the same decoder."""

    kind = "decoder"
    usage = "`full(tokens)`, or `step(tokens, cache)`"

    def __init__(
        self, full: Any, step: Any = None, vocabulary: int = 8, length: int = 24
    ) -> None:
        super().__init__(full)
        self.step, self.length = step, check_int("length", length, minimum=12)
        most = check_int("vocabulary", vocabulary, minimum=3)
        random = np.random.default_rng(SEED)
        self.tokens: Any = random.integers(1, most, (TEXTS, self.length))
        if not argument(full, ["positions"]):
            self.hint = (
                "most causes can't be tried: `full` has no argument for positions"
            )
        self.find_library(lambda: user(full, self.array(self.tokens, "int64")))

    # Reading

    def called(self, call: Any, tokens: Any, *cache: Any, **given: Any) -> Any:
        """Call the code, with those arguments that it has."""
        named = {
            name: self.array(part, part.dtype.name)
            for name, part in given.items()
            if argument(call, [name])
        }
        return user(call, self.array(tokens, "int64"), *cache, **named)

    def whole(self, tokens: Any, **given: Any) -> Floats:
        """Read texts whole; return the scores, (texts, seq_len, vocabulary)."""
        return in_shape(self.called(self.subject, tokens, **given), tokens)

    def in_chunks(self, lengths: Sequence[int], tokens: Any, **given: Any) -> Floats:
        """Read texts in chunks of these lengths and a last one, with a cache.

        Of each argument, also of a mask, a step gets the columns of its chunk.
        """
        cache, scores = None, []
        for columns in np.split(np.arange(self.length), np.cumsum(lengths)):
            chunk = tokens[:, columns]
            parts = {name: part[:, columns] for name, part in given.items()}
            made = self.called(self.step, chunk, cache, **parts)
            if not isinstance(made, tuple) or len(made) != 2:
                raise Broken("a step returns its scores, and the new cache")
            cache = made[1]
            scores.append(in_shape(made[0], chunk))
        return np.concatenate(scores, axis=1)

    def compare(self, text: Text) -> Trial:
        """Read texts, and compare their scores; skip if the code lacks what is needed."""
        call = self.step if text.lengths else self.subject
        if call is None:
            raise Skip("no step: pass step=")
        for name in text.arguments:
            if name != "positions" and not argument(call, [name]):
                raise Skip(f"no argument for {name}")
        read = partial(self.in_chunks, text.lengths) if text.lengths else self.whole
        given = text.masked(read(text.tokens, **text.arguments))
        bound = UNIT**0.5 * float(np.ptp(self.alone))
        words = "in chunks" if text.lengths else "whole"
        axes = ("text", "token", "score")
        return Trial(words, given, text.masked(text.scores), bound, axes, text)

    # Texts whose scores are known

    @cached_property
    def alone(self) -> Floats:
        """Scores of each text when it is read alone: (texts, seq_len, vocabulary)."""
        return np.concatenate([self.whole(row[None]) for row in self.tokens])

    def arranged(self, text: Any, word: Any, **arguments: Any) -> Text:
        """Put words, and their scores, into other places.

        `text` and `word` are the numbers of a text, and of its word, that is at each place:
        (texts, seq_len). A negative one is padding: texts [[0, 0, 0]] and words [[-1, 0, 1]] are a
        padding token and the first two words of text 0, at positions 0 (any would do), 0 and 1.
        """
        shown = word >= 0
        arguments["positions"] = np.maximum(word, 0)
        if not shown.all():
            arguments["mask"] = shown
        # Where a word is negative, what is taken from the end isn't shown.
        tokens = self.tokens[text, word] * shown
        return Text(tokens, self.alone[text, word], shown, arguments)

    def unchanged(self, count: int = TEXTS) -> Text:
        """Return the first so many texts."""
        return self.arranged(*np.indices((count, self.length)))

    def left_padded(self) -> Text:
        """Turn a b c d into 0 0 0 a: row by row, a text begins later, and its end is lost."""
        row, k = np.indices(self.tokens.shape)
        begin = np.array([0, 3, self.length // 2, 1, 4])[:, None]
        return self.arranged(row, k - begin)

    def packed(self) -> Text:
        """Turn a b c d, e f g h into a b e f, and e f a b, each text's positions from 0."""
        row, k = np.indices(self.tokens.shape)
        begin = self.length // 2 - 1
        second = (k >= begin).astype(np.int64)
        text = np.where(second, row[::-1], row)
        return self.arranged(text, k - begin * second, segments=second)

    # Causes

    def explain(self, trials: list[Trial]) -> str:
        """Return which wrong arguments give the same scores, in a text that is read whole.

        Of texts that are read whole, no other positions are tried: where scores depend on offsets
        alone, many give the same.
        """
        trial = next(trial for trial in trials if trial.worst > 1)
        text = trial.call
        if text.lengths:
            placed = other_positions(text.arguments["positions"], text.lengths)
            causes = [
                f"other positions: {words}; {CACHED}"
                for words, positions in placed.items()
                if self.gives(trial, "positions", positions)
            ]
        else:
            # All words seen, in one segment, and at position 0
            causes = [
                IGNORED[name]
                for name, part in text.arguments.items()
                if self.gives(trial, name, np.full_like(part, name == "mask"))
            ]
        return "; or ".join(causes)

    def gives(self, trial: Trial, name: str, other: Any) -> bool:
        """Whether a text, read whole with another argument, scores the same."""
        if not argument(self.subject, [name]):
            return False
        text = trial.call
        scores: Any = np.nan
        with suppress(Broken, Raised):
            scores = self.whole(text.tokens, **text.arguments | {name: other})
        off = np.abs(text.masked(scores) - trial.given)
        return bool((off <= tolerance([trial]) + trial.bounds).all())


def in_shape(made: Any, tokens: Any) -> Floats:
    """Return scores in float64; those of padding may be NaN."""
    scores = floats(made, finite=False)
    if scores.ndim != 3 or scores.shape[:2] != tokens.shape:
        raise Broken(f"shape {scores.shape} for tokens of {tokens.shape}")
    return scores


def other_positions(right: Any, lengths: Sequence[int]) -> dict[str, Any]:
    """Return positions that a cache may give, (texts, seq_len), by what is told of them.

    Of the right ones [[0, 1, 2, 3]], in chunks of 2 and 2, calls that begin at 0 make
    [[0, 1, 0, 1]], and later calls that begin one late [[0, 1, 3, 4]].
    """
    number = np.arange(right.shape[1])
    begins = np.array([0, *np.cumsum(lengths)])
    sizes = np.diff(begins, append=len(number))
    # How many tokens came before each one's call, and how many are in that: (seq_len,)
    before, size = np.repeat([begins, sizes], sizes, axis=1)
    positions = {
        "each call begins at 0": right - before,
        "calls of several tokens begin at 0": right - before * (size > 1),
        "later calls begin one late": right + (before > 0),
        "later calls begin one early": right - (before > 0),
        "what came before is added twice": right + before,
        "later calls count padding": np.where(before > 0, number, right),
    }
    # A cache that drops rows may count those it keeps.
    for kept in range(1, before[-1]):
        begin = np.minimum(before, kept)
        positions[f"each call begins at {kept} at most"] = right - before + begin
    return positions


DECODER = ("decoder",)


@Law(
    "shape", DECODER, "there are finite scores after each token, and tokens change them"
)
def shape(decoder: Decoder) -> None:
    """Read all texts."""
    scores = floats(decoder.whole(decoder.tokens))
    if not np.ptp(scores, axis=(0, 1)).any():
        raise Broken("all tokens get the same scores")


@Law(
    "repeat",
    DECODER,
    "a second call gives the same scores",
    BOUND,
    cure="it depends on earlier calls, or on chance: call `eval()`, or reset its state",
)
def repeat(decoder: Decoder) -> Trials:
    """Read one text again: what is drawn in each call, such as dropout, is no fault of batches."""
    return [decoder.compare(decoder.unchanged(1))]


@Law("batch", DECODER, "each text in a batch gets the same scores as alone", BOUND)
def batch(decoder: Decoder) -> Trials:
    """Read all at once."""
    return [decoder.compare(decoder.unchanged())]


@Law("steps", DECODER, "one token at a time gives the same scores as whole", BOUND)
def steps(decoder: Decoder) -> Trials:
    """Read one text, and all at once."""
    texts = decoder.unchanged(1), decoder.unchanged()
    lengths = [1] * (decoder.length - 1)
    return [decoder.compare(text._replace(lengths=lengths)) for text in texts]


@Law("chunks", DECODER, "a text read in chunks gives the same scores as whole", BOUND)
def chunks(decoder: Decoder) -> Trials:
    """Read all at once, several tokens a call."""
    return [decoder.compare(decoder.unchanged()._replace(lengths=CHUNKS))]


@Law("padded", DECODER, "left-padded texts get the same scores as alone", BOUND)
def padded(decoder: Decoder) -> Trials:
    """Read padded texts whole."""
    return [decoder.compare(decoder.left_padded())]


@Law("ragged", DECODER, "left-padded texts continue from a cache as alone", BOUND)
def ragged(decoder: Decoder) -> Trials:
    """Read the last tokens one by one."""
    lengths = [decoder.length - 4, 1, 1, 1]
    return [decoder.compare(decoder.left_padded()._replace(lengths=lengths))]


@Law("packed", DECODER, "texts packed into one row get the same scores as alone", BOUND)
def packed(decoder: Decoder) -> Trials:
    """Read two texts in each row."""
    return [decoder.compare(decoder.packed())]
