"""Argument validation. Each error names the argument, its value and the rule."""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


def check_int(
    name: str, value: Any, *, minimum: int | None = None, maximum: int | None = None
) -> int:
    """Return `value` as an int if it is a whole number, not a bool, and within the limits."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name} must be an int, got {value!r}")
    if minimum is not None and value < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {value!r}")
    if maximum is not None and value > maximum:
        raise ValueError(f"{name} must be at most {maximum}, got {value!r}")
    return int(value)


def check_real(name: str, value: Any, *, positive: bool = False) -> float:
    """Return `value` as a float if it is a finite (and positive) real number and not a bool."""
    real = isinstance(value, (float, int, np.integer, np.floating))
    if isinstance(value, bool) or not real:
        raise TypeError(f"{name} must be a real number, got {value!r}")
    is_beyond_floats = isinstance(value, int) and abs(value) > 1e308
    # torch.compile can trace this; NaN fails it
    if is_beyond_floats or not -math.inf < value < math.inf:
        raise ValueError(f"{name} must be finite, got {value!r}")
    if positive and value <= 0:
        raise ValueError(f"{name} must be positive, got {value!r}")
    return float(value)


def check_choice(name: str, value: Any, choices: Collection[str]) -> None:
    """Raise if a value isn't one of these words."""
    if not isinstance(value, str) or value not in choices:
        rule = f"must be one of {'; '.join(choices)}"
        raise ValueError(f"{name} {rule}; got {value!r}")


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
    try:
        kind = np.dtype(dtype)
    except TypeError:
        kind = np.dtype(object)
    if kind.kind != "f":
        raise TypeError(f"dtype must be a floating-point type of numpy, got {dtype!r}")
    return kind


def check_array(name: str, value: Any) -> NDArray[Any]:
    """Return `value` as an array, if numpy can make one of it."""
    try:
        return np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:
        # A ragged list; or a tensor in bfloat16, on a GPU, or with a gradient.
        tensor = type(value).__module__ == "torch"
        hint = " (posenc.nn has functions for tensors)" if tensor else ""
        raise TypeError(
            f"{name} must be an array or a list of numbers: {error}{hint}"
        ) from error


def check_positions(
    positions: Any, name: str = "positions", *, ndim: int | None = 1
) -> NDArray[np.float64]:
    """Return `positions` as a float64 array, 1-D by default, if they are finite real numbers."""
    array = check_array(name, positions)
    if array.dtype.kind not in "iuf":
        raise TypeError(f"{name} must hold real numbers, got {positions!r}")
    if array.dtype == np.float16:
        raise TypeError(f"{name} {not_rounded(array.dtype)}")
    if ndim is not None and array.ndim != ndim:
        raise ValueError(f"{name} must be a {ndim}-D array, got shape {array.shape}")
    array = array.astype(np.float64)
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, got {positions!r}")
    return array


def not_rounded(dtype: Any) -> str:
    """Return the rule that positions in half precision break, where 2049 is 2048."""
    return f"must be integers, float32 or float64: {dtype} has rounded them already"


def check_rotation(
    x_shape: Sequence[int], seq_dim: int, pairing: str, first: int
) -> int:
    """Return which dimension of x holds positions, if the arguments agree."""
    check_choice("pairing", pairing, ("halves", "neighbors"))
    if len(x_shape) < 2:
        shape = tuple(x_shape)
        raise ValueError(f"x must have at least 2 dimensions, got shape {shape}")
    width = x_shape[-1]
    if width % 2:
        check_d_model(width)
    start = check_int("first", first)
    # Not `in range(…)`: torch.compile can't trace that for a width that varies.
    if start % 2 or start < 0 or start >= max(width, 1):
        raise ValueError(
            f"first must be even and a dimension of x, below {width}, got {first!r}"
        )
    axis = check_int("seq_dim", seq_dim)
    if axis < 0:
        axis += len(x_shape)
    if not 0 <= axis < len(x_shape) - 1:
        raise ValueError(
            f"seq_dim must be a dimension of x, but not the last, got {seq_dim!r}"
        )
    return axis


def refuse_pair(frequencies: Any) -> None:
    """Raise if `frequencies` are all that `posenc.rotary_frequencies` returns."""
    is_pair = isinstance(frequencies, tuple) and len(frequencies) == 2
    if is_pair and np.ndim(frequencies[0]) and isinstance(frequencies[1], float):
        usage = "frequencies, attention_factor = rotary_frequencies(…), and pass both"
        raise TypeError(f"frequencies must be an array, got a pair: unpack it, {usage}")


def check_frequencies(
    frequencies_shape: Sequence[int],
    positions_shape: Sequence[int],
    base: float | None,
) -> None:
    """Raise unless positions fit the frequencies' axes; `fit_turns` compares widths."""
    shape = tuple(frequencies_shape)
    if base is not None:
        raise ValueError("base must not be given with frequencies, which include it")
    if len(shape) not in (1, 2) or not shape[-1]:
        raise ValueError(
            "frequencies must have "
            f"shape (pairs,) or (axes, pairs), with at least 1 pair, got {shape}"
        )
    if len(shape) == 2 and tuple(positions_shape[-1:]) != shape[:1]:
        raise ValueError(
            f"positions must have a coordinate for each of {shape[0]} axes, "
            f"got shape {tuple(positions_shape)}"
        )


def check_turns(turns: Any, kind: type[Any], included: Mapping[str, Any]) -> None:
    """Raise unless `turns` are a pair of `kind` of one shape.

    `included` are arguments that the turns were computed from, so they must be None.
    """
    for name, value in included.items():
        if value is not None:
            raise ValueError(f"{name} must not be given with turns, which include it")
    pair = isinstance(turns, (tuple, list)) and len(turns) == 2
    if not (pair and isinstance(turns[0], kind) and isinstance(turns[1], kind)):
        raise TypeError(
            f"turns must be rotary_turns' pair of {kind.__name__}, got {turns!r}"
        )
    cos, sin = tuple(turns[0].shape), tuple(turns[1].shape)
    if cos != sin or not cos:
        raise ValueError(f"turns must be two of one shape, got {cos} and {sin}")


def fit_turns(
    x_shape: Sequence[int], turns_shape: Sequence[int], axis: int, first: int
) -> list[int]:
    """Return the shape in which cosines broadcast against x, if they fit it.

    Parameters
    ----------
    x_shape : sequence of int
        Such as (batch, heads, seq_len, d_model).
    turns_shape : sequence of int
        (seq_len, pairs), (1, seq_len, pairs) or (batch, seq_len, pairs).
    axis : int
        The dimension of x that holds positions.
    first : int
        The first dimension of a head that turns.
    """
    seq_len, pairs = x_shape[axis], turns_shape[-1]
    most = (x_shape[-1] - first) // 2
    if pairs > most:
        raise ValueError(
            "turns, or frequencies, must have at most "
            f"{most} pairs from dimension first = {first!r} of {x_shape[-1]}, got {pairs}"
        )
    # Rows that all sequences share, or some of its own for each: then x's batch comes first.
    batch = turns_shape[0]
    by_batch = (
        len(turns_shape) == 3 and axis > 0 and (batch == 1 or batch == x_shape[0])
    )
    if not (len(turns_shape) == 2 or by_batch) or turns_shape[-2] != seq_len:
        raise ValueError(_misfit(x_shape, tuple(turns_shape[:-1]), axis))
    # 1 wherever cosines are the same, such as in all heads.
    shape = [1] * len(x_shape)
    if by_batch:
        shape[0] = batch
    shape[axis] = seq_len
    shape[-1] = pairs
    return shape


def _misfit(x_shape: Sequence[int], rows: tuple[int, ...], axis: int) -> str:
    """Return what is wrong with positions of shape `rows`."""
    seq_len = x_shape[axis]
    message = (
        f"positions must have shape ({seq_len},), (1, {seq_len}) or (batch, {seq_len}) "
        f"for x of shape {tuple(x_shape)} and seq_dim {axis}, got {rows}"
    )
    # The likeliest reason: heads behind the positions, where they come first by default.
    if len(x_shape) == 4 and axis == 2 and rows[-1:] == tuple(x_shape[1:2]):
        message += "; is x (batch, seq_len, heads, d_model)? Pass seq_dim=1"
    return message
