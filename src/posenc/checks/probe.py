"""A subject of the checks behind calls of one form, and the pairs that turn in its results."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posenc import conventions as conv
from posenc._validate import check_int, check_real
from posenc.checks.laws import Broken, Measured, Raised, WrongShape, compared, user
from posenc.conventions import PAIRS, UNIT, Convention, Fit, Floats, Waves

POSITIONS = ("positions", "position_ids", "pos", "position", "input_pos")
"""Usual names of an argument for positions."""
ROWS = 257  # in most laws: positions 0 to 256, which bfloat16 still represents exactly
LENGTHS = (
    2**17,
    2**15,
    2**13,
    5000,
    2**12,
    2**11,
    2**10,
    512,
    ROWS,
    128,
    64,
    32,
    16,
    8,
)

UNITS = {"float64": 2.0**-53, "float32": UNIT, "float16": 2.0**-11, "bfloat16": 2.0**-8}
UNITS["TF32"] = UNITS["float16"]

_READ = (
    "norm",
    "shift",
    "offset",
    "identity",
    "frequencies",
    "convention",
    "float32",
    "far",
)
_RING = ("far", "unique", "steps", "chunks", "ragged")
TAGS: dict[str, dict[str, str]] = {
    "learned": dict.fromkeys(_READ, "it follows no formula")
    | dict.fromkeys(("mirror", "penalty"), "it may treat each distance differently"),
    "causal": {"mirror": "a causal mask hides the other side"},
    "ring cache": dict.fromkeys(_RING, "a ring cache forgets, and begins again"),
    "made on meta": {},  # so that the law `meta` is asked
}
"""What a subject can be declared as, and the laws that aren't asked of it then, with reasons."""
OF_TORCH = ("gradient", "state", "meta", "device", "compile", "cast", "reduced")
SINUSOIDAL = (
    *_READ[:5],
    "float32",
    "start",
    "steps",
    "odd",
)  # not asked of another kind of table


def positions_near(limit: int) -> list[int]:
    """Return positions to test below a limit: first, last, random, and near powers of two."""
    near = [*range(16), 255, 256, 257, 300, 301, 1000, 1001, *range(limit - 3, limit)]
    near += [2**n + more for n in range(9, 21) for more in (-1, 0, 1)]
    near += np.random.default_rng(0).integers(0, limit, 32).tolist()
    return sorted({k for k in near if 0 <= k < limit})


def argument(call: Callable[..., Any], names: Sequence[str]) -> str | None:
    """Return the first of these names that an argument has, or None."""
    try:
        known = inspect.signature(call).parameters
    except (TypeError, ValueError):  # of a builtin
        return None
    return next((name for name in names if name in known), None)


class Library:
    """The array library that the code under test takes: numpy, torch, or jax.numpy and the like."""

    def __init__(self, namespace: Any) -> None:
        space = (
            importlib.import_module(namespace)
            if isinstance(namespace, str)
            else namespace
        )
        if not isinstance(space, ModuleType) or not hasattr(space, "asarray"):
            raise TypeError(
                f"library must be a module with asarray, or its name, got {space!r}"
            )
        self.namespace: Any = space
        self.name: str = space.__name__.partition(".")[0]

    @classmethod
    def of(cls, named: Any, call: Callable[[Library], Any]) -> Library:
        """Return the named library; or torch if a call takes and returns its tensors; or numpy.

        Numpy code refuses a tensor that requires a gradient. Tensors go first: code that caches
        tables would otherwise cache numpy's. Laws meet the error of code that takes neither.
        """
        if named is not None:
            return cls(named)
        spaces = [each for each in (sys.modules.get("torch"), np) if each]
        for space in spaces:
            with contextlib.suppress(Raised):
                return cls(space if hasattr(user(call, cls(space)), "detach") else np)
        return cls(spaces[0])

    def array(self, x: Any, dtype: str = "float32") -> Any:
        """Make an array with the values of x, in the named dtype."""
        half = dtype == "bfloat16"  # which numpy doesn't have
        made = self.namespace.asarray(
            np.array(x, np.float32 if half else dtype, order="C")
        )
        if not half:
            return made
        return (made.to if self.name == "torch" else made.astype)(
            self.namespace.bfloat16
        )


def type_of(array: Any) -> str:
    """Return the name of the dtype, the same for numpy and torch."""
    return str(getattr(array, "dtype", "")).rpartition(".")[2]


def unit_of(array: Any) -> float:
    """Return the unit roundoff of an array's dtype, but at least float32's."""
    return max(UNITS.get(type_of(array), UNIT), UNIT)


def values(array: Any) -> NDArray[Any]:
    """Convert an array of any library to numpy; bfloat16 becomes float32."""
    half = type_of(array) == "bfloat16"
    if hasattr(array, "detach"):
        return np.asarray((array.float() if half else array).detach().cpu())
    if half:
        return np.asarray(array).astype(np.float32)
    numpy = isinstance(array, np.ndarray) or not hasattr(array, "__dlpack__")
    return np.asarray(array) if numpy else np.from_dlpack(array)


def floats(array: Any, finite: bool = True) -> Floats:
    """Return the values in float64; NaN and infinity break the law, so they can't pass it."""
    found = values(array)
    if found.dtype.kind != "f":
        how = f"{found.dtype}, which isn't a floating-point type"
        raise Broken(
            how, "numbers were rounded to integers, or were never anything else"
        )
    if finite and not np.isfinite(found).all():
        cause = "a division by zero, an overflow, or uninitialized memory"
        raise Broken("entries that are not finite", cause)
    return found.astype(np.float64)


def same_type(array: Any, dtype: str) -> None:
    """Raise unless the result has the dtype of its input."""
    if type_of(array) != dtype:
        cause = "the result isn't cast back to the dtype of the input"
        raise Broken(f"{type_of(array)} for {dtype}", cause)


class Probe:
    """A subject and the options of its check; its kind says which laws apply."""

    kind = other_kind = ""  # the other: what it is, if no sinusoids
    unit: float = UNIT
    convention: Convention | None = None
    library: Library

    def __init__(self, subject: Callable[..., Any], tags: Iterable[str] = ()) -> None:
        self.subject: Callable[..., Any] = subject
        self.tags = {tags} if isinstance(tags, str) else {*tags}
        for tag in self.tags - {*TAGS}:
            raise ValueError(f"tags must be among {', '.join(TAGS)}, got {tag!r}")
        self.errors: dict[int, float] = {}  # by position

    def excused(self, law: str) -> str:
        """Return the reason for which this law isn't asked, or ""."""
        tags = [
            f"{tag}: {TAGS[tag][law]}" for tag in sorted(self.tags) if law in TAGS[tag]
        ]
        other = (
            f"another kind: {self.other_kind}"
            if law in SINUSOIDAL and self.other_kind
            else ""
        )
        if law in OF_TORCH and self.library.name != "torch":
            other = f"{self.library.name} arrays"
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
    omega: Floats | None = None  # requested frequencies
    attention_factor: float = 1.0
    down = False  # whether positions decrease from row to row
    free = True  # whether a call takes any positions, or only 0, 1, 2, …
    raw: Callable[..., Any]
    reaches: Callable[[int], bool]
    allowed: Callable[..., Floats]
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
        found = [
            check_int("widths", each, minimum=6)
            for each in np.atleast_1d(widths).tolist()
        ]
        if not found or any(each % 2 for each in found):
            raise ValueError(f"widths must be even, and at least one, got {widths!r}")
        self.widths: tuple[int, ...] = (*found,)
        asked = (
            conv.KNOWN.get(convention) if isinstance(convention, str) else convention
        )
        if not isinstance(asked, Convention) and convention is not None:
            names = f"a Convention or one of {', '.join(conv.KNOWN)}"
            raise ValueError(f"convention must be {names}, got {convention!r}")
        self.asked: Convention | None = asked
        self.base = None if base is None else check_real("base", base, positive=True)
        self.length: int = check_int("length", length, minimum=2)
        self.longest: int = check_int("longest", longest, minimum=16)

    def draw(self, lead: tuple[int, ...], seq_len: int) -> Any:
        """Draw input with these sizes before (seq_len, width)."""
        drawn = np.random.default_rng(0).normal(size=(*lead, seq_len, self.widths[0]))
        return drawn.astype(np.float32).astype(np.float64)

    def places(self, positions: Any) -> Any:
        """Convert positions to the library."""
        return self.library.array(positions, "int64")

    def call(
        self, x: Any, positions: Any, dtype: str = "float32", via: Any = None
    ) -> Floats:
        """Call the code and return float64 values."""
        made = self.raw(self.library.array(x, dtype), self.places(positions), via)
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
        self,
        found: Floats,
        meant: Floats,
        x: Any,
        positions: Sequence[int],
        unit: float = UNIT,
    ) -> Measured:
        """Compare the result of a call, in a number type of some unit, with what it should be."""
        lead = [range(n) for n in np.shape(x)[:-2]]
        bounds, note = (
            self.allowed(x, meant, positions, unit),
            f"position {{{len(lead)}}}",
        )
        return compared(found, meant, bounds, note, *lead, positions)

    def taus(self, positions: Any, unit: float | None = None) -> Floats:
        """Return τ by position and pair: of the convention's frequencies, or the measured ones."""
        counted = np.asarray(positions, dtype=np.float64)
        last = counted.max(initial=0)
        counted = last - counted if self.down else counted
        omega, first = np.ones(1), np.zeros(1)
        if known := self.convention:
            omega = np.array(
                known.omega(self.widths[0], int(last) + 1), dtype=np.float64
            )
            first = known.first * omega
        elif self.layout is not None:
            omega, first = conv.measure(self.readable[self.layout][0])
        angles = np.abs(first) + np.outer(counted, np.abs(omega))
        relative = omega / max(np.abs(omega).max(), 1e-30)
        return conv.rounding(angles, relative, unit or self.unit) * max(
            self.attention_factor, 1
        )

    @cached_property
    def readable(self) -> dict[str, list[Any]]:
        """Waves at all widths, under each layout that fits all of them."""
        found = {
            name: [self.waves(d, name) for d in self.widths] for name in self.layouts
        }
        return {
            name: each
            for name, each in found.items()
            if all(w is not None for w in each)
        }

    @cached_property
    def fit(self) -> Fit | None:
        """The convention and how well it fits, or None."""
        found = []
        for layout, waves in self.readable.items():
            sizes = [
                (d, w)
                for d, w in zip(self.widths, waves, strict=True)
                if w.shape[1] >= PAIRS
            ]
            possible = [self.possible(each, layout, d) for d, each in sizes]
            found += (
                [best] if sizes and (best := conv.agree(possible, self.base)) else []
            )
        if not found:
            return None
        best, asked = (
            min(found, key=lambda one: (one.start > 1, one.frequency)),
            self.asked,
        )
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
        return (
            self.convention.layout
            if self.convention
            else next(iter(self.readable), None)
        )

    @property
    def measured_omega(self) -> Floats:
        """Measured radians per position of each pair at the first width, without their signs."""
        return np.asarray(np.abs(conv.measure(self.readable[str(self.layout)][0])[0]))
