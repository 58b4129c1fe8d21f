"""Decoders: whole texts, steps, chunks, padding, packing and shifted positions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posenc._validate import check_int
from posenc.checks.laws import Broken, Measured, Skip, compared, law, sign, user
from posenc.checks.probe import POSITIONS, Library, Probe, argument, floats, unit_of
from posenc.conventions import Floats

NAMES: dict[str, tuple[str, ...]] = {
    "positions": POSITIONS,
    "mask": ("mask", "attention_mask", "padding_mask"),
    "segments": ("segments", "segment_ids", "document_ids", "doc_ids"),
}
CHUNKS = (5, 1, 3, 4)  # lengths of the chunks; a last one takes the rest
TEXTS = 5  # a fault may begin at four

Found = Iterator[tuple[Floats, Any, str]]
"""Scores, those that they should equal, and words for the note."""
BOUND = "√u·s, half the digits: summing in another order costs a few u of the scores' spread s"


class Decoder(Probe):
    """Functions `full` and `step` of the same decoder."""

    kind = "decoder"

    def __init__(
        self,
        full: Any,
        step: Any = None,
        vocabulary: int = 8,
        length: int = 24,
        relative: bool = True,
        library: Any = None,
        **options: Any,
    ) -> None:
        super().__init__(full, **options)
        if not (step is None or callable(step)):
            raise TypeError(f"step must be callable, got {step!r}")
        self.step, self.relative = step, relative
        self.length = check_int("length", length, minimum=12)
        most = check_int("vocabulary", vocabulary, minimum=3) - 1
        drawn = np.random.default_rng(0).integers(1, most + 1, (TEXTS, length))
        drawn[:, 1] = 1 + drawn[:, 0] % most  # the first two always differ
        self.tokens: NDArray[np.int_] = drawn
        self.positions: NDArray[np.int_] = np.broadcast_to(
            np.arange(length), drawn.shape
        )

        self.library = Library.of(
            library, lambda tried: full(tried.array(drawn, "int64"))
        )

    def read(
        self,
        tokens: NDArray[Any],
        lengths: Sequence[int] = (),
        needed: str = "",
        **given: Any,
    ) -> Floats:
        """Read texts whole, or in chunks of these lengths with a cache; the last takes the rest.

        The code gets those arguments that it has; the law is skipped if it lacks the needed one.
        """
        call = self.step if lengths else self.subject
        if call is None:
            raise Skip("no step")
        found, cache, mask = [], None, given.get("mask")
        named = {
            name: given[each] for each in given if (name := argument(call, NAMES[each]))
        }
        if needed and not argument(call, NAMES[needed]):
            raise Skip(f"no argument for {needed}")
        for part in filter(
            len, np.split(np.arange(tokens.shape[1]), np.cumsum(lengths))
        ):
            now = {
                name: self.library.array(x[:, part], x.dtype.name)
                for name, x in named.items()
            }
            kept = [cache] if lengths else []
            made = user(
                call, self.library.array(tokens[:, part], "int64"), *kept, **now
            )
            if lengths and not (isinstance(made, (tuple, list)) and len(made) == 2):
                raise Broken(
                    "no pair",
                    "a step returns two things: its scores, and the new cache",
                )
            made, cache = made if lengths else (made, None)
            self.unit, scores = unit_of(made), floats(made, finite=mask is None)
            if scores.ndim != 3 or scores.shape[:2] != tokens[:, part].shape:
                raise Broken(
                    f"shape {scores.shape} for tokens of shape {tokens[:, part].shape}"
                )
            found.append(scores)
        scores = np.concatenate(found, axis=1)
        return scores if mask is None else np.where(mask[..., None], scores, 0)

    @cached_property
    def whole(self) -> Floats:
        """Scores of the texts, each read alone, in one call."""
        return np.concatenate([self.read(row[None]) for row in self.tokens])

    @property
    def bound(self) -> float:
        """Half of the digits, relative to the spread of the scores."""
        return math.sqrt(self.unit) * float(np.ptp(self.whole, axis=2).max())

    @cached_property
    def padded(self) -> tuple[NDArray[Any], Floats, dict[str, NDArray[Any]]]:
        """The texts, cut to several lengths and left-padded; their scores, mask and positions."""
        tokens, meant = np.zeros_like(self.tokens), np.zeros_like(self.whole)
        for row, cut in enumerate((0, 3, self.length // 2, 1, 4)):
            tokens[row, cut:] = self.tokens[row, : self.length - cut]
            meant[row, cut:] = self.whole[row, : self.length - cut]
        mask = tokens > 0
        return (
            tokens,
            meant,
            {"mask": mask, "positions": np.maximum(mask.cumsum(axis=1) - 1, 0)},
        )


def same(after: str, likely: str) -> Callable[[Callable[[Decoder], Found]], Any]:
    """Register a law: scores that a function yields equal others, to half of the digits."""

    def register(pairs: Callable[[Decoder], Found]) -> Any:
        def test(probe: Decoder) -> Iterator[Measured]:
            for one, two, what in pairs(probe):
                off = np.abs(one - two).max(axis=2)
                wrong = np.flatnonzero((off > probe.bound).any(axis=0))
                first = f"from token {wrong[0]} on" if len(wrong) else "token {1}"
                yield compared(off, 0, probe.bound, f"{what}{first}, text {{0}}")

        test.__doc__ = f"{pairs.__doc__}\n\nBound: {BOUND}. Likely: {likely}."
        law(pairs.__name__, "decoder", after)(test)
        return pairs

    return register


@same("", "sequences in a batch share state: an offset, or a cache")
def batch(probe: Decoder) -> Found:
    """Each text in a batch gets the same scores as alone."""
    yield probe.read(probe.tokens), probe.whole, ""


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
    return (
        probe.bound / float(apart),
        1.0,
        "the bound, relative to the change by a swap",
    )


@same("batch", "the causal mask is missing, or off by one")
def causal(probe: Decoder) -> Found:
    """A later token changes no earlier score."""
    tokens = probe.tokens.copy()
    tokens[:, -1] = 1 + tokens[:, -1] % (tokens.max() - 1)
    yield probe.read(tokens)[:, :-1], probe.whole[:, :-1], ""


FROM_0 = "positions are counted from 0 in each call"


@same("causal", FROM_0)
def steps(probe: Decoder) -> Found:
    """One token at a time gives the same scores as the whole text."""
    loop, where = [1] * probe.length, probe.positions
    rows = [probe.read(row[None], loop, positions=where[:1]) for row in probe.tokens]
    yield np.concatenate(rows), probe.whole, ""
    yield probe.read(probe.tokens, loop, positions=where), probe.whole, "in a batch, "


@sign("decoder", "steps")
def why_steps(probe: Decoder) -> str | None:
    """Look at the first token at which a loop differs; try the second at wrong positions."""
    loop, whole, _ = next(steps(probe))
    wrong = np.flatnonzero((np.abs(loop - whole).max(axis=2) > probe.bound).any(axis=0))
    if len(wrong) and wrong[0] > 1:
        return (
            f"the cache is truncated, or positions wrap or are clamped, at {wrong[0]}"
        )
    unequal = "a step differs from the whole: another scale, layout or mask"
    ignored = f"{FROM_0}: the offset of the cache is ignored"
    for place, cause in ((0, ignored), (2, "positions are off by one (+1) in a step")):
        try:
            where = np.array([[0, place]])
            found = probe.read(probe.tokens[:1, :2], (), "positions", positions=where)
        except Skip:
            return f"{ignored}; or off by one; or {unequal}"
        if np.abs(found[0, 1] - loop[0, 1]).max() <= probe.bound:
            return cause
    return unequal


@same(
    "steps",
    "in a chunk, the mask or the positions aren't shifted by the length of the cache",
)
def chunks(probe: Decoder) -> Found:
    """A text read in chunks with a cache gives the same scores as whole."""
    yield probe.read(probe.tokens, CHUNKS, positions=probe.positions), probe.whole, ""


@same(
    "batch",
    "padding is attended to, or counted as a position where positions are absolute",
)
def padded(probe: Decoder) -> Found:
    """In a left-padded batch, each text gives the same scores as alone."""
    tokens, meant, given = probe.padded
    yield probe.read(tokens, (), "mask", **given), meant, ""


@same(
    "steps chunks padded",
    "all rows share one offset, or the padding in the cache is attended to",
)
def ragged(probe: Decoder) -> Found:
    """Left-padded texts of several lengths continue from a cache as they do alone."""
    if probe.step is None:
        raise Skip("no step")
    late, (tokens, meant, given) = probe.length - 4, probe.padded
    made = probe.read(tokens, [late, 1, 1, 1], "mask", **given)
    yield made[:, late:], meant[:, late:], "after the prompt, "


@same(
    "batch",
    "a text attends to the one before it, or its positions continue from that one",
)
def packed(probe: Decoder) -> Found:
    """Texts packed into one row give the same scores as alone."""
    cut = probe.length // 2 - 1
    late, given = (probe.positions >= cut).astype(np.int64), (probe.tokens, probe.whole)
    both = [
        np.hstack([each[:, :cut], each[::-1, : probe.length - cut]]) for each in given
    ]
    where = probe.positions - cut * late
    yield (
        probe.read(both[0], (), "segments", segments=late, positions=where),
        both[1],
        "",
    )


@same(
    "batch ragged",
    "queries, keys and values count from different positions; if a norm with weights follows the "
    "rotation, or positions are absolute, that is right: pass relative=False",
)
def moved(probe: Decoder) -> Found:
    """A text shifted by 100 positions gives the same scores."""
    if not probe.relative:
        raise Skip("positions are absolute")
    later = probe.positions + 100
    yield probe.read(probe.tokens, (), "positions", positions=later), probe.whole, ""
    if probe.step and argument(probe.step, POSITIONS):
        yield (
            probe.read(probe.tokens, CHUNKS, positions=later),
            probe.whole,
            "in chunks, ",
        )


@same("", "state is kept from an earlier text: an offset, or a cache that isn't new")
def repeat(probe: Decoder) -> Found:
    """A second call gives the same scores."""
    yield (
        np.concatenate([probe.read(row[None]) for row in probe.tokens]),
        probe.whole,
        "",
    )
    if probe.step is not None:
        first, _, second = (
            probe.read(probe.tokens[[row]], [probe.length]) for row in (0, 1, 0)
        )
        yield second, first, "a new cache, "
