r"""Fill a whole table quickly, using the rotation theorem.

Treat the sine and cosine of a pair as one complex number, :math:`z_k = \sin k\omega + i\cos k\omega
= i\,e^{-ik\omega}`. Its memory layout is the table's own, and a shift is one product:

.. math:: z_{k+\varphi} = e^{-i\varphi\omega}\, z_k

So rows generate rows: the first n rows, rotated by n, are the next n. This doubling goes on until
the rows fill a block that fits in the processor's cache. From then on, the block, rotated by its
own length, is the next block. Each is cast when it is written, so float32 is rounded only once.

A rotation is off by about 1e-16, and the error accumulates from row to row. So every `_STRETCH`
rows restart from a fresh sine and cosine, which keeps it below 1e-11.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_SMALL = (
    2**10
)  # pairs in a table; up to here, computing every sine and cosine is as fast
_BLOCK = 2**14  # pairs in a block: 256 KiB, and as much again for its rotations
_STRETCH = 2**15  # rows between restarts


def fill_table(table: NDArray[Any], omega: Floats) -> None:
    """Fill `table`, shape (L, 2·len(omega)), with the encoding of positions 0, …, L - 1."""
    if len(table) * len(omega) <= _SMALL:
        return fill_directly(table, omega, np.arange(len(table), dtype=float))
    for row in range(0, len(table), _STRETCH):
        for pair in range(0, len(omega), _BLOCK):
            stretch = table[row : row + _STRETCH, 2 * pair : 2 * (pair + _BLOCK)]
            _fill_stretch(stretch, omega[pair : pair + _BLOCK], row)


def fill_directly(table: NDArray[Any], omega: Floats, positions: Floats) -> None:
    """Fill `table` with the encoding of `positions`: one sine and one cosine per pair."""
    angles = positions[:, None] * omega
    table[:, 0::2] = np.sin(angles)
    table[:, 1::2] = np.cos(angles)


def _fill_stretch(table: NDArray[Any], omega: Floats, start: int) -> None:
    """Fill `table` with the encoding of start, …, start + len(table) - 1."""
    rows = np.empty((_BLOCK // len(omega), len(omega)), np.complex128)
    head = (omega.view(np.int64) & -(2**27)).view(
        np.float64
    )  # few bits, so start * head is exact
    rows[0] = 1j * np.exp(-1j * start * head) * np.exp(-1j * start * (omega - head))
    turn, n = np.exp(-1j * omega), 1
    while n < len(table) and 2 * n <= len(rows):
        np.multiply(rows[:n], turn, out=rows[n : 2 * n])
        turn, n = turn * turn, 2 * n
    block, values = rows[:n], rows[:n].view(np.float64)
    turns = np.empty_like(block)  # not broadcast: equal shapes multiply twice as fast
    turns[:] = turn
    for row in range(0, len(table), n):
        if row:
            np.multiply(block, turns, out=block)
        table[row : row + n] = values[: len(table) - row]
