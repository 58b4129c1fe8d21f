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
    check_d_model,
    check_dtype,
    check_int,
    check_positions,
    check_real,
)

__all__ = ["angular_frequencies", "binary_encoding", "offset_kernel", "shift_matrix"]
__all__ += ["sinusoidal_encoding", "wavelengths"]


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
    width, number = check_d_model(d_model), check_real("base", base, positive=True)
    return np.asarray(number ** -(np.arange(0, width, 2) / width), dtype=np.float64)


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
        Finite real numbers, or an int L for 0, …, L - 1, which is filled by rotating rows: fast.
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
    omega = _frequencies(
        check_d_model(d_model), check_real("base", base, positive=True)
    )
    if isinstance(positions, int) or np.ndim(positions) == 0:
        seq_len = check_int("positions", positions, minimum=0)
        table = np.empty((seq_len, d_model), check_dtype(dtype))
        fill_table(table, omega)
    else:
        where = check_positions(positions)
        table = np.empty((len(where), d_model), check_dtype(dtype))
        fill_directly(table, omega, where)
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
    theta = check_real("offset", offset) * angular_frequencies(d_model, base=base)
    matrix = np.zeros((d_model, d_model))
    even = np.arange(0, d_model, 2)
    matrix[even, even] = matrix[even + 1, even + 1] = np.cos(theta)
    matrix[even, even + 1] = np.sin(theta)
    matrix[even + 1, even] = -np.sin(theta)
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
    width = check_int("n_bits", n_bits, minimum=1)
    if width > 63:
        raise ValueError(f"n_bits must be at most 63, got {n_bits!r}")
    if np.ndim(positions) == 0:
        positions = np.arange(check_int("positions", positions, minimum=0))
    where, highest = np.asarray(positions), 2**width - 1
    if check_positions(positions).size and where.dtype.kind == "f":
        raise TypeError(f"positions must hold whole numbers, got {positions!r}")
    for each in where[(where < 0) | (where > highest)][:1]:
        raise ValueError(
            f"positions must be from 0 to 2**n_bits - 1 = {highest}, got {each}"
        )
    return (where.astype(np.int64)[:, None] >> np.arange(width) & 1).astype(np.uint8)


@lru_cache(maxsize=8)
def _frequencies(d_model: int, base: float) -> Floats:
    """Return `angular_frequencies`, cached: they cost as much as a small table."""
    omega = angular_frequencies(d_model, base=base)
    omega.flags.writeable = False
    return omega
