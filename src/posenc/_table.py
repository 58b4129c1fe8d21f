r"""A whole table from the rotation theorem.

See the sine and cosine of a pair as one complex number, :math:`z_k = \sin k\omega + i\cos k\omega
= i\,e^{-ik\omega}`. In memory it is the pair as the table holds it, and a shift is one product:

.. math:: z_{k+\varphi} = e^{-i\varphi\omega}\, z_k

So rows make rows: the first n rows, turned by n, are the next n. One becomes two, two become four,
until they fill a block that stays in the processor's cache. From there on the block, turned by
its own length, is the next block. Each is cast when it is written, so a float32 rounds once.

A turn is off by about 1e-16, and the error grows by as much from row to row. So every `_STRETCH`
rows begin afresh from a sine and a cosine, which keeps it below 1e-11.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_SMALL = 2**10  # pairs of a table, up to which sines and cosines are as quick
_BLOCK = 2**14  # pairs of a block: 256 KiB, and as much again for its turns
_STRETCH = 2**15  # rows from one sine to the next


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
    head = (omega.view(np.int64) & -(2**27)).view(np.float64)  # so short that start * head is exact
    rows[0] = 1j * np.exp(-1j * start * head) * np.exp(-1j * start * (omega - head))
    turn, n = np.exp(-1j * omega), 1
    while n < len(table) and 2 * n <= len(rows):
        np.multiply(rows[:n], turn, out=rows[n : 2 * n])
        turn, n = turn * turn, 2 * n
    block, values = rows[:n], rows[:n].view(np.float64)
    turns = np.empty_like(block)  # spelled out: arrays of one shape multiply twice as fast
    turns[:] = turn
    for row in range(0, len(table), n):
        if row:
            np.multiply(block, turns, out=block)
        table[row : row + n] = values[: len(table) - row]
