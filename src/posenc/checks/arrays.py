"""Arrays of numpy, torch and other libraries, and the unit roundoff of their number types."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posenc.checks.laws import Broken, Raised, user
from posenc.conventions import UNIT, Floats

UNITS = {"float64": 2.0**-53, "float32": UNIT, "float16": 2.0**-11, "bfloat16": 2.0**-8}
UNITS["TF32"] = UNITS["float16"]


class Library:
    """The array library that the code under test takes: numpy, torch, or jax.numpy and the like."""

    def __init__(self, namespace: Any) -> None:
        space = importlib.import_module(namespace) if isinstance(namespace, str) else namespace
        if not isinstance(space, ModuleType) or not hasattr(space, "asarray"):
            raise TypeError(f"library must be a module with asarray, or its name, got {space!r}")
        self.namespace: Any = space
        self.name: str = space.__name__.partition(".")[0]

    def array(self, x: Any, dtype: str) -> Any:
        """Make an array with the values of x, in the named dtype."""
        half = dtype == "bfloat16"  # which numpy doesn't have
        made = self.namespace.asarray(np.array(x, np.float32 if half else dtype, order="C"))
        if not half:
            return made
        return (made.to if self.name == "torch" else made.astype)(self.namespace.bfloat16)


def guess_library(call: Callable[[Library], Any]) -> Library:
    """Return torch if the call takes its tensors and returns one; else numpy, if that works.

    Numpy code refuses a tensor that requires a gradient. Tensors go first: code that caches tables
    would otherwise cache numpy's. If the call takes neither, the laws meet the error for tensors.
    """
    spaces = [each for each in (sys.modules.get("torch"), np) if each]
    for space in spaces:
        with contextlib.suppress(Raised):
            return Library(space if hasattr(user(call, Library(space)), "detach") else np)
    return Library(spaces[0])


def name_of(array: Any) -> str:
    """Return the name of the dtype, the same for numpy and torch."""
    return str(getattr(array, "dtype", "")).rpartition(".")[2]


def unit_of(array: Any) -> float:
    """Return the unit roundoff of an array's dtype, but at least float32's."""
    return max(UNITS.get(name_of(array), UNIT), UNIT)


def values(array: Any) -> NDArray[Any]:
    """Convert an array of any library to numpy; bfloat16 becomes float32."""
    half = name_of(array) == "bfloat16"
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
