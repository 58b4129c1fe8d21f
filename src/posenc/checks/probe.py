"""A subject of the checks behind calls of one form, and the pairs that turn in its results."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from posenc import conventions as conv
from posenc._validate import check_base, check_int
from posenc.checks.arrays import Library, floats, same_type
from posenc.checks.laws import Measured, Raised, WrongShape, compared
from posenc.conventions import PAIRS, UNIT, Convention, Fit, Floats, Waves

POSITIONS = ("positions", "position_ids", "pos", "position", "input_pos")
"""Usual names of an argument for positions."""
ROWS = 257  # in most laws: positions 0 to 256, which bfloat16 still represents exactly
LENGTHS = (2**17, 2**15, 2**13, 5000, 2**12, 2**11, 2**10, 512, ROWS, 128, 64, 32, 16, 8)

_READ = ("norm", "shift", "offset", "identity", "frequencies", "convention", "float32", "far")
_RING = ("far", "unique", "steps", "chunks", "ragged")
TAGS: dict[str, dict[str, str]] = {
    "learned": dict.fromkeys(_READ, "it follows no formula")
    | dict.fromkeys(("mirror", "penalty"), "it may treat each distance differently"),
    "causal": {"mirror": "a causal mask hides the other side"},
    "ring cache": dict.fromkeys(_RING, "a ring cache forgets, and begins again"),
    "made on meta": {},  # so that the law `meta` is asked
}
"""What a subject can be declared as, and the laws that aren't asked of it then, with reasons."""
SINUSOIDAL = (*_READ[:5], "float32", "start", "steps", "odd")  # not asked of another kind of table


def positions_near(limit: int) -> list[int]:
    """Return positions to test below a limit: first, last, random, and near powers of two."""
    near = [*range(16), 255, 256, 257, 300, 301, 1000, 1001, *range(limit - 3, limit)]
    near += [2**n + more for n in range(9, 21) for more in (-1, 0, 1)]
    near += np.random.default_rng(0).integers(0, limit, 32).tolist()
    return sorted({k for k in near if 0 <= k < limit})


def take(names: Sequence[str], allowed: Sequence[str]) -> str | None:
    """Return the first allowed name in `names`, or None."""
    return next((name for name in allowed if name in names), None)


class Probe:
    """A subject and the options of its check; its kind says which laws apply."""

    kind = other_kind = ""  # the other: what it is, if no sinusoids
    unit: float = UNIT
    convention: Convention | None = None

    def __init__(self, subject: Callable[..., Any], tags: Iterable[str] = ()) -> None:
        self.subject: Callable[..., Any] = subject
        self.tags = {tags} if isinstance(tags, str) else {*tags}
        for tag in self.tags - {*TAGS}:
            raise ValueError(f"tags must be among {', '.join(TAGS)}, got {tag!r}")
        self.errors: dict[int, float] = {}  # by position

    def excused(self, law: str) -> str:
        """Return the reason for which this law isn't asked, or ""."""
        tags = [f"{tag}: {TAGS[tag][law]}" for tag in sorted(self.tags) if law in TAGS[tag]]
        other = f"another kind: {self.other_kind}" if law in SINUSOIDAL and self.other_kind else ""
        return (tags or [other])[0]


class Turning(Probe):
    """A probe whose pairs turn, at some widths: a table, a layer or a rotation.

    The three kinds differ in how they are called; the laws on calls and on measured pairs are the
    same. `raw` calls the code with arrays of its library, or `via` in its place; `reaches` says
    whether it takes that many positions. `meant` is what a call should give, from a call for the
    whole sequence; `allowed` is the bound of each entry; `halves` are the half types to test, each
    with its dtype for `call` and `via`; `waves` has cos + i·sin by row and pair, or is None if a
    layout doesn't fit.
    """

    layouts: tuple[str, ...] = ()
    library: Library
    omega: Floats | None = None  # requested frequencies
    attention_factor: float = 1.0
    down = False  # whether positions decrease from row to row
    free = True  # whether a call takes any positions, or only 0, 1, 2, …
    raw: Callable[..., Any]
    reaches: Callable[[int], bool]
    meant: Callable[..., Floats]
    allowed: Callable[..., Floats]
    halves: Callable[[], list[tuple[str, str, Any]]]
    waves: Callable[[int, str], Waves | None]

    def __init__(
        self,
        subject: Any,
        base: float | None = None,
        convention: str | Convention | None = None,
        widths: Sequence[int] = (16, 24),
        length: int = 2048,
        longest: int = 1_000_000,
        **options: Any,
    ) -> None:
        super().__init__(subject, **options)
        found = [check_int("widths", each, minimum=6) for each in np.atleast_1d(widths).tolist()]
        if not found or any(each % 2 for each in found):
            raise ValueError(f"widths must be even, and at least one, got {widths!r}")
        self.candidate_widths: tuple[int, ...] = (*found,)
        asked = conv.KNOWN.get(convention) if isinstance(convention, str) else convention
        if not isinstance(asked, Convention) and convention is not None:
            names = f"a Convention or one of {', '.join(conv.KNOWN)}"
            raise ValueError(f"convention must be {names}, got {convention!r}")
        self.asked: Convention | None = asked
        self.base: float | None = None if base is None else check_base(base)
        self.length: int = check_int("length", length, minimum=2)
        self.longest: int = check_int("longest", longest, minimum=16)

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """The widths to test."""
        return self.candidate_widths

    def draw(self, lead: tuple[int, ...], seq_len: int) -> Any:
        """Draw input with these sizes before (seq_len, width)."""
        drawn = np.random.default_rng(0).normal(size=(*lead, seq_len, self.widths[0]))
        return drawn.astype(np.float32).astype(np.float64)

    def give(self, x: Any, dtype: str = "float32") -> Any:
        """Convert x to the library."""
        return self.library.array(x, dtype)

    def places(self, positions: Any) -> Any:
        """Convert positions to the library."""
        return self.library.array(positions, "int64")

    def call(self, x: Any, positions: Any, dtype: str = "float32", via: Any = None) -> Floats:
        """Call the code and return float64 values."""
        made = self.raw(self.give(x, dtype), self.places(positions), via)
        if dtype != "float32":
            same_type(made, dtype)
        out = floats(made, finite=bool(np.isfinite(x).all()))
        if out.shape != np.shape(x):
            raise WrongShape(f"shape {out.shape} for {np.shape(x)}")
        return out

    def at_most(self, seq_len: int) -> int:
        """Return this length, or the longest usual one below it that the code takes."""
        for length in [seq_len, *(n for n in LENGTHS if n < seq_len)]:
            with contextlib.suppress(Raised):
                if self.reaches(length):
                    return length
        return seq_len  # a law will report it

    @cached_property
    def limit(self) -> int:
        """The number of positions that the code takes, from 0."""
        return self.at_most(self.longest)

    @cached_property
    def rows(self) -> int:
        """The number of positions that most laws look at."""
        return self.at_most(ROWS)

    def near(
        self, found: Floats, meant: Floats, x: Any, positions: Sequence[int], unit: float = UNIT
    ) -> Measured:
        """Compare the result of a call, in a number type of some unit, with what it should be."""
        if found.shape != np.shape(x):
            raise WrongShape(f"shape {found.shape} for {np.shape(x)}")
        lead = [range(n) for n in found.shape[:-2]]
        bounds, note = self.allowed(x, meant, positions, unit), f"position {{{len(lead)}}}"
        return compared(found, meant, bounds, note, *lead, positions)

    def taus(self, positions: Any, unit: float | None = None) -> Floats:
        """Return τ by position and pair: of the convention's frequencies, or the measured ones."""
        counted = np.asarray(positions, dtype=np.float64)
        last = counted.max(initial=0)
        counted = last - counted if self.down else counted
        omega, first = np.ones(1), np.zeros(1)
        if known := self.convention:
            omega = np.array(known.omega(self.widths[0], int(last) + 1), dtype=np.float64)
            first = known.first * omega
        elif self.layout is not None:
            omega, first = conv.measure(self.readable[self.layout][0])
        angles = np.abs(first) + np.outer(counted, np.abs(omega))
        relative = omega / max(np.abs(omega).max(), 1e-30)
        return conv.rounding(angles, relative, unit or self.unit) * max(self.attention_factor, 1)

    def tau(self, positions: Any, unit: float = UNIT) -> Floats:
        """Return τ of the fastest pair at each position, shape (positions, 1)."""
        return np.asarray(self.taus(positions, unit).max(axis=-1, keepdims=True))

    @cached_property
    def readable(self) -> dict[str, list[Any]]:
        """Waves at all widths, under each layout that fits all of them."""
        found = {name: [self.waves(d, name) for d in self.widths] for name in self.layouts}
        return {name: each for name, each in found.items() if all(w is not None for w in each)}

    @cached_property
    def fit(self) -> Fit | None:
        """The convention and how well it fits, or None."""
        found = []
        for layout, waves in self.readable.items():
            sizes = [(d, w) for d, w in zip(self.widths, waves, strict=True) if w.shape[1] >= PAIRS]
            possible = [self.possible(each, layout, d) for d, each in sizes]
            found += [best] if sizes and (best := conv.agree(possible, self.base)) else []
        if not found:
            return None
        best, asked = min(found, key=lambda one: (one.start > 1, one.frequency)), self.asked
        known = best.convention  # the requested numbers are exact, where they match
        if asked and conv.alike(known, asked):
            known = replace(asked, share=known.share)
        elif self.base is not None and conv.same_base(known.base, self.base):
            known = replace(known, base=self.base)
        return best._replace(convention=known)

    def possible(self, waves: Waves, layout: str, d_model: int) -> list[Fit]:
        """Return the conventions that these waves may follow."""
        return list(conv.fits(waves, layout, self.unit))

    @property
    def convention(self) -> Convention | None:  # type: ignore[override]
        """The convention, or None."""
        return self.fit.convention if self.fit else None

    @cached_property
    def layout(self) -> str | None:
        """The layout whose pairs stay on a circle, if there is one."""
        return self.convention.layout if self.convention else next(iter(self.readable), None)

    @property
    def measured_omega(self) -> Floats:
        """Measured radians per position of each pair at the first width, without their signs."""
        return np.asarray(np.abs(conv.measure(self.readable[str(self.layout)][0])[0]))
