"""Base classes of the checked subjects: float64 arrays, waves, and the convention they follow."""

from __future__ import annotations

import importlib
import inspect
import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from posenc.checks.conventions import (
    PAIRS,
    UNIT,
    Convention,
    Fit,
    Floats,
    Waves,
    agree,
    alike,
    begin_alike,
    fits,
    fitted,
    same_base,
    still,
)

Measured = tuple[float, float, str]
"""A law's result: the measured error, the bound, and a note."""

ROWS = 257  # in most laws: positions 0 to 256, which bfloat16 still represents exactly

FAR = (300, 513, *(2**n + more for n in (10, 11, 12, 13, 15, 17) for more in (-1, 0, 1)), 999_999)
"""Distant positions, around the usual lengths of tables."""

UNITS = {
    "float64": 2.0**-53,
    "float32": UNIT,
    "float16": 2.0**-11,
    "TF32": 2.0**-11,
    "bfloat16": 2.0**-8,
}

POSITIONS = ("positions", "position_ids", "pos", "position", "input_pos")
"""Usual names of an argument for positions."""


class Skip(Exception):  # noqa: N818
    """A law doesn't apply to this subject; the message says why."""


class Broken(Exception):  # noqa: N818
    """A law is broken in a way that isn't a number.

    The message says how. The cause is an exhibit or a sentence; the default is the law's own
    diagnosis.
    """

    def __init__(self, how: str, exhibit: str | None = None, likely: str | None = None) -> None:
        super().__init__(how)
        self.exhibit, self.likely = exhibit, likely


def values(array: Any) -> NDArray[Any]:
    """Convert an array of any library to numpy; bfloat16 becomes float32."""
    if hasattr(array, "detach"):
        array = array.detach().cpu()
        return np.asarray(array.float() if name_of(array) == "bfloat16" else array)
    if name_of(array) == "bfloat16":
        return np.asarray(array).astype(np.float32)
    if isinstance(array, (np.ndarray, np.generic)) or not hasattr(array, "__dlpack__"):
        return np.asarray(array)
    return np.from_dlpack(array)


class Library:
    """The array library that the code under test takes.

    Parameters
    ----------
    namespace : module
        numpy, torch, or one that follows the array API standard, such as jax.numpy.
    """

    def __init__(self, namespace: Any) -> None:
        self.namespace = namespace
        self.name = str(namespace.__name__).partition(".")[0]

    def has(self, dtype: str) -> bool:
        """Whether it has a dtype of that name."""
        return hasattr(self.namespace, dtype)

    def array(self, x: Any, dtype: str) -> Any:
        """Make an array with the values of x, in the named dtype."""
        if dtype == "bfloat16" and self.name != "torch":
            made = self.namespace.asarray(np.array(x, np.float32, order="C"))
            return made.astype(self.namespace.bfloat16)
        made = np.array(x, np.float32 if dtype == "bfloat16" else dtype, order="C")
        if self.name == "numpy":
            return made
        found = self.namespace.asarray(made)
        return found.to(self.namespace.bfloat16) if dtype == "bfloat16" else found


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


def loaded_torch() -> Any:
    """Return torch if it has been imported, or None."""
    return sys.modules.get("torch")


def floats(array: Any, finite: bool = True) -> Floats:
    """Return the values in float64; NaN and infinity break the law, so they can't pass it."""
    found = values(array)
    if found.dtype.kind != "f":
        how = f"{found.dtype}, which isn't a floating-point type"
        raise Broken(how, likely="numbers were rounded to integers, or were never anything else")
    if finite and not np.isfinite(found).all():
        how = "entries that are not finite"
        raise Broken(how, likely="a division by zero, an overflow, or uninitialized memory")
    return found.astype(np.float64)


def same_type(array: Any, dtype: str) -> None:
    """Raise unless the result has the dtype of its input."""
    if name_of(array) != dtype:
        how = f"{name_of(array)} for {dtype}"
        raise Broken(how, likely="the result isn't cast back to the dtype of the input")


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


class Subject(ABC):
    """A checked subject: its methods `law_…` test the laws."""

    kind = ""
    unit = UNIT
    sources: ClassVar[dict[str, str]] = {}
    """Sources of bounds that override the list of laws."""
    causes: ClassVar[dict[str, str]] = {}
    """Likely causes that override the list of laws."""
    named: frozenset[str] = frozenset()
    """The requested law, if only one was requested."""

    def __init__(self) -> None:
        self.errors: dict[int, float] = {}

    @abstractmethod
    def law_shape(self) -> Measured:
        """Test a plain call."""

    @property
    def convention(self) -> Convention | None:
        """The convention, or None."""
        return None

    @abstractmethod
    def resembles(self, law: str) -> str | None:
        """Return the name of the exhibit that explains a broken law, or None."""


class Turning(Subject):
    """A subject that turns pairs, at some widths, and the convention that it follows."""

    layouts: tuple[str, ...] = ()
    widths: tuple[int, ...] = ()
    base: float | None = None  # requested
    asked: Convention | None = None

    @abstractmethod
    def waves(self, d_model: int, layout: str) -> Waves | None:
        """Return cos + i·sin by row and pair, or None if the layout doesn't fit."""

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
            best = agree(possible, self.base)
            if best is not None:
                found.append(best)
        return min(found, key=lambda one: (one.start > 1, one.frequency), default=None)

    def possible(self, waves: Waves, layout: str, d_model: int) -> list[Fit]:
        """Return the conventions that these waves may follow."""
        return list(fits(waves, layout, self.unit))

    @property
    def convention(self) -> Convention | None:
        """The convention, or None."""
        return self.fit.convention if self.fit else None

    @cached_property
    def layout(self) -> str | None:
        """The layout whose pairs stay on a circle, if there is one."""
        return self.convention.layout if self.convention else next(iter(self.readable), None)

    def doubt(self, positions: Floats, omega: Floats, rows: int) -> Floats:
        """Return the uncertainty that the fit leaves in the angles at some positions.

        A base, step or start that isn't round is known only as precisely as a line through `rows`
        rows: its slope and its start, each with the error that `measure` derives.
        """
        known = self.reference
        if known is None or known is self.asked or not known.measured(self.unit):
            return np.zeros((len(positions), len(omega)))
        return np.outer(np.abs(positions) / rows + 1, fitted(omega, rows, self.unit))

    def turning_pairs(self) -> list[int]:
        """Return the number of pairs that turn, at each width."""
        return [waves.shape[1] for waves in self.readable[str(self.layout)]]

    def few(self) -> str | None:
        """Explain, if all widths have too few pairs to tell a base, and suggest wider ones."""
        pairs = self.turning_pairs()
        if max(pairs) >= PAIRS:
            return None
        wider = [d * -(-PAIRS // n) for d, n in zip(self.widths, pairs, strict=True)]
        found = f"{pairs[0]} pair{'s turn' if pairs[0] > 1 else ' turns'} at width {self.widths[0]}"
        return f"{found}; fitting a base takes at least {PAIRS}, as with widths={wider}"

    def law_identity(self) -> Measured:
        """Test where the angles of all pairs begin."""
        if self.fit is None:
            raise Skip("no known convention fits")
        return self.fit.start, 1.0, "in units of the bound"

    def law_frequencies(self) -> Measured:
        """Test whether the frequencies follow a rule, and the requested one."""
        if self.layout is None:
            raise Broken("no pair of columns stays on a circle")
        if self.fit is None:
            if few := self.few():
                raise Skip(few)
            if all(still(waves) for waves in self.readable[self.layout]):
                alike = None if self.kind == "module" else "all rows are equal"
                raise Broken("no pair turns", likely=alike)
            raise Broken("no known base and exponent fit all widths")
        found = self.fit.convention.base
        if self.base is not None and not same_base(found, self.base):
            how = f"base {found:.10g}, but {self.base:.10g} was requested"
            raise Broken(how, "lost setting")
        return self.fit.frequency, 1.0, "in units of the bound"

    def law_convention(self) -> Measured:
        """Test whether the convention is the requested one."""
        if self.asked is None:
            raise Skip("none was requested")
        found = self.convention
        if found is None:
            raise Broken("none known")
        same = alike(found, self.asked) and begin_alike(found, self.asked)
        if not same or self.turning_pairs() != [self.asked.pairs(d) for d in self.widths]:
            raise Broken(f"{found}, but {self.asked} was requested")
        return 0.0, 0.0, ""

    @cached_property
    def reference(self) -> Convention | None:
        """The convention to compare with, using the requested numbers where they match."""
        found, asked = self.convention, self.asked
        if found and asked and alike(found, asked) and begin_alike(found, asked):
            return asked
        if found is None or self.base is None or not same_base(found.base, self.base):
            return found
        return replace(found, base=self.base)


def positions_near(limit: int) -> list[int]:
    """Return positions to test below a limit: first, last, random, and near powers of two."""
    near = [*range(16), 255, 256, 257, 300, 301, 1000, 1001]
    powers = [2**n + more for n in range(9, 21) for more in (-1, 0, 1)]
    drawn = np.random.default_rng(0).integers(0, limit, 32).tolist()
    last = [limit - 3, limit - 2, limit - 1]
    return sorted({k for k in near + powers + drawn + last if 0 <= k < limit})


def worst(errors: Floats, bounds: Floats | float) -> tuple[float, float, tuple[int, ...]]:
    """Return the error with the largest ratio to its bound, the bound, and the place."""
    limits = np.broadcast_to(np.asarray(bounds, dtype=np.float64), errors.shape)
    if not errors.size:
        return 0.0, float(np.max(bounds)), ()
    ratio = np.where(np.isnan(errors), np.inf, errors) / np.maximum(limits, 1e-300)
    place = tuple(int(each) for each in np.unravel_index(int(ratio.argmax()), errors.shape))
    return float(errors[place]), float(limits[place]), place


def severe(found: Sequence[Measured]) -> Measured:
    """Return the measurement with the largest ratio to its bound; NaN counts as infinite."""
    errors, bounds, _ = zip(*found, strict=True)
    return found[worst(np.array(errors), np.array(bounds))[2][0]]


def nearest_rows(table: Floats, unit: float) -> Measured:
    """Measure the smallest distance between two rows.

    Identical rows differ by rounding: 2u for each entry of either, so 4u√d in total.
    """
    squares, nearest, pair = (table**2).sum(axis=1), math.inf, (0, 0)
    for row in range(0, len(table), 256):
        part = table[row : row + 256]
        apart = squares[row : row + 256, None] + squares - 2 * part @ table.T
        apart[np.arange(len(part)), np.arange(row, row + len(part))] = math.inf
        one, two = (int(each) for each in np.unravel_index(int(apart.argmin()), apart.shape))
        distance = float(np.linalg.norm(part[one] - table[two]))
        if distance < nearest:
            nearest, pair = distance, (min(row + one, two), max(row + one, two))
    limit = 4 * unit * math.sqrt(table.shape[1])
    if nearest <= limit:
        raise Broken(f"rows {pair[0]} and {pair[1]} are {nearest:.1e} apart")
    note = f"nearest of {len(table)}: rows {pair[0]} and {pair[1]}, {nearest:.2g} apart"
    return limit / nearest, 1.0, note


def take(names: Sequence[str], allowed: Sequence[str]) -> str | None:
    """Return the first allowed name in `names`, or None."""
    return next((name for name in allowed if name in names), None)


def kind_of(subject: Any) -> str:
    """Guess what a subject is: "table", "module", "rotary" or "bias".

    A torch module, or its class, is a "module". Functions differ in their arguments: a single one
    means "bias", a second one with a name for positions means "rotary", and anything else is a
    "table".
    """
    torch = loaded_torch()
    if torch is not None:
        module = torch.nn.Module
        if isinstance(subject, module) or (
            isinstance(subject, type) and issubclass(subject, module)
        ):
            return "module"
    try:
        parameters = inspect.signature(subject).parameters.values()
    except ValueError:  # of a builtin
        return "table"
    given = [
        each
        for each in parameters
        if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
    ]
    if len(given) == 1:
        return "bias"
    return "rotary" if len(given) > 1 and given[1].name in POSITIONS else "table"
