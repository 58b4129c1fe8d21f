"""What is checked, behind one face: float64 arrays, waves, and a convention read off them."""

from __future__ import annotations

import inspect
import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posenc.checks.conventions import UNIT, Convention, Fit, Floats, Waves, agree, fits

UNITS = {"float64": 2.0**-53, "float32": UNIT, "float16": 2.0**-11, "bfloat16": 2.0**-8}

POSITIONS = ("positions", "position_ids", "pos", "position", "input_pos")
"""Names that an argument for positions may have."""


class Skip(Exception):  # noqa: N818
    """A law says nothing about this subject; the text says why."""


class Broken(Exception):  # noqa: N818
    """A law is broken in a way that no number says; the text says how, the exhibit like what."""

    def __init__(self, how: str, exhibit: str | None = None) -> None:
        super().__init__(how)
        self.exhibit = exhibit


def values(array: Any) -> NDArray[Any]:
    """Return a numpy array of a numpy, torch or other array; bfloat16 becomes float32."""
    if hasattr(array, "detach"):
        array = array.detach().cpu()
        return np.asarray(array.float() if name_of(array) == "bfloat16" else array)
    return np.asarray(array)


def floats(array: Any) -> Floats:
    """Return the values in float64."""
    found = values(array)
    if found.dtype.kind != "f":
        raise Broken(f"{found.dtype}, which is no floating-point type")
    return found.astype(np.float64)


def name_of(array: Any) -> str:
    """Name of the number type, the same for numpy and torch."""
    return str(getattr(array, "dtype", "")).rpartition(".")[2]


def unit_of(array: Any) -> float:
    """Half the distance from 1 to the next number: float32's, or that of a coarser type."""
    return max(UNITS.get(name_of(array), UNIT), UNIT)


class Subject(ABC):
    """What is checked: its methods `law_…` try the laws."""

    kind = ""
    unit = UNIT

    def __init__(self) -> None:
        self.errors: dict[int, float] = {}

    @property
    def convention(self) -> Convention | None:
        """The convention, or None."""
        return None

    @abstractmethod
    def resembles(self, law: str) -> str | None:
        """Name the exhibit that a broken law looks like."""


class Turning(Subject):
    """What turns, at some widths, and the convention that it follows."""

    layouts: tuple[str, ...] = ()
    widths: tuple[int, ...] = ()
    base: float | None = None  # asked for
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
            best = agree([list(fits(each, layout, self.unit)) for each in waves])
            if best is not None:
                found.append(best)
        return min(found, key=lambda one: (one.start > 1, one.frequency), default=None)

    @property
    def convention(self) -> Convention | None:
        """The convention, or None."""
        return self.fit.convention if self.fit else None

    @cached_property
    def layout(self) -> str | None:
        """The layout whose pairs stay on their circles, if there is one."""
        return self.convention.layout if self.convention else next(iter(self.readable), None)

    def law_identity(self) -> tuple[float, float, str]:
        """Where the angles of all pairs begin."""
        if self.fit is None:
            raise Skip("no convention known")
        return self.fit.start, 1.0, "in units of what is allowed"

    def law_frequencies(self) -> tuple[float, float, str]:
        """Whether they follow a rule, and the one that was asked for."""
        if self.layout is None:
            raise Broken("no pair of columns stays on a circle")
        if self.fit is None:
            raise Broken("no base and exponent known that all widths have in common")
        found = self.fit.convention.base
        if self.base is not None and not same_base(found, self.base):
            how = f"base {found:.10g}, where {self.base:.10g} was asked for"
            raise Broken(how, "lost setting")
        return self.fit.frequency, 1.0, "in units of what is allowed"

    def law_convention(self) -> tuple[float, float, str]:
        """Whether it is the one that was asked for."""
        if self.asked is None:
            raise Skip("none was asked for")
        found = self.convention
        if found is None:
            raise Broken("none known")
        base = self.asked.base if same_base(found.base, self.asked.base) else found.base
        if replace(found, base=base) != self.asked:
            raise Broken(f"{found}, where {self.asked} was asked for")
        return 0.0, 0.0, ""

    @cached_property
    def reference(self) -> Convention | None:
        """The convention to compare with: with the base that was asked for, if it's that one."""
        found = self.convention
        if found is None or self.base is None or not same_base(found.base, self.base):
            return found
        return replace(found, base=self.base)


def same_base(one: float, two: float) -> bool:
    """Whether two bases are one, as far as a table in float32 tells."""
    return math.isclose(one, two, rel_tol=1e-4)


def positions_near(limit: int, seed: int = 0) -> list[int]:
    """Positions to look at below a limit: the first ones, powers of two, the last, random ones."""
    near = [*range(16), 255, 256, 257, 300, 301, 1000, 1001]
    powers = [2**n + more for n in range(9, 21) for more in (-1, 0, 1)]
    drawn = np.random.default_rng(seed).integers(0, limit, 32).tolist()
    last = [limit - 3, limit - 2, limit - 1]
    return sorted({k for k in near + powers + drawn + last if 0 <= k < limit})


def worst(errors: Floats, bounds: Floats | float) -> tuple[float, float, tuple[int, ...]]:
    """Return the error nearest to its bound, or farthest beyond it, the bound, and the place."""
    limits = np.broadcast_to(np.asarray(bounds, dtype=np.float64), errors.shape)
    if not errors.size:
        return 0.0, float(np.max(bounds)), ()
    ratio = np.where(np.isnan(errors), np.inf, errors) / np.maximum(limits, 1e-300)
    place = tuple(int(each) for each in np.unravel_index(int(ratio.argmax()), errors.shape))
    return float(errors[place]), float(limits[place]), place


def take(names: Sequence[str], allowed: Sequence[str]) -> str | None:
    """Return the first of the allowed names that is there."""
    return next((name for name in allowed if name in names), None)


def kind_of(subject: Any) -> str:
    """Guess what a subject is, by its class or its arguments."""
    torch = sys.modules.get("torch")
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
