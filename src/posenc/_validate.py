"""Argument validation. Each error names the argument, its value and the rule."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
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


def check_real(name: str, value: Any, *, positive: bool = False) -> float:
    """Return `value` as a float if it is a finite (and positive) real number and not a bool."""
    if isinstance(value, bool) or not isinstance(
        value, (float, int, np.integer, np.floating)
    ):
        raise TypeError(f"{name} must be a real number, got {value!r}")
    if not -math.inf < value < math.inf:  # torch.compile can trace this; NaN fails it
        raise ValueError(f"{name} must be finite, got {value!r}")
    if positive and value <= 0:
        raise ValueError(f"{name} must be positive, got {value!r}")
    return float(value)


def check_d_model(d_model: Any) -> int:
    """Return `d_model` as an int if it is positive and even."""
    width = check_int("d_model", d_model, minimum=2)
    if width % 2:
        raise ValueError(
            f"d_model must be even (sines and cosines come in pairs), got {d_model!r}"
        )
    return width


def check_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    """Return `dtype` as a numpy dtype if it is one of the real floating-point types."""
    found = np.dtype(dtype)
    if found.kind != "f":
        raise TypeError(f"dtype must be a floating-point type, got {found!r}")
    return found


def check_positions(
    positions: Any, name: str = "positions", *, ndim: int | None = 1
) -> NDArray[np.float64]:
    """Return `positions` as a float64 array, 1-D by default, if they are finite real numbers."""
    array = np.asarray(positions)
    if array.dtype.kind not in "iuf":
        raise TypeError(f"{name} must hold real numbers, got {positions!r}")
    if ndim is not None and array.ndim != ndim:
        raise ValueError(
            f"{name} must be an int or a 1-D array, got {array.ndim} dimensions"
        )
    array = array.astype(np.float64)
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, got {positions!r}")
    return array


def check_rotation(x: Sequence[int], seq_dim: int, pairing: str, first: int) -> int:
    """Return which dimension of an x of shape `x` holds positions, if the arguments agree."""
    if pairing != "halves" and pairing != "neighbors":
        raise ValueError(f"pairing must be 'halves' or 'neighbors', got {pairing!r}")
    if len(x) < 2:
        raise ValueError(f"x must have at least 2 dimensions, got shape {tuple(x)}")
    if x[-1] % 2:
        check_d_model(x[-1])
    if first != 0 and check_int("first", first) not in range(0, x[-1], 2):
        raise ValueError(
            f"first must be even and a dimension of x, below {x[-1]}, got {first!r}"
        )
    axis = check_int("seq_dim", seq_dim)
    axis += len(x) if axis < 0 else 0
    if not 0 <= axis < len(x) - 1:
        raise ValueError(
            f"seq_dim must be a dimension of x, but not the last, got {seq_dim!r}"
        )
    return axis


def check_frequencies(
    omega: Sequence[int],
    positions: Sequence[int],
    d_model: int | None,
    base: float | None,
) -> None:
    """Raise unless frequencies of shape `omega` fit the width, and `positions` their axes."""
    if base is not None:
        raise ValueError("base must not be given with frequencies, which include it")
    if len(omega) not in (1, 2) or not omega[-1]:
        rule = "shape (pairs,) or (axes, pairs), with at least 1 pair"
        raise ValueError(f"frequencies must have {rule}, got {tuple(omega)}")
    if d_model is not None and 2 * omega[-1] > d_model:
        raise ValueError(
            f"frequencies must have at most {d_model // 2} pairs, got {omega[-1]}"
        )
    if len(omega) == 2 and tuple(positions[-1:]) != tuple(omega[:1]):
        rule = f"a coordinate for each of {omega[0]} axes"
        raise ValueError(f"positions must have {rule}, got shape {tuple(positions)}")


def fit_turns(
    x: Sequence[int],
    turns: Any,
    kind: type[Any],
    axis: int,
    first: int,
    given: Mapping[str, Any],
) -> list[int]:
    """Return the shape that cosines need to turn an x of shape `x`, if they fit it.

    `turns` are a pair of `kind`; `given` are arguments that they include, and must be None.
    """
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"{name} must not be given with turns, which include it")
    pair: bool = isinstance(turns, (tuple, list)) and len(turns) == 2
    if not (pair and isinstance(turns[0], kind) and isinstance(turns[1], kind)):
        raise TypeError(
            f"turns must be rotary_turns' pair of {kind.__name__}, got {turns!r}"
        )
    cos, sin = turns[0].shape, turns[1].shape
    if cos != sin or not cos:
        raise ValueError(
            f"turns must be two of one shape, got {tuple(cos)} and {tuple(sin)}"
        )
    n, pairs, most = x[axis], cos[-1], (x[-1] - first) // 2
    if pairs > most:
        rule = f"{most} pairs from dimension first = {first!r} of {x[-1]}"
        raise ValueError(f"turns must have at most {rule}, got {pairs}")
    batch = len(cos) == 3 and axis > 0 and (cos[0] == 1 or cos[0] == x[0])
    if not (len(cos) == 2 or batch) or cos[-2] != n:
        rule = f"({n},), (1, {n}) or (batch, {n}) for x of shape {tuple(x)} and seq_dim {axis}"
        raise ValueError(f"positions must have shape {rule}, got {tuple(cos[:-1])}")
    shape = [1] * len(x)
    shape[0] = cos[0] if batch else 1
    shape[axis], shape[-1] = n, pairs
    return shape
