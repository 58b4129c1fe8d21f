"""Decoders: whole texts, steps, chunks, padding, packing and shifted positions."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from posenc.checks.conventions import Floats
from posenc.checks.subjects import (
    POSITIONS,
    Broken,
    Library,
    Measured,
    Skip,
    Subject,
    floats,
    loaded_torch,
    take,
    unit_of,
    worst,
)

MASKS = ("mask", "attention_mask", "padding_mask")
SEGMENTS = ("segments", "segment_ids", "document_ids", "doc_ids")
CHUNKS = (5, 1, 3, 4)  # lengths of the chunks; a last one takes the rest
MOVED = 100


class Decoder(Subject):
    """Functions `full` and `step` of the same decoder."""

    kind = "decoder"
    half_the_digits = (
        "√u·s, half the digits: summing in another order costs a few u of the scores' spread s"
    )
    sources: ClassVar = dict.fromkeys(
        ("batch", "steps", "chunks", "padded", "ragged", "packed", "moved", "repeat"),
        half_the_digits,
    )
    causes: ClassVar = {
        "batch": "sequences in a batch share state: an offset, or a cache",
        "repeat": "state is kept from an earlier text: an offset, or a cache that isn't new",
    }

    def __init__(
        self,
        full: Callable[..., Any],
        step: Callable[..., Any] | None = None,
        vocabulary: int = 8,
        length: int = 24,
        relative: bool = True,
        library: Library | None = None,
    ) -> None:
        super().__init__()
        self.full, self.one_step = full, step
        self.length, self.relative, self.given = length, relative, library
        drawn = np.random.default_rng(0).integers(1, vocabulary, (3, length))
        drawn[:, 1] = 1 + drawn[:, 0] % (vocabulary - 1)  # the first two always differ
        self.tokens = drawn

    @cached_property
    def library(self) -> Library:
        """The requested library; otherwise torch if it takes tensors, else numpy."""
        if self.given is not None:
            return self.given
        torch = loaded_torch()
        if torch is None:
            return Library(np)
        try:
            made = self.full(torch.from_numpy(self.tokens))
        except Exception:  # it doesn't take tensors
            return Library(np)
        return Library(torch if isinstance(made, torch.Tensor) else np)

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
        return self.scores(self.full(self.library.array(tokens, "int64"), **named), tokens.shape)

    def walk(
        self,
        tokens: NDArray[Any],
        lengths: Sequence[int],
        **given: NDArray[Any],
    ) -> Floats:
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
                out, cache = self.one_step(self.library.array(piece, "int64"), cache, **named)
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

    # The laws

    def law_shape(self) -> Measured:
        found = self.read(self.tokens)
        return 0.0, 0.0, f"{self.library.name}, {found.shape[2]} scores after each token"

    def law_order(self) -> Measured:
        """Swap the first two tokens: later scores must change."""
        tokens = self.tokens.copy()
        tokens[:, :2] = tokens[:, 1::-1]
        apart = np.abs(self.read(tokens) - self.whole)[:, 2:].max()
        if apart <= self.bound:
            raise Broken(f"{apart:.1e} when two tokens are swapped")
        return self.bound / float(apart), 1.0, "the bound, relative to the change by a swap"

    def law_causal(self) -> Measured:
        tokens = self.tokens.copy()
        tokens[:, -1] = 1 + tokens[:, -1] % (tokens.max() - 1)
        return self.near(self.read(tokens)[:, :-1], self.whole[:, :-1])

    def law_batch(self) -> Measured:
        return self.near(self.read(self.tokens), self.whole)

    def law_repeat(self) -> Measured:
        again = self.near(np.concatenate([self.read(row[None]) for row in self.tokens]), self.whole)
        if self.one_step is None or again[0] > again[1]:
            return again
        first, _, second = (self.walk(self.tokens[[row]], [self.length]) for row in (0, 1, 0))
        return self.near(second, first, "a new cache, ")

    def law_steps(self) -> Measured:
        """Read token by token, first each text alone, then the batch."""
        loop = [1] * self.length
        given = self.given_positions(self.positions)
        rows = [
            self.walk(row[None], loop, **{k: v[:1] for k, v in given.items()})
            for row in self.tokens
        ]
        measured = self.near(np.concatenate(rows), self.whole)
        if measured[0] > measured[1]:
            raise Broken(f"{measured[0]:.1e} apart, {measured[2]}", likely=self.why_steps(rows[0]))
        return self.near(self.walk(self.tokens, loop, **given), self.whole, "in a batch, ")

    def given_positions(self, positions: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Return positions for `step` if it takes them; otherwise it counts by itself."""
        takes = self.one_step is not None and self.has(self.one_step, "positions")
        return {"positions": positions} if takes else {}

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
                if np.abs(self.read(self.tokens[:1, :2], **named)[0, 1] - loop[0, 1]).max() <= (
                    self.bound
                ):
                    return cause
        elif first == 1:
            return f"{causes[0]}; or a step has another scale, layout or mask than the whole"
        return "a step differs from the whole: another scale, layout or mask"

    def law_chunks(self) -> Measured:
        given = self.given_positions(self.positions)
        return self.near(self.walk(self.tokens, CHUNKS, **given), self.whole)

    def padded(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], Floats]:
        """Cut the texts to three lengths, and left-pad them.

        Returns tokens, mask, positions, and the scores of each text alone.
        """
        tokens, mask = np.zeros_like(self.tokens), np.zeros(self.tokens.shape, np.bool_)
        meant = np.zeros_like(self.whole)
        for row, cut in enumerate((0, 3, self.length // 2)):
            seq_len = self.length - cut
            tokens[row, cut:], mask[row, cut:] = self.tokens[row, :seq_len], True
            meant[row, cut:] = self.whole[row, :seq_len]
        positions = np.maximum(mask.cumsum(axis=1) - 1, 0)
        return tokens, mask, positions, meant

    def law_padded(self) -> Measured:
        tokens, mask, positions, meant = self.padded()
        named = self.arguments(self.full, mask=mask) | self.optional(self.full, positions=positions)
        made = self.scores_with_padding(self.full(self.library.array(tokens, "int64"), **named))
        return self.near(np.where(mask[..., None], made, 0), meant)

    def scores_with_padding(self, made: Any) -> Floats:
        """Return scores; those of padding may be NaN, since it attends to nothing."""
        return np.nan_to_num(floats(made, finite=False))

    def law_ragged(self) -> Measured:
        """Fill the cache with left-padded texts of several lengths, and continue in steps."""
        if self.one_step is None:
            raise Skip("no step")
        tokens, mask, positions, meant = self.padded()
        given = {"mask": mask, **self.given_positions(positions)}
        self.arguments(self.one_step, **given)
        late = self.length - 4
        made = self.walk(tokens, [late, 1, 1, 1], **given)
        return self.near(made[:, late:], meant[:, late:], "after the prompt, ")

    def law_packed(self) -> Measured:
        cut = self.length // 2 - 1
        segments = (self.positions >= cut).astype(np.int64)
        positions = self.positions - cut * segments
        tokens = self.tokens.copy()
        tokens[:, cut:] = self.tokens[::-1, : self.length - cut]
        meant = self.whole.copy()
        meant[:, cut:] = self.whole[::-1, : self.length - cut]
        named = self.arguments(self.full, segments=segments)
        named |= self.optional(self.full, positions=positions)
        return self.near(self.read(tokens, **named), meant)

    def law_moved(self) -> Measured:
        """Shift all positions: scores that depend only on offsets don't change."""
        if not self.relative:
            raise Skip("positions are absolute")
        moved = self.positions + MOVED
        measured = self.near(
            self.read(self.tokens, **self.arguments(self.full, positions=moved)), self.whole
        )
        if self.one_step is None or not self.given_positions(moved) or measured[0] > measured[1]:
            return measured
        return self.near(self.walk(self.tokens, CHUNKS, positions=moved), self.whole, "in chunks, ")

    def resembles(self, law: str) -> str | None:
        """Return None: the laws name the causes."""
        return None
