"""The encoding and its algebra, in numpy: computed in float64 and cast last.

Except for rare last digits, a float32 table is the correctly rounded one.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from posenc._table import Floats, fill_directly, fill_table
from posenc._validate import (
    check_array,
    check_d_model,
    check_dtype,
    check_int,
    check_positions,
    check_real,
)


def angular_frequencies(d_model: int, *, base: float = 10_000.0) -> Floats:
    r"""Angular frequency of each sine and cosine pair (Vaswani et al., 2017, section 3.5).

    .. math:: \omega_i = \mathrm{base}^{-2i/d_\mathrm{model}}, \qquad 0 \le i < d_\mathrm{model}/2

    Parameters
    ----------
    d_model : int
        Width of the encoding; positive and even.
    base : float
        The constant that spreads the frequencies; positive. The paper uses 10 000.

    Returns
    -------
    ndarray of float64, shape (d_model // 2,)
        Radians per position, from 1 at pair 0 to ``base ** (-(d_model - 2) / d_model)``.

    Examples
    --------
    >>> angular_frequencies(4, base=100)
    array([1. , 0.1])
    """
    width = check_d_model(d_model)
    number = check_real("base", base, positive=True)
    exponents = np.arange(0, width, 2) / width  # 2i/d
    return np.asarray(number**-exponents, dtype=np.float64)


def wavelengths(d_model: int, *, base: float = 10_000.0) -> Floats:
    r"""Wavelength of each pair, :math:`2\pi / \omega_i`: the positions in a full turn.

    Arguments, shape and dtype are those of `angular_frequencies`.
    """
    return 2 * np.pi / angular_frequencies(d_model, base=base)


def sinusoidal_encoding(
    positions: int | ArrayLike,
    d_model: int,
    *,
    base: float = 10_000.0,
    dtype: DTypeLike = np.float32,
) -> NDArray[Any]:
    r"""Sinusoidal positional encoding: sines in the even columns, cosines in the odd ones.

    .. math:: \mathrm{PE}_{k,\,2i} = \sin(k\,\omega_i), \qquad
        \mathrm{PE}_{k,\,2i+1} = \cos(k\,\omega_i)

    Parameters
    ----------
    positions : int or 1-D array_like
        Finite real numbers, not in half precision, or an int L for 0, …, L - 1, which is filled by
        rotating rows: fast.
    d_model, base
        As for `angular_frequencies`, which gives :math:`\omega` and the source.
    dtype : dtype
        Floating-point type of the result.

    Returns
    -------
    ndarray, shape (L, d_model)

    Examples
    --------
    >>> sinusoidal_encoding(3, 4, base=100).round(4)
    array([[ 0.    ,  1.    ,  0.    ,  1.    ],
           [ 0.8415,  0.5403,  0.0998,  0.995 ],
           [ 0.9093, -0.4161,  0.1987,  0.9801]], dtype=float32)
    """
    width = check_d_model(d_model)
    omega = _frequencies(width, check_real("base", base, positive=True))
    kind = check_dtype(dtype)
    if is_length("positions", positions):
        seq_len = check_int("positions", positions, minimum=0)
        table = np.empty((seq_len, width), kind)
        fill_table(table, omega)
    else:
        rows = check_positions(positions)
        table = np.empty((len(rows), width), kind)
        fill_directly(table, omega, rows)
    return table


def shift_matrix(offset: float, d_model: int, *, base: float = 10_000.0) -> Floats:
    r"""Matrix that moves an encoding by `offset` positions.

    .. math:: \mathrm{PE}_{k+\varphi} = M_\varphi\, \mathrm{PE}_k, \qquad
        M_\varphi = \operatorname{diag}(W(\omega_0\varphi), \dots), \qquad
        W(\theta) = \begin{bmatrix} \cos\theta & \sin\theta \\ -\sin\theta & \cos\theta
        \end{bmatrix}

    The offset is any finite real number; `d_model` and `base` are as for `angular_frequencies`. The
    matrix is in float64, shape (d_model, d_model).

    Examples
    --------
    >>> row = sinusoidal_encoding(8, 6, dtype=np.float64)
    >>> bool(np.allclose(shift_matrix(3, 6) @ row[4], row[7]))
    True
    """
    # One angle for each pair, (d_model / 2,).
    theta = check_real("offset", offset) * angular_frequencies(d_model, base=base)
    matrix = np.zeros((d_model, d_model))
    # Rows and columns of the pairs' sines and cosines: the blocks W lie on the diagonal.
    sine = np.arange(0, d_model, 2)
    cosine = sine + 1
    matrix[sine, sine] = np.cos(theta)
    matrix[cosine, cosine] = np.cos(theta)
    matrix[sine, cosine] = np.sin(theta)
    matrix[cosine, sine] = -np.sin(theta)
    return matrix


def offset_kernel(
    offsets: ArrayLike, d_model: int, *, base: float = 10_000.0
) -> Floats:
    r"""Dot product of two encodings that lie `offsets` positions apart.

    .. math:: \mathrm{PE}_k \cdot \mathrm{PE}_{k+\varphi} = \sum_i \cos(\omega_i \varphi)

    Offsets are a 1-D array of finite real numbers; `d_model` and `base` are as for
    `angular_frequencies`. Products are in float64, at most d_model / 2, at offset 0.
    """
    omega = angular_frequencies(d_model, base=base)
    angles = np.multiply.outer(check_positions(offsets, "offsets"), omega)
    return np.asarray(np.cos(angles).sum(axis=1))


def binary_encoding(positions: int | ArrayLike, n_bits: int) -> NDArray[np.uint8]:
    r"""Binary digits of each position, lowest bit first.

    .. math:: b_{k,j} = \lfloor k / 2^j \rfloor \bmod 2

    Positions are whole numbers below ``2 ** n_bits``, at most 63 bits; an int L stands for
    0, …, L - 1. The result is in uint8, shape (L, n_bits); column j flips every ``2 ** j`` rows.

    Examples
    --------
    >>> binary_encoding([4, 6], 3)
    array([[0, 0, 1],
           [0, 1, 1]], dtype=uint8)
    """
    width = check_int("n_bits", n_bits, minimum=1, maximum=63)
    if is_length("positions", positions):
        positions = np.arange(check_int("positions", positions, minimum=0))
    check_positions(positions)
    numbers = np.asarray(positions)
    if numbers.size and numbers.dtype.kind == "f":  # numpy takes [] for floats
        raise TypeError(f"positions must hold whole numbers, got {positions!r}")
    highest = 2**width - 1
    if numbers.min(initial=0) < 0 or numbers.max(initial=0) > highest:
        raise ValueError(
            f"positions must be from 0 to 2**n_bits - 1 = {highest}, got {positions!r}"
        )
    # Shift digit j to the end of the number, and keep the last digit: (L, n_bits).
    shifted = numbers.astype(np.int64)[:, None] >> np.arange(width)
    return (shifted & 1).astype(np.uint8)


def is_length(name: str, positions: Any) -> bool:
    """Return whether `positions` are one number, which stands for 0, …, L - 1."""
    # The first test spares a small table the time of the second.
    return isinstance(positions, int) or check_array(name, positions).ndim == 0


@lru_cache(maxsize=8)
def _frequencies(d_model: int, base: float) -> Floats:
    """Return `angular_frequencies`, cached: they cost as much as a small table."""
    omega = angular_frequencies(d_model, base=base)
    omega.flags.writeable = False
    return omega
