"""Calls of the code under test, its results as float64 arrays, and the pairs that turn in them."""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posenc.checks import conventions as conv
from posenc.checks.conventions import PAIRS, UNIT, Convention, Fit, Floats, Waves

Measured = tuple[float, float, str]
"""A law's result: the measured error, the bound, and a note."""

UNITS = {"float64": 2.0**-53, "float32": UNIT, "float16": 2.0**-11, "bfloat16": 2.0**-8}
UNITS["TF32"] = UNITS["float16"]
POSITIONS = ("positions", "position_ids", "pos", "position", "input_pos")
"""Usual names of an argument for positions."""
ROWS = 257  # in most laws: positions 0 to 256, which bfloat16 still represents exactly

_READ = ("norm", "shift", "offset", "identity", "frequencies", "convention", "float32", "far")
TAGS: dict[str, dict[str, str]] = {
    "learned": dict.fromkeys(_READ, "it follows no formula")
    | dict.fromkeys(("mirror", "penalty"), "it may treat each distance differently"),
    "causal": {"mirror": "a causal mask hides the other side"},
    "ring cache": dict.fromkeys(
        ("far", "unique", "steps", "chunks", "ragged"), "a ring cache forgets, and begins again"
    ),
    "made on meta": {},  # so that the law `meta` is asked
}
"""What a subject can be declared as, and the laws that aren't asked of it then, with reasons."""
SINUSOIDAL = (*_READ[:5], "float32", "start", "steps")  # not asked of another kind of table


class Skip(Exception):  # noqa: N818
    """A law doesn't apply to this probe; the message says why."""


class Broken(Exception):  # noqa: N818
    """A law is broken in a way that isn't a number; the cause is what signs find, by default."""

    def __init__(self, how: str, cause: str | None = None) -> None:
        super().__init__(how)
        self.cause = cause


class WrongShape(Broken):
    """A result has another shape than its input."""


class Raised(Exception):  # noqa: N818
    """The code under test raised an exception; `traceback` begins at that code."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(describe(error))
        inside = error.__traceback__ and error.__traceback__.tb_next
        self.traceback: str = "".join(traceback.format_exception(type(error), error, inside))


def describe(error: BaseException) -> str:
    """Describe an exception in one line."""
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0][:160]}"


def user(call: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """Call code that isn't ours: an exception of its own is `Raised`."""
    try:
        return call(*given, **named)
    except (Broken, Raised):
        raise
    except Exception as error:
        raise Raised(error) from error


# Arrays


def values(array: Any) -> NDArray[Any]:
    """Convert an array of any library to numpy; bfloat16 becomes float32."""
    if hasattr(array, "detach"):
        array = array.detach().cpu()
        array = array.float() if name_of(array) == "bfloat16" else array
    elif name_of(array) == "bfloat16":
        return np.asarray(array).astype(np.float32)
    if isinstance(array, (np.ndarray, np.generic)) or not hasattr(array, "__dlpack__"):
        return np.asarray(array)
    return np.from_dlpack(array)


class Library:
    """The array library that the code under test takes: numpy, torch, or jax.numpy and the like."""

    def __init__(self, namespace: Any) -> None:
        self.namespace = namespace
        self.name: str = str(namespace.__name__).partition(".")[0]

    def array(self, x: Any, dtype: str) -> Any:
        """Make an array with the values of x, in the named dtype."""
        half = dtype == "bfloat16"  # which numpy doesn't have
        made = self.namespace.asarray(np.array(x, np.float32 if half else dtype, order="C"))
        if not half:
            return made
        return (made.to if self.name == "torch" else made.astype)(self.namespace.bfloat16)


def library_of(namespace: Any) -> Library:
    """Return the library for a module or its name, or raise a TypeError or a ValueError."""
    if isinstance(namespace, str):
        namespace = importlib.import_module(namespace)
    if not isinstance(namespace, ModuleType):
        raise TypeError(f"library must be a module or its name, got {namespace!r}")
    if not hasattr(namespace, "asarray"):
        raise ValueError(f"library must have asarray, as the array API requires, got {namespace!r}")
    return Library(namespace)


def guess_library(call: Callable[[Library], Any]) -> Library:
    """Return torch if the call takes its tensors and returns one; else numpy, if that works.

    A tensor that requires a gradient can't become a numpy array, so numpy code refuses it. Tensors
    go first: code that caches tables would otherwise cache numpy's.
    """
    if (torch := loaded_torch()) is None:
        return Library(np)
    try:
        return Library(torch if hasattr(user(call, Library(torch)), "detach") else np)
    except Raised:
        try:
            user(call, Library(np))
        except Raised:  # it takes neither: let the laws meet the error for tensors
            return Library(torch)
        return Library(np)


def loaded_torch() -> Any:
    """Return torch if it has been imported, or None."""
    return sys.modules.get("torch")


def floats(array: Any, finite: bool = True) -> Floats:
    """Return the values in float64; NaN and infinity break the law, so they can't pass it."""
    found = values(array)
    if found.dtype.kind != "f":
        how = f"{found.dtype}, which isn't a floating-point type"
        raise Broken(how, "numbers were rounded to integers, or were never anything else")
    if finite and not np.isfinite(found).all():
        cause = "a division by zero, an overflow, or uninitialized memory"
        raise Broken("entries that are not finite", cause)
    return found.astype(np.float64)


def same_type(array: Any, dtype: str) -> None:
    """Raise unless the result has the dtype of its input."""
    if name_of(array) != dtype:
        cause = "the result isn't cast back to the dtype of the input"
        raise Broken(f"{name_of(array)} for {dtype}", cause)


def same_shape(one: Floats, two: Floats) -> None:
    """Raise unless both have the same shape."""
    if one.shape != two.shape:
        raise Broken(f"shapes {one.shape} and {two.shape}")


def name_of(array: Any) -> str:
    """Return the name of the dtype, the same for numpy and torch."""
    return str(getattr(array, "dtype", "")).rpartition(".")[2]


def unit_of(array: Any) -> float:
    """Return the unit roundoff of an array's dtype, but at least float32's."""
    return max(UNITS.get(name_of(array), UNIT), UNIT)


def worst(errors: Floats, bounds: Floats | float) -> tuple[float, float, tuple[int, ...]]:
    """Return the error with the largest ratio to its bound, the bound, and the place."""
    limits = np.broadcast_to(np.asarray(bounds, dtype=np.float64), errors.shape)
    if not errors.size:
        return 0.0, float(np.max(bounds, initial=0.0)), ()
    ratio = np.where(np.isnan(errors), np.inf, errors) / np.maximum(limits, 1e-300)
    place = tuple(int(each) for each in np.unravel_index(int(ratio.argmax()), errors.shape))
    return float(errors[place]), float(limits[place]), place


def compared(off: Any, bounds: Any, note: str = "", *names: Sequence[Any]) -> Measured:
    """Return the difference that is largest in units of its bound, the bound, and a note.

    The note may have a "{}" for the place on each axis: its name, or its number beyond the names.
    """
    error, bound, place = worst(np.abs(off), bounds)
    named = [name[k] for name, k in zip(names, place, strict=False)]
    return error, bound, note.format(*named, *place[len(names) :]) if place else ""


def largest(found: Sequence[Measured]) -> Measured:
    """Return the measurement with the largest ratio to its bound; NaN counts as infinite."""
    errors, bounds, _ = zip(*found, strict=True)
    return found[worst(np.array(errors), np.array(bounds))[2][0]]


def positions_near(limit: int) -> list[int]:
    """Return positions to test below a limit: first, last, random, and near powers of two."""
    near = [*range(16), 255, 256, 257, 300, 301, 1000, 1001, *range(limit - 3, limit)]
    near += [2**n + more for n in range(9, 21) for more in (-1, 0, 1)]
    near += np.random.default_rng(0).integers(0, limit, 32).tolist()
    return sorted({k for k in near if 0 <= k < limit})


def take(names: Sequence[str], allowed: Sequence[str]) -> str | None:
    """Return the first allowed name in `names`, or None."""
    return next((name for name in allowed if name in names), None)


# Probes


class Probe:
    """A subject behind calls of one form; its kind says which laws apply."""

    kind = other_kind = ""  # the other: what it is, if no sinusoids
    unit: float = UNIT
    tags: frozenset[str] = frozenset()
    convention: Convention | None = None

    def __init__(self) -> None:
        self.errors: dict[int, float] = {}  # by position

    def excused(self, law: str) -> str:
        """Return the reason for which this law isn't asked, or ""."""
        tags = [f"{tag}: {TAGS[tag][law]}" for tag in sorted(self.tags) if law in TAGS[tag]]
        other = f"another kind: {self.other_kind}" if law in SINUSOIDAL and self.other_kind else ""
        return (tags or [other])[0]


class Turning(Probe):
    """A probe whose pairs turn, at some widths: a table, a layer or a rotation.

    The three kinds differ in how they are called; the laws on calls and on measured pairs are the
    same. `raw` calls the code with arrays of its library, or `via` in its place; `give` and
    `places` make these arrays. `meant` is what a call should give, from a call for the whole
    sequence; `allowed` is the bound of each entry; `entries` has all that is known of some
    positions, shape (positions, any); `waves` has cos + i·sin by row and pair, or is None if a
    layout doesn't fit.
    """

    layouts: tuple[str, ...] = ()
    widths: tuple[int, ...] = ()
    omega: Floats | None = None  # requested frequencies
    attention_factor: float = 1.0
    down = False  # whether positions decrease from row to row
    free = True  # whether a call takes any positions, or only 0, 1, 2, …
    rows: int
    raw: Callable[..., Any]
    give: Callable[..., Any]
    places: Callable[..., Any]
    meant: Callable[..., Floats]
    allowed: Callable[..., Floats]
    entries: Callable[..., Floats]
    waves: Callable[..., Waves | None]

    base: float | None
    asked: Convention | None
    length: int
    longest: int

    def __init__(self, widths: Sequence[int], **options: Any) -> None:
        super().__init__()
        self.candidate_widths: tuple[int, ...] = tuple(widths)
        vars(self).update(options)

    def draw(self, lead: tuple[int, ...], seq_len: int) -> Any:
        """Draw input with these sizes before (seq_len, width)."""
        drawn = np.random.default_rng(0).normal(size=(*lead, seq_len, self.widths[0]))
        return drawn.astype(np.float32).astype(np.float64)

    def call(self, x: Any, positions: Any, dtype: str = "float32", via: Any = None) -> Floats:
        """Call the code and return float64 values."""
        made = self.raw(self.give(x, dtype), self.places(positions), via)
        out = floats(made, finite=bool(np.isfinite(x).all()))
        if out.shape != np.shape(x):
            raise WrongShape(f"shape {out.shape} for {np.shape(x)}")
        return out

    def takes(self, call: Any) -> bool:
        """Whether a call raises nothing; what is wrong with its result, a law will report."""
        try:
            call()
        except (Raised, Broken) as error:
            return isinstance(error, Broken)
        return True

    def near(self, found: Floats, meant: Floats, x: Any, positions: Sequence[int]) -> Measured:
        """Compare the result of a call with what it should be."""
        same_shape(found, meant)
        lead = [range(n) for n in found.shape[:-2]]
        bounds, note = self.allowed(x, meant, positions), f"position {{{len(lead)}}}"
        return compared(found - meant, bounds, note, *lead, positions)

    def compare_entries(
        self, found: Floats, positions: Sequence[int], kind: str, times: int = 1
    ) -> Measured:
        """Compare entries with those of a plain call; each has its own τ, in its own unit."""
        fine = self.entries(positions)
        same_shape(found, fine)
        bounds = self.tau(positions, times * UNITS[kind]) + self.tau(positions)
        return compared(found - fine, bounds, f"{kind}, position {{}}", positions)

    def taus(self, positions: Any, unit: float | None = None) -> Floats:
        """Return τ by position and pair: of the convention's frequencies, or the measured ones."""
        counted = np.asarray(positions, dtype=np.float64)
        last = counted.max(initial=0)
        counted = last - counted if self.down else counted
        omega, first = np.ones(1), np.zeros(1)
        if known := self.convention:
            omega = known.speeds(self.widths[0], int(last) + 1)
            first = known.first * omega
        elif self.layout is not None:
            omega, first = conv.measure(self.readable[self.layout][0])
        angles = np.abs(first) + np.outer(counted, np.abs(omega))
        relative = omega / max(np.abs(omega).max(), 1e-30)
        return conv.rounding(angles, relative, unit or self.unit) * max(self.attention_factor, 1)

    def tau(self, positions: Any, unit: float = UNIT) -> Floats:
        """Return τ of the fastest pair at each position, shape (positions, 1)."""
        return np.asarray(self.taus(positions, unit).max(axis=-1, keepdims=True))

    def exact_taus(self, positions: Sequence[int]) -> Floats:
        """Return the bounds for a comparison with exact values.

        A base, step or start that isn't round is known only as precisely as a line through the
        rows: its slope and its start, each with the error that `measure` derives, add to τ.
        """
        known, allowed = self.reference, self.taus(positions)
        round_ones = known is None or known is self.asked or not known.measured(self.unit)
        if round_ones or self.omega is not None:
            return allowed
        part = np.abs(positions) / np.float64(self.rows) + 1
        return allowed + np.outer(part, 4 * self.taus([self.rows]))

    @cached_property
    def readable(self) -> dict[str, list[Waves]]:
        """Waves at all widths, under each layout that fits all of them."""
        found = {}
        for layout in self.layouts:
            each = [self.waves(d_model, layout) for d_model in self.widths]
            sure = [waves for waves in each if waves is not None]
            if len(sure) == len(each):
                found[layout] = sure
        return found

    @cached_property
    def fit(self) -> Fit | None:
        """The convention and how well it fits, or None."""
        found = []
        for layout, waves in self.readable.items():
            all_widths = list(zip(self.widths, waves, strict=True))
            enough = [(d, each) for d, each in all_widths if each.shape[1] >= PAIRS]
            possible = [self.possible(each, layout, d) for d, each in enough or all_widths]
            best = conv.agree(possible, self.base)
            found += [] if best is None else [best]
        return min(found, key=lambda one: (one.start > 1, one.frequency), default=None)

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

    @cached_property
    def reference(self) -> Convention | None:
        """The convention to compare with, using the requested numbers where they match."""
        found, asked = self.convention, self.asked
        if found and asked and conv.alike(found, asked) and conv.begin_alike(found, asked):
            return asked
        same = found and self.base is not None and conv.same_base(found.base, self.base)
        return replace(found, base=self.base) if found and same and self.base else found
