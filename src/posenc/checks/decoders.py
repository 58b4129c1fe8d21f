"""Decoders: whole texts, steps, chunks, padding, packing and shifted positions."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posenc.checks.conventions import Floats
from posenc.checks.laws import law
from posenc.checks.probe import (
    POSITIONS,
    Broken,
    Library,
    Measured,
    Probe,
    Skip,
    floats,
    guess_library,
    take,
    unit_of,
    user,
    worst,
)

MASKS = ("mask", "attention_mask", "padding_mask")
SEGMENTS = ("segments", "segment_ids", "document_ids", "doc_ids")
CHUNKS = (5, 1, 3, 4)  # lengths of the chunks; a last one takes the rest
MOVED = 100
TEXTS = 5  # a fault may begin at four


class Decoder(Probe):
    """Functions `full` and `step` of the same decoder."""

    kind = "decoder"

    def __init__(
        self,
        full: Callable[..., Any],
        step: Callable[..., Any] | None,
        vocabulary: int,
        length: int,
        relative: bool,
        library: Library | None,
    ) -> None:
        super().__init__()
        self.full, self.one_step = full, step
        self.length, self.relative, self.requested_library = length, relative, library
        drawn = np.random.default_rng(0).integers(1, vocabulary, (TEXTS, length))
        drawn[:, 1] = 1 + drawn[:, 0] % (vocabulary - 1)  # the first two always differ
        self.tokens = drawn

    @cached_property
    def library(self) -> Library:
        """The requested library; otherwise torch if it takes tensors, else numpy."""
        if self.requested_library is not None:
            return self.requested_library
        return guess_library(lambda library: self.full(library.array(self.tokens, "int64")))

    # Calls

    def arguments(self, call: Any, **given: NDArray[Any] | None) -> dict[str, Any]:
        """Name the arguments as the function does; skip the law if it lacks one."""
        known = list(inspect.signature(call).parameters)
        names = {"positions": POSITIONS, "mask": MASKS, "segments": SEGMENTS}
        found = {}
        for meaning, value in given.items():
            name = take(known, names[meaning])
            if name is None:
                raise Skip(f"no argument for {meaning}")
            if value is not None:
                dtype = "bool" if value.dtype == np.bool_ else "int64"
                found[name] = self.library.array(value, dtype)
        return found

    def has(self, call: Any, meaning: str) -> bool:
        """Whether a function has an argument for positions, a mask, or segments."""
        try:
            self.arguments(call, **{meaning: None})
        except Skip:
            return False
        return True

    def optional(self, call: Any, **given: NDArray[Any]) -> dict[str, Any]:
        """Name only the arguments that the function has."""
        return self.arguments(call, **{k: v for k, v in given.items() if self.has(call, k)})

    def scores(self, made: Any, shape: tuple[int, ...]) -> Floats:
        """Return scores in float64."""
        self.unit = unit_of(made)
        found = floats(made)
        if found.ndim != 3 or found.shape[:2] != shape:
            raise Broken(f"shape {found.shape} for tokens of shape {shape}")
        return found

    def read(self, tokens: NDArray[Any], **named: Any) -> Floats:
        """Read whole texts."""
        made = user(self.full, self.library.array(tokens, "int64"), **named)
        return self.scores(made, tokens.shape)

    def walk(self, tokens: NDArray[Any], lengths: Sequence[int], **given: NDArray[Any]) -> Floats:
        """Read texts in chunks of these lengths, with a cache; the last chunk takes the rest."""
        if self.one_step is None:
            raise Skip("no step")
        cache, found, begin = None, [], 0
        for end in [*np.cumsum(lengths), tokens.shape[1]]:
            end = min(int(end), tokens.shape[1])
            if end > begin:
                piece = tokens[:, begin:end]
                now = {name: value[:, begin:end] for name, value in given.items()}
                named = self.arguments(self.one_step, **now)
                given_tokens = self.library.array(piece, "int64")
                out, cache = user(self.one_step, given_tokens, cache, **named)
                found.append(self.scores(out, piece.shape))
                begin = end
        return np.concatenate(found, axis=1)

    @cached_property
    def whole(self) -> Floats:
        """Scores of the texts, each read alone, in one call."""
        return np.concatenate([self.read(row[None]) for row in self.tokens])

    @property
    def bound(self) -> float:
        """Half of the digits, relative to the spread of the scores."""
        return math.sqrt(self.unit) * float(np.ptp(self.whole, axis=2).max())

    def near(self, found: Floats, meant: Floats, what: str = "") -> Measured:
        """Compare scores; say where they first differ."""
        off = np.abs(found - meant).max(axis=2)
        error, bound, place = worst(off, self.bound)
        wrong = np.flatnonzero((off > self.bound).any(axis=0))
        first = f"from token {wrong[0]} on" if len(wrong) else f"token {place[1]}"
        return error, bound, f"{what}{first}, text {place[0]}"

    @property
    def positions(self) -> NDArray[Any]:
        """Positions of the texts."""
        return np.broadcast_to(np.arange(self.length), self.tokens.shape)

    def given_positions(self, positions: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Return positions for `step` if it takes them; otherwise it counts by itself."""
        takes = self.one_step is not None and self.has(self.one_step, "positions")
        return {"positions": positions} if takes else {}

    def padded(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], Floats]:
        """Cut the texts to several lengths, and left-pad them.

        Returns tokens, mask, positions, and the scores of each text alone.
        """
        tokens, mask = np.zeros_like(self.tokens), np.zeros(self.tokens.shape, np.bool_)
        meant = np.zeros_like(self.whole)
        for row, cut in enumerate((0, 3, self.length // 2, 1, 4)):
            seq_len = self.length - cut
            tokens[row, cut:], mask[row, cut:] = self.tokens[row, :seq_len], True
            meant[row, cut:] = self.whole[row, :seq_len]
        positions = np.maximum(mask.cumsum(axis=1) - 1, 0)
        return tokens, mask, positions, meant

    def why_steps(self, loop: Floats) -> str:
        """Explain why a loop differs from the whole, by the first token that differs.

        If the function takes positions, try the second token at wrong ones.
        """
        wrong = np.flatnonzero(np.abs(loop[0] - self.whole[0]).max(axis=1) > self.bound)
        first = int(wrong[0]) if len(wrong) else 0
        if first > 1:
            return f"the cache is truncated, or positions wrap or are clamped, at {first}"
        causes = {
            0: "positions are counted from 0 in each call: the offset of the cache is ignored",
            2: "positions are off by one (+1) in a step",
        }
        if first == 1 and self.has(self.full, "positions"):
            for place, cause in causes.items():
                named = self.arguments(self.full, positions=np.array([[0, place]]))
                found = self.read(self.tokens[:1, :2], **named)[0, 1]
                if np.abs(found - loop[0, 1]).max() <= self.bound:
                    return cause
        elif first == 1:
            return f"{causes[0]}; or off by one; or a step has another scale, layout or mask"
        return "a step differs from the whole: another scale, layout or mask"


@law("shape", "decoder")
def shape(probe: Decoder) -> Measured:
    """There are scores for each token, and all are finite.

    Bound: exact.
    Likely: an axis is missing, extra or swapped.
    """
    found = probe.read(probe.tokens)
    return 0.0, 0.0, f"{probe.library.name}, {found.shape[2]} scores after each token"


@law("batch", "decoder")
def batch(probe: Decoder) -> Measured:
    """Each text in a batch gets the same scores as alone.

    Bound: √u·s, half the digits: summing in another order costs a few u of the scores' spread s.
    Likely: sequences in a batch share state: an offset, or a cache.
    """
    return probe.near(probe.read(probe.tokens), probe.whole)


@law("order", "decoder")
def order(probe: Decoder) -> Measured:
    """Swapping two tokens changes the scores after them.

    Bound: more than any other law allows, √u·s.
    Likely: positions never reach the attention.
    """
    tokens = probe.tokens.copy()
    tokens[:, :2] = tokens[:, 1::-1]
    apart = np.abs(probe.read(tokens) - probe.whole)[:, 2:].max()
    if apart <= probe.bound:
        raise Broken(f"{apart:.1e} when two tokens are swapped")
    return probe.bound / float(apart), 1.0, "the bound, relative to the change by a swap"


@law("causal", "decoder", after="batch")
def causal(probe: Decoder) -> Measured:
    """A later token changes no earlier score.

    Bound: √u·s, half the digits: summing in another order costs a few u of the scores' spread s.
    Likely: the causal mask is missing, or off by one.
    """
    tokens = probe.tokens.copy()
    tokens[:, -1] = 1 + tokens[:, -1] % (tokens.max() - 1)
    return probe.near(probe.read(tokens)[:, :-1], probe.whole[:, :-1])


@law("steps", "decoder", after="causal")
def steps(probe: Decoder) -> Measured:
    """One token at a time gives the same scores as the whole text.

    Bound: √u·s, half the digits: summing in another order costs a few u of the scores' spread s.
    Likely: positions are counted from 0 in each call.
    """
    loop = [1] * probe.length
    given = probe.given_positions(probe.positions)
    rows = [
        probe.walk(row[None], loop, **{name: value[:1] for name, value in given.items()})
        for row in probe.tokens
    ]
    measured = probe.near(np.concatenate(rows), probe.whole)
    if measured[0] > measured[1]:
        raise Broken(f"{measured[0]:.1e} apart, {measured[2]}", probe.why_steps(rows[0]))
    return probe.near(probe.walk(probe.tokens, loop, **given), probe.whole, "in a batch, ")


@law("chunks", "decoder", after="steps")
def chunks(probe: Decoder) -> Measured:
    """A text read in chunks with a cache gives the same scores as whole.

    Bound: √u·s, half the digits: summing in another order costs a few u of the scores' spread s.
    Likely: in a chunk, the mask or the positions aren't shifted by the length of the cache.
    """
    given = probe.given_positions(probe.positions)
    return probe.near(probe.walk(probe.tokens, CHUNKS, **given), probe.whole)


@law("padded", "decoder", after="batch")
def padded(probe: Decoder) -> Measured:
    """In a left-padded batch, each text gives the same scores as alone.

    Bound: √u·s, half the digits: summing in another order costs a few u of the scores' spread s.
    Likely: padding is attended to, or counted as a position where positions are absolute.
    """
    tokens, mask, positions, meant = probe.padded()
    named = probe.arguments(probe.full, mask=mask) | probe.optional(probe.full, positions=positions)
    made = user(probe.full, probe.library.array(tokens, "int64"), **named)
    made = np.nan_to_num(floats(made, finite=False))
    return probe.near(np.where(mask[..., None], made, 0), meant)


@law("ragged", "decoder", after="steps chunks padded")
def ragged(probe: Decoder) -> Measured:
    """Left-padded texts of several lengths continue from a cache as they do alone.

    Bound: √u·s, half the digits: summing in another order costs a few u of the scores' spread s.
    Likely: all rows share one offset, or the padding in the cache is attended to.
    """
    if probe.one_step is None:
        raise Skip("no step")
    tokens, mask, positions, meant = probe.padded()
    given = {"mask": mask, **probe.given_positions(positions)}
    probe.arguments(probe.one_step, **given)
    late = probe.length - 4
    made = probe.walk(tokens, [late, 1, 1, 1], **given)
    return probe.near(made[:, late:], meant[:, late:], "after the prompt, ")


@law("packed", "decoder", after="batch")
def packed(probe: Decoder) -> Measured:
    """Texts packed into one row give the same scores as alone.

    Bound: √u·s, half the digits: summing in another order costs a few u of the scores' spread s.
    Likely: a text attends to the one before it, or its positions continue from that one.
    """
    cut = probe.length // 2 - 1
    segments = (probe.positions >= cut).astype(np.int64)
    positions = probe.positions - cut * segments
    tokens, meant = probe.tokens.copy(), probe.whole.copy()
    tokens[:, cut:] = probe.tokens[::-1, : probe.length - cut]
    meant[:, cut:] = probe.whole[::-1, : probe.length - cut]
    named = probe.arguments(probe.full, segments=segments)
    named |= probe.optional(probe.full, positions=positions)
    return probe.near(probe.read(tokens, **named), meant)


@law("moved", "decoder", after="batch ragged")
def moved(probe: Decoder) -> Measured:
    """A text shifted by 100 positions gives the same scores.

    Bound: √u·s, half the digits: summing in another order costs a few u of the scores' spread s.
    Likely: queries, keys and values count from different positions; if a norm with weights follows
    the rotation, or positions are absolute, that is right: pass relative=False.
    """
    if not probe.relative:
        raise Skip("positions are absolute")
    later = probe.positions + MOVED
    made = probe.read(probe.tokens, **probe.arguments(probe.full, positions=later))
    measured = probe.near(made, probe.whole)
    if probe.one_step is None or not probe.given_positions(later) or measured[0] > measured[1]:
        return measured
    return probe.near(probe.walk(probe.tokens, CHUNKS, positions=later), probe.whole, "in chunks, ")


@law("repeat", "decoder")
def repeat(probe: Decoder) -> Measured:
    """A second call gives the same scores.

    Bound: √u·s, half the digits: summing in another order costs a few u of the scores' spread s.
    Likely: state is kept from an earlier text: an offset, or a cache that isn't new.
    """
    again = np.concatenate([probe.read(row[None]) for row in probe.tokens])
    measured = probe.near(again, probe.whole)
    if probe.one_step is None or measured[0] > measured[1]:
        return measured
    first, _, second = (probe.walk(probe.tokens[[row]], [probe.length]) for row in (0, 1, 0))
    return probe.near(second, first, "a new cache, ")
