"""Tables, layers and rotations: called alike, each with the book's to compare it with.

`tables` and `rotations` say how each kind is called; `recognition`, which convention it follows;
`explanation`, why it parts from that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, cached_property
from typing import Any

import numpy as np

from posenc._validate import check_int, check_positions, check_real
from posenc.checks.explanation import explain
from posenc.checks.recognition import candidates, recognized
from posenc.checks.subjects import Subject, floats, type_of
from posenc.checks.trials import SEED, Broken, Follows, Raised, Trial
from posenc.conventions import KNOWN, UNIT, Convention, Floats
from posenc.reference import Reference, reference_for, spread

# What a subject knows of itself is measured when it is first asked for, and kept. Each of these
# may ask for those to its left, never for one to its right:
#
#   call → rows → called(width) → convention → reference(width) → agrees → compare, explain
#
#   call           calls the code. A Rotation's asks for `output` first, which looks at position 0
#                  by Turning.call, since a norm that follows the rotation must be undone.
#   rows           how many positions most laws look at: fewer than 257 if a table ends early.
#   called(width)  x and the result for all of these rows. A Table's calls also raise `unit` to
#                  that of the type they return, so `unit` is read after a call, never before.
#   convention     the declared one, or the one recognized by reference(width, candidate). That
#                  doesn't ask for `convention`, since the candidate is given.
#   agrees         whether the whole sequence follows it; if not, other laws follow from `values`.
#
# What a kind replaces: `raw`, `draw`, `places` (what is called), `call_whole`, `templates`, `waves`
# (what is recognized), `reference`, `carried` (what it is compared with), `reordered`, `about`.

ROWS = 257  # in most laws: positions 0 to 256, which bfloat16 still represents exactly
LENGTHS = (2**15, 2**13, 5000, 4096, 2048, 1024, 512, ROWS, 128, 64, 32, 16, 8, 2)
UNITS = {"float32": UNIT, "float16": 2.0**-11, "bfloat16": 2.0**-8, "TF32": 2.0**-11}
AXES = ("sequence", "head", "position", "dimension")
# What another kind of table isn't asked for.
SINUSOIDAL = (
    *(
        "values",
        "norm",
        "offset",
        "start",
        "steps",
        "batch",
        "token",
        "rows",
        "fractions",
    ),
    *("far", "empty", "odd", "strided", "half", "reduced"),
)


class Turning(Subject):
    """A table, a layer or a rotation, which turns pairs of dimensions from row to row.

    `convention` is what it is compared with: the declared one, or the one that gives nine tenths
    of its entries. If there is none, the law `values` fails, and the others follow.
    """

    free = True  # whether a call takes any positions, or only 0, 1, 2, …
    normed = False  # whether a norm follows, so that x keeps only its direction
    carried = 1.0  # multiplier of x, where rows are added to it
    raw: Any  # calls the code, or a module in its place, with arrays of its library
    templates: Any  # conventions to try, whose numbers may be others
    waves: Any  # cos + i·sin of each pair, by the dimensions of a convention

    def __init__(
        self,
        subject: Any,
        base: float | None = None,
        convention: str | Convention | None = None,
        frequencies: Any = None,
        widths: Sequence[int] | None = None,
        length: int = 2048,
        longest: int = 2**17 + 1,
        **options: Any,
    ) -> None:
        super().__init__(subject, **options)
        self.base = None if base is None else check_real("base", base, positive=True)
        self.declared: Any = KNOWN.get(str(convention), convention)
        if not isinstance(self.declared, Convention | None):
            names = f"a Convention or one of {', '.join(KNOWN)}"
            raise ValueError(f"convention must be {names}, got {convention!r}")
        self.frequencies: Any = frequencies
        if frequencies is not None:
            self.frequencies = check_positions(frequencies, "frequencies", ndim=None)
            widths = widths or [2 * self.frequencies.shape[-1]]
        self.widths = [
            check_int("widths", each, minimum=2) for each in widths or (16, 24)
        ]
        if any(width % 2 for width in self.widths):
            raise ValueError(f"widths must be even, got {widths!r}")
        self.length = check_int("length", length, minimum=2)
        self.longest = check_int("longest", longest, minimum=16)
        self.called: Any = cache(self.call_whole)

    # Calls

    def draw(self, lead: tuple[int, ...], seq_len: int, width: int = 0) -> Floats:
        """Draw x, in numbers that float32 has."""
        # Rounded to float32 once, so that both sides get the very same numbers.
        size = (*lead, seq_len, width or self.widths[0])
        return np.random.default_rng(SEED).normal(size=size).astype("f4").astype("f8")

    def places(self, positions: Any) -> Any:
        """Convert positions to the library."""
        # Tables are indexed by whole numbers; an empty list would become floats.
        whole = np.asarray(positions).dtype.kind in "iu" or not np.size(positions)
        return self.library.array(positions, "int64" if whole else "float32")

    def call(
        self, x: Floats, positions: Any, dtype: str = "float32", module: Any = None
    ) -> Floats:
        """Call the code, or a module in its place; return float64 values, of the shape of x."""
        # x: (..., seq_len, width), positions: (seq_len,) or (batch, seq_len)
        made = self.raw(self.library.array(x, dtype), self.places(positions), module)
        if dtype != "float32" and type_of(made) != dtype:
            cause = "the result isn't cast back to the dtype of the input"
            raise Broken(f"{type_of(made)} for {dtype}", cause)
        out = floats(made, finite=bool(np.isfinite(x).all()))
        if out.shape != x.shape:
            raise Broken(f"shape {out.shape} for {x.shape}")
        return out

    def reaches(self, seq_len: int) -> bool:
        """Whether the code takes that many positions, from 0."""
        # A table has to be built as a whole, a rotation is asked for its last row.
        positions = [seq_len - 1] if self.free else range(seq_len)
        try:
            self.call(self.draw((), len(positions)), positions)
        except Raised:
            return False
        except Broken:  # a law will report it; but a table may end early
            return self.free
        return True

    def at_most(self, seq_len: int) -> int:
        """Return this length, or the longest usual one below it that the code takes."""
        # Layers hold tables of some length, which nobody declares.
        shorter = [length for length in LENGTHS if length < seq_len]
        return next(filter(self.reaches, [seq_len, *shorter]), seq_len)

    @cached_property
    def rows(self) -> int:
        """The number of positions that most laws look at."""
        return self.at_most(ROWS)

    @cached_property
    def limit(self) -> int:
        """The number of positions that the code takes."""
        return self.at_most(self.longest)

    def call_whole(self, width: int) -> tuple[Floats, Floats]:
        """Return drawn x, and the result for all of it."""
        x = self.draw((), self.rows, width)
        return x, self.call(x, range(self.rows))

    # What it is compared with

    @cached_property
    def convention(self) -> Convention | None:  # type: ignore[override]
        """The declared convention, or the first that gives nine tenths of the entries."""
        return self.declared or recognized(self)

    def reference(self, width: int, known: Convention | None = None) -> Reference:
        """Return the book's encoding: of the convention, or with the declared frequencies."""
        known = known or self.convention or next(candidates(self))
        right = replace(reference_for(known, width), carried=self.carried)
        # Coordinates of several axes are equal here, so that their frequencies add up.
        if self.frequencies is None:
            return right
        return replace(right, frequencies=np.atleast_2d(self.frequencies).sum(axis=0))

    @cached_property
    def agrees(self) -> bool:
        """Whether the whole sequence is what the reference gives."""
        return all(trial.worst() <= 1 for trial in self.whole())

    def whole(self) -> Iterator[Trial]:
        """Compare the whole sequence at each width."""
        for width in self.widths:
            x, out = self.called(width)
            yield self.trial(f"width {width}", x, out, np.arange(self.rows), self.unit)

    def compare(
        self,
        x: Floats,
        positions: Any,
        words: str = "",
        dtype: str = "float32",
        **how: Any,
    ) -> Trial:
        """Call the code, and compare it with the book's."""
        # A call can only be compared with what was recognized in the whole sequence.
        if not self.agrees:
            raise Follows("follows from values")
        unit = max(self.unit, how.pop("unit", UNITS[dtype]))
        return self.trial(
            words, x, self.call(x, positions, dtype, **how), positions, unit
        )

    def trial(
        self, words: str, x: Floats, out: Floats, positions: Any, unit: float
    ) -> Trial:
        """Compare a result with the book's."""
        right, where = self.reference(x.shape[-1]), spread(x, np.asarray(positions))
        # (seq_len, width), (batch, seq_len, width) or (batch, heads, seq_len, width)
        names = (AXES[0], *AXES[2:]) if x.ndim == 3 else AXES[4 - x.ndim :]
        return Trial(
            words, out, right(x, where), right.bound(x, where, unit), names, x, where
        )

    # Causes

    def excuse(self, law: str) -> str:
        """Return the reason for which this law isn't asked, or ""."""
        return super().excuse(law) or (self.about if law in SINUSOIDAL else "")

    def explain(self, trials: Sequence[Trial]) -> str:
        """Return what known faults, or other numbers, give all of these trials, or ""."""
        return explain(self, trials)

    def reordered(self) -> str:
        """Say if dimensions are returned in another order than the declared, or ""."""
        return ""
