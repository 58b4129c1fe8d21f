"""Decoders: steps, chunks, padding and packing, compared with each text read whole and alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from posenc._validate import check_int
from posenc.checks.subjects import POSITIONS, Subject, argument, floats
from posenc.checks.trials import (
    SEED,
    Broken,
    Raised,
    Skip,
    Trial,
    Trials,
    causes,
    law,
    user,
)
from posenc.conventions import Floats

NAMES = {
    "positions": POSITIONS,
    "mask": ("mask", "attention_mask", "padding_mask"),
    "segments": ("segments", "segment_ids", "document_ids", "doc_ids"),
}
CHUNKS = (5, 1, 3, 4)  # lengths of the chunks; a last one takes the rest
TEXTS = 5  # a fault may begin at four
BOUND = (
    "√u·s, half the digits: sums in another order cost a few u of the scores' spread s"
)
Chunks = Callable[[int], Sequence[int]]
"""The lengths of the chunks of a text of n tokens; none if it is read whole."""


class Text(NamedTuple):
    """Texts, one a row, and what a decoder should make of them."""

    tokens: Any  # (texts, seq_len)
    scores: Floats  # those that it should give: (texts, seq_len, vocabulary)
    shown: Any  # which of them are compared: (texts, seq_len)
    arguments: dict[str, Any]  # positions, mask and segments: (texts, seq_len)


class Decoder(Subject):
    """Functions `full` and `step` of the same decoder."""

    kind = "decoder"

    def __init__(
        self,
        full: Any,
        step: Any = None,
        vocabulary: int = 8,
        length: int = 24,
        relative: bool = True,
        **options: Any,
    ) -> None:
        super().__init__(full, **options)
        if step is not None and not callable(step):
            raise TypeError(f"step must be callable, got {step!r}")
        self.step, self.relative = step, relative
        self.length = check_int("length", length, minimum=12)
        most = check_int("vocabulary", vocabulary, minimum=3) - 1
        # Token 0 is padding.
        drawn = np.random.default_rng(SEED).integers(1, most + 1, (TEXTS, length))
        drawn[:, 1] = 1 + drawn[:, 0] % most  # the first two always differ
        self.tokens: Any = drawn
        self.find_library(lambda: full(self.array(drawn, "int64")))

    def read(self, tokens: Any, lengths: Sequence[int] = (), **given: Any) -> Floats:
        """Read texts whole, or in chunks of these lengths and a last one, with a cache.

        The code gets those arguments that it has.
        """
        call = self.step if lengths else self.subject
        cache, scores = None, []
        # Chunks of (batch, seq_len); a text that is read whole is one chunk.
        for part in np.split(np.arange(tokens.shape[1]), np.cumsum(lengths, dtype=int)):
            if not len(part):
                continue
            chunk, named = self.array(tokens[:, part], "int64"), {}
            for name, array in given.items():
                known = argument(call, NAMES[name])
                if known:
                    named[known] = self.array(array[:, part], array.dtype.name)
            if lengths:
                made, cache = pair_of(user(call, chunk, cache, **named))
            else:
                made = user(call, chunk, **named)
            numbers = floats(made, finite="mask" not in given)
            if numbers.ndim != 3 or numbers.shape[:2] != chunk.shape:
                shape = tuple(chunk.shape)
                raise Broken(f"shape {numbers.shape} for tokens of shape {shape}")
            scores.append(numbers)
        return np.concatenate(scores, axis=1)

    def alone(self) -> Floats:
        """Read each text alone, in one call."""
        return np.concatenate([self.read(row[None]) for row in self.tokens])

    @cached_property
    def texts(self) -> dict[str, Text]:
        """Texts whose scores are known from the whole ones, by what a report calls them."""
        tokens, whole = self.tokens, self.alone()
        k = np.indices(tokens.shape)[1]
        everything, before = k >= 0, {"positions": k}
        # Row by row, a text is moved to the right, and its end is lost.
        late_by = np.array([0, 3, self.length // 2, 1, 4])[:, None]
        mask, index = k >= late_by, np.maximum(k - late_by, 0)
        padded = np.take_along_axis(tokens, index, 1) * mask
        scores = np.take_along_axis(whole, index[..., None], 1)
        counted, end = {"positions": index, "mask": mask}, k >= self.length - 4
        # Two texts in a row, of which the second is another one.
        cut = self.length // 2 - 1
        second = (k >= cut).astype(np.int64)
        packed, both = (
            np.hstack([x[:, :cut], x[::-1, : self.length - cut]])
            for x in (tokens, whole)
        )
        restarted = {"positions": k - cut * second, "segments": second}
        other = tokens.copy()
        other[:, -1] = 1 + other[:, -1] % other.max()
        return {
            "alone": Text(tokens[:1], whole[:1], everything[:1], {"positions": k[:1]}),
            "in a batch": Text(tokens, whole, everything, before),
            "with another last token": Text(other, whole, k < self.length - 1, {}),
            "left-padded": Text(padded, scores, mask, counted),
            "the end of left-padded": Text(padded, scores, mask & end, counted),
            "packed": Text(packed, both, everything, restarted),
            "moved": Text(tokens, whole, everything, {"positions": k + 100}),
        }

    def compare(self, key: str, lengths: Sequence[int] = (), needed: str = "") -> Trial:
        """Read a text, and compare its scores; skip if the code lacks what is needed."""
        call = self.step if lengths else self.subject
        if call is None:
            raise Skip("no step: pass step=")
        if needed and not argument(call, NAMES[needed]):
            raise Skip(f"no argument for {needed}")
        text = self.texts[key]
        return self.trial(
            key, self.read(text.tokens, lengths, **text.arguments), lengths
        )

    def trial(self, key: str, scores: Floats, lengths: Sequence[int] = ()) -> Trial:
        """Compare scores, to half of the digits, relative to their spread."""
        text = self.texts[key]
        bound = self.unit**0.5 * float(np.ptp(text.scores, axis=2).max())
        # Padding may score anything, even NaN, which no factor takes away.
        shown = text.shown[..., None]
        given, meant = (np.where(shown, x, 0.0) for x in (scores, text.scores))
        names = ("text", "token", "score")
        return Trial(key, given, meant, bound, names, (text, lengths))

    def explain(self, trials: list[Trial]) -> str:
        """Read the same texts whole, at positions, masks or segments that known faults have."""
        return causes("decoder", [self] * len(trials), trials)

    def changed(self, text: Text, without: str = "", **changes: Any) -> Floats:
        """Read a text whole, with other arguments, or without one; NaN if that can't be done."""
        given = text.arguments | changes
        known = all(argument(self.subject, NAMES[name]) for name in changes)
        if known and (not without or given.pop(without, None) is not None):
            try:
                scores = self.read(text.tokens, **given)
                return np.where(text.shown[..., None], scores, 0.0)
            except (Broken, Raised):
                pass
        return text.scores * np.nan


def pair_of(made: Any) -> Any:
    """Return what a step returned, if that is two things."""
    if not isinstance(made, (tuple, list)) or len(made) != 2:
        raise Broken("a step returns two things: its scores, and the new cache")
    return made


def reading(
    name: str, asks: str, *keys: str, chunks: Chunks = lambda n: (), needed: str = ""
) -> None:
    """Define a law that reads some texts, whole or in chunks."""

    def test(decoder: Decoder) -> Trials:
        for key in keys:
            yield decoder.compare(key, chunks(decoder.length), needed)

    law(name, ("decoder",), asks, BOUND)(test)


@law("shape", ("decoder",), "there are scores after each token, and all are finite")
def shape(decoder: Decoder) -> Trials:
    """Read all texts."""
    made = decoder.read(decoder.tokens)
    yield Trial(f"{made.shape[2]} scores", made, made)


reading("batch", "each text in a batch gets the same scores as alone", "in a batch")


@law("order", ("decoder",), "swapping two tokens changes the scores after them", BOUND)
def order(decoder: Decoder) -> Iterable[Trial]:
    """Swap the first two tokens, which differ."""
    swapped = decoder.tokens[:, [1, 0, *range(2, decoder.length)]]
    scores, text = decoder.read(swapped), decoder.texts["in a batch"]
    scores[:, :2] = text.scores[:, :2]
    if decoder.trial("in a batch", scores).worst <= 1:
        raise Broken("no score changes", "positions never reach them")
    return ()


reading("causal", "a later token changes no earlier score", "with another last token")
reading(
    "steps",
    "one token at a time gives the same scores as the whole text",
    "alone",
    "in a batch",
    chunks=lambda n: [1] * n,
)
reading(
    "chunks",
    "a text read in chunks with a cache gives the same as whole",
    "in a batch",
    chunks=lambda n: CHUNKS,
)
reading(
    "padded",
    "in a left-padded batch, each text gives the same as alone",
    "left-padded",
    needed="mask",
)
reading(
    "ragged",
    "left-padded texts continue from a cache as they do alone",
    "the end of left-padded",
    chunks=lambda n: [n - 4, 1, 1, 1],
    needed="mask",
)
reading(
    "packed",
    "texts packed into one row give the same scores as alone",
    "packed",
    needed="segments",
)


@law(
    "moved",
    ("decoder",),
    "a text shifted by 100 positions gives the same scores; if positions are absolute, "
    "or a norm with weights follows the rotation, pass relative=False",
    BOUND,
)
def moved(decoder: Decoder) -> Trials:
    """Read at later positions."""
    if not decoder.relative:
        raise Skip("positions are absolute")
    yield decoder.compare("moved", needed="positions")
    if decoder.step and argument(decoder.step, POSITIONS):
        yield decoder.compare("moved", CHUNKS)


@law("repeat", ("decoder",), "a second call gives the same scores", BOUND)
def repeat(decoder: Decoder) -> Trials:
    """Read again; `steps` begins twice, with a new cache."""
    yield decoder.trial("in a batch", decoder.alone())
