"""Calls of the code under test, and its results as float64 arrays."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posenc.checks.conventions import UNIT, Convention, Floats

Measured = tuple[float, float, str]
"""A law's result: the measured error, the bound, and a note."""

UNITS = {"float64": 2.0**-53, "float32": UNIT, "float16": 2.0**-11, "bfloat16": 2.0**-8}
UNITS["TF32"] = UNITS["float16"]

POSITIONS = ("positions", "position_ids", "pos", "position", "input_pos")
"""Usual names of an argument for positions."""

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
        inside = error.__traceback__.tb_next if error.__traceback__ else None
        self.traceback = "".join(traceback.format_exception(type(error), error, inside))


def describe(error: BaseException) -> str:
    """Describe an exception in one line."""
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0][:160]}"


def user(call: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """Call code that isn't ours: an exception of its own is `Raised`."""
    try:
        return call(*given, **named)
    except (Broken, Raised):
        raise
    except Exception as error:
        raise Raised(error) from error


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
        self.name = str(namespace.__name__).partition(".")[0]

    def has(self, dtype: str) -> bool:
        """Whether it has a dtype of that name."""
        return hasattr(self.namespace, dtype)

    def array(self, x: Any, dtype: str) -> Any:
        """Make an array with the values of x, in the named dtype."""
        half = dtype == "bfloat16"  # which numpy doesn't have
        made = self.namespace.asarray(np.array(x, np.float32 if half else dtype, order="C"))
        if not half:
            return made
        return (made.to if self.name == "torch" else made.astype)(self.namespace.bfloat16)


def library_of(namespace: Any) -> Library:
    """Return the library for a module or its name.

    Raises
    ------
    TypeError, ValueError
        If it isn't a module, or has no ``asarray``.
    """
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
    torch = loaded_torch()
    if torch is None:
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
        how = "entries that are not finite"
        raise Broken(how, "a division by zero, an overflow, or uninitialized memory")
    return found.astype(np.float64)


def same_type(array: Any, dtype: str) -> None:
    """Raise unless the result has the dtype of its input."""
    if name_of(array) != dtype:
        how = f"{name_of(array)} for {dtype}"
        raise Broken(how, "the result isn't cast back to the dtype of the input")


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
    near = [*range(16), 255, 256, 257, 300, 301, 1000, 1001]
    powers = [2**n + more for n in range(9, 21) for more in (-1, 0, 1)]
    near += np.random.default_rng(0).integers(0, limit, 32).tolist()
    return sorted({k for k in (*near, *powers, *range(limit - 3, limit)) if 0 <= k < limit})


def draw_shapes(count: int, largest: Sequence[int]) -> list[tuple[int, ...]]:
    """Draw shapes, each size from 1 to its largest; the largest themselves are the last shape.

    The environment variable POSENC_SEED sets the seed, 0 by default: with another one in a nightly
    run, faults that begin at a size which this draw lacks are found, too.
    """
    generator = np.random.default_rng(int(os.environ.get("POSENC_SEED", "0")))
    drawn = generator.integers(1, np.array(largest) + 1, (count, len(largest))).tolist()
    return [*map(tuple, drawn), tuple(largest)]


def take(names: Sequence[str], allowed: Sequence[str]) -> str | None:
    """Return the first allowed name in `names`, or None."""
    return next((name for name in allowed if name in names), None)


class Probe:
    """A subject behind calls of one form; its kind says which laws apply."""

    kind = other_kind = ""  # the other: what it is, if no sinusoids
    unit = UNIT
    tags: frozenset[str] = frozenset()
    convention: Convention | None = None

    def __init__(self) -> None:
        self.errors: dict[int, float] = {}  # by position

    def excused(self, law: str) -> str:
        """Return the reason for which this law isn't asked, or ""."""
        tags = [f"{tag}: {TAGS[tag][law]}" for tag in sorted(self.tags) if law in TAGS[tag]]
        other = f"another kind: {self.other_kind}" if law in SINUSOIDAL and self.other_kind else ""
        return (tags or [other])[0]
