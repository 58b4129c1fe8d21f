"""Decoders: steps, chunks, padding and packing, compared with each text read whole and alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from posenc._validate import check_int
from posenc.checks.subjects import POSITIONS, Subject, argument, floats
from posenc.checks.trials import (
    SEED,
    Broken,
    Law,
    Raised,
    Skip,
    Trial,
    Trials,
    user,
)
from posenc.conventions import UNIT, Floats

NAMES = {
    "positions": POSITIONS,
    "mask": ("mask", "attention_mask", "padding_mask"),
    "segments": ("segments", "segment_ids", "document_ids", "doc_ids"),
}
CHUNKS = (5, 1, 3)  # lengths of the chunks; a last one takes the rest
TEXTS = 5  # a fault may begin at four; `left_padded` has five numbers
BOUND = (
    "half the digits of the scores' spread: sums in another order cost a few u of it"
)


class Text(NamedTuple):
    """Texts, one a row, and what a decoder should make of them."""

    tokens: Any  # (texts, seq_len)
    scores: Floats  # those that it should give: (texts, seq_len, vocabulary)
    arguments: dict[str, Any]  # positions, mask and segments: (texts, seq_len)
    shown: Any = True  # which of them are compared: (texts, seq_len, 1)


class Decoder(Subject):
    """Functions `full` and `step` of the same decoder."""

    kind = faults = "decoder"

    def __init__(
        self,
        full: Any,
        step: Any = None,
        vocabulary: int = 8,
        length: int = 24,
        relative: bool = True,
    ) -> None:
        super().__init__(full)
        if step is not None and not callable(step):
            raise TypeError(f"step must be callable, got {step!r}")
        self.right, self.step, self.relative = self, step, relative
        size = (TEXTS, check_int("length", length, minimum=12))
        most = check_int("vocabulary", vocabulary, minimum=3) - 1
        drawn = np.random.default_rng(SEED).integers(1, most + 1, size)
        drawn[:, 1] = 1 + drawn[:, 0] % most  # the first two always differ
        self.tokens: Any = drawn
        self.columns = np.indices(size)[1]
        self.find_library(lambda: user(full, self.array(drawn, "int64")))

    def read(self, tokens: Any, lengths: Sequence[int] = (), **given: Any) -> Floats:
        """Read texts whole, or in chunks of these lengths and a last one, with a cache.

        The code gets those arguments that it has.
        """
        call, cache, scores = self.step if lengths else self.subject, None, []
        stops = np.cumsum([0, *lengths, tokens.shape[1] - sum(lengths)])
        # Chunks of (batch, seq_len); a text that is read whole is one chunk.
        for begin, stop in pairwise(stops):
            chunk = self.array(tokens[:, begin:stop], "int64")
            named = {
                argument(call, NAMES[name]): self.array(part[:, begin:stop], part.dtype)
                for name, part in given.items()
            }
            named.pop("", None)
            made = user(call, chunk, *[cache] * bool(lengths), **named)
            if lengths:
                if not isinstance(made, tuple) or len(made) != 2:
                    raise Broken("a step returns its scores, and the new cache")
                made, cache = made
            numbers = floats(made, finite="mask" not in given)
            if numbers.ndim != 3 or numbers.shape[:2] != chunk.shape:
                raise Broken(f"shape {numbers.shape} for tokens of {chunk.shape}")
            scores.append(numbers)
        return np.concatenate(scores, axis=1)

    def compare(self, name: str, lengths: Sequence[int] = (), needs: str = "") -> Trial:
        """Read texts, and compare their scores; skip if the code lacks what is needed."""
        call = self.step if lengths else self.subject
        if call is None:
            raise Skip("no step: pass step=")
        if needs and not argument(call, NAMES[needs]):
            raise Skip(f"no argument for {needs}")
        text = self.texts[name]
        made = self.read(text.tokens, lengths, **text.arguments)
        # Padding may score anything, even NaN, which no factor takes away.
        given, meant = (np.where(text.shown, x, 0.0) for x in (made, text.scores))
        bound = UNIT**0.5 * float(np.ptp(text.scores, axis=2).max())
        axes = ("text", "token", "score")
        return Trial(name, given, meant, bound, axes, (text, lengths))

    @cached_property
    def alone(self) -> Floats:
        """Scores of each text when it is read alone: (texts, seq_len, vocabulary)."""
        return np.concatenate([self.read(row[None]) for row in self.tokens])

    @cached_property
    def texts(self) -> dict[str, Text]:
        """Texts whose scores are known, as each text is read alone, by what they are."""
        tokens, alone, k = self.tokens, self.alone, self.columns
        # a b c d → b a c d, and a b c e
        swapped = tokens[:, [1, 0, *range(2, k.shape[1])]]
        other = np.where(k < k.max(), tokens, 1 + tokens % tokens.max())
        return {
            "texts": Text(tokens, alone, {"positions": k}),
            "first text": Text(tokens[:1], alone[:1], {"positions": k[:1]}),
            "another last token": Text(other, alone, {}, k[..., None] < k.max()),
            "swapped": Text(swapped, alone, {}, k[..., None] > 1),
            "left-padded": self.left_padded(),
            "packed": self.packed(),
            "moved": Text(tokens, alone, {"positions": k + 100}),
        }

    def left_padded(self) -> Text:
        """Move texts right, a b c d → 0 0 0 a: row by row, a text is later, and its end is lost."""
        k = self.columns
        begins = np.array([0, 3, k.shape[1] // 2, 1, 4])[:, None]  # (texts, 1)
        # (texts, seq_len): where there are tokens, and the number of each in its text
        mask, number = k >= begins, np.maximum(k - begins, 0)
        tokens = np.take_along_axis(self.tokens, number, 1) * mask
        # (texts, seq_len, vocabulary); those of padding aren't shown.
        scores = np.take_along_axis(self.alone, number[..., None], 1)
        padding = {"positions": number, "mask": mask}
        return Text(tokens, scores, padding, mask[..., None])

    def packed(self) -> Text:
        """Put two texts into each row, a b c d, e f g h → a b e f, and e f a b, each from 0."""
        k = self.columns
        cut = k.shape[1] // 2 - 1
        # (texts, seq_len): 1 in a row's second text
        second = (k >= cut).astype(np.int64)
        # (texts, seq_len), and (texts, seq_len, vocabulary): second texts are in reverse order.
        tokens, scores = (
            np.hstack([x[:, :cut], x[::-1, : k.shape[1] - cut]])
            for x in (self.tokens, self.alone)
        )
        return Text(tokens, scores, {"positions": k - cut * second, "segments": second})

    def read_again(self, text: Text, **changes: Any) -> Any:
        """Read a text whole, with other arguments, or None for none; NaN if that can't be done."""
        given = text.arguments | changes
        given = {name: array for name, array in given.items() if array is not None}
        known = all(argument(self.subject, NAMES[name]) for name in changes)
        try:
            scores = self.read(text.tokens, **given) if known else np.nan
        except (Broken, Raised):
            return np.nan
        return np.where(text.shown, scores, 0.0)


DECODER = ("decoder",)


@Law("shape", DECODER, "there are scores after each token, and all are finite")
def shape(decoder: Decoder) -> Trials:
    """Read all texts."""
    made = decoder.read(decoder.tokens)
    yield Trial(f"{made.shape[2]} scores", made, made)


def reading(
    name: str, asks: str, *texts: str, chunks_of: Any = None, needs: str = ""
) -> None:
    """Define a law that reads texts, whole, or in chunks: `chunks_of(seq_len)` has the lengths."""

    def test(decoder: Decoder) -> Trials:
        lengths = chunks_of(decoder.columns.shape[1]) if chunks_of else ()
        for text in texts:
            yield decoder.compare(text, lengths, needs)

    Law(name, DECODER, asks, BOUND)(test)


reading("batch", "each text in a batch gets the same scores as alone", "texts")


@Law("order", DECODER, "swapping two tokens changes the scores after them", BOUND)
def order(decoder: Decoder) -> Trials:
    """Swap the first two tokens, which differ."""
    trial = decoder.compare("swapped")
    if trial.worst <= 1:
        raise Broken("no score changes", "positions never reach them")
    yield replace(trial, given=trial.meant)


reading("causal", "a later token changes no earlier score", "another last token")
reading(
    "steps",
    "one token at a time gives the same scores as the whole text",
    "first text",
    "texts",
    chunks_of=lambda n: [1] * (n - 1),
)
reading(
    "chunks",
    "a text read in chunks with a cache gives the same as whole",
    "texts",
    chunks_of=lambda n: CHUNKS,
)
reading(
    "padded",
    "in a left-padded batch, each text gives the same as alone",
    "left-padded",
    needs="mask",
)
reading(
    "ragged",
    "left-padded texts continue from a cache as they do alone",
    "left-padded",
    chunks_of=lambda n: [n - 4, 1, 1, 1],
    needs="mask",
)
reading(
    "packed",
    "texts packed into one row give the same scores as alone",
    "packed",
    needs="segments",
)


@Law(
    "moved",
    DECODER,
    "a text shifted by 100 positions gives the same scores; if positions are absolute, "
    "or a norm with weights follows the rotation, pass relative=False",
    BOUND,
)
def moved(decoder: Decoder) -> Trials:
    """Read at later positions."""
    if not decoder.relative:
        raise Skip("positions are absolute")
    yield decoder.compare("moved", needs="positions")
    if argument(decoder.step, POSITIONS):
        yield decoder.compare("moved", CHUNKS)


reading("repeat", "a second call gives the same scores", "first text")
