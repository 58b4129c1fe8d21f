"""Argument validation. Each error names the argument, its value and the rule."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


def check_int(name: str, value: Any, *, minimum: int | None = None) -> int:
    """Return `value` as an int if it is a whole number and not a bool."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name} must be an int, got {value!r}")
    if minimum is not None and value < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {value!r}")
    return int(value)


def check_real(name: str, value: Any) -> float:
    """Return `value` as a float if it is a finite real number and not a bool."""
    if isinstance(value, bool) or not isinstance(value, (float, int, np.integer, np.floating)):
        raise TypeError(f"{name} must be a real number, got {value!r}")
    if not -math.inf < value < math.inf:  # torch.compile can trace this; NaN fails it
        raise ValueError(f"{name} must be finite, got {value!r}")
    return float(value)


def check_d_model(d_model: Any) -> int:
    """Return `d_model` as an int if it is positive and even."""
    width = check_int("d_model", d_model, minimum=2)
    if width % 2:
        raise ValueError(f"d_model must be even (sines and cosines come in pairs), got {d_model!r}")
    return width


def check_base(base: Any) -> float:
    """Return `base` as a float if it is a positive, finite number."""
    number = check_real("base", base)
    if number <= 0:
        raise ValueError(f"base must be positive, got {base!r}")
    return number


def check_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    """Return `dtype` as a numpy dtype if it is one of the real floating-point types."""
    found = np.dtype(dtype)
    if found.kind != "f":
        raise TypeError(f"dtype must be a floating-point type, got {found!r}")
    return found


def check_positions(positions: Any, name: str = "positions") -> NDArray[np.float64]:
    """Return `positions` as a 1-D float64 array if they are finite real numbers."""
    array = np.asarray(positions)
    if array.dtype.kind not in "iuf":
        raise TypeError(f"{name} must hold real numbers, got {positions!r}")
    if array.ndim != 1:
        raise ValueError(f"{name} must be an int or a 1-D array, got {array.ndim} dimensions")
    array = array.astype(np.float64)
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, got {positions!r}")
    return array
