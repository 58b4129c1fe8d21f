r"""Fill a whole table quickly, using the rotation theorem.

Treat the sine and cosine of a pair as one complex number, :math:`z_k = \sin k\omega + i\cos k\omega
= i\,e^{-ik\omega}`. Its memory layout is the table's own, and a shift is one product:

.. math:: z_{k+\varphi} = e^{-i\varphi\omega}\, z_k

So rows generate rows: the first n rows, rotated by n, are the next n. This doubling goes on until
the rows fill a block that fits in the processor's cache. From then on, the block, rotated by its
own length, is the next block. Each is cast when it is written, so float32 is rounded only once.

Nine tenths of the time are the product and the cast. Each takes nearly twice as long as a fill of
memory that the allocator kept, so with free products a late cast would still cost that much. A
table takes four times as long. New memory, from some 32 MB on, is cleared first, page by page: a
table takes less than twice as long as a fill of it.

A rotation is off by about 1e-16, and the error accumulates from row to row. So every `_STRETCH`
rows restart from a fresh sine and cosine, which keeps it below 1e-11.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
# Pairs in a table; up to here, computing every sine and cosine is as fast.
_SMALL = 2**10
# Pairs in a block: 128 KiB, and as much again for its rotations.
_BLOCK = 2**13
# Rows between restarts.
_STRETCH = 2**15


def fill_table(table: NDArray[Any], omega: Floats) -> None:
    """Fill `table`, shape (L, 2·len(omega)), with the encoding of positions 0, …, L - 1."""
    n_rows = len(table)
    if n_rows * len(omega) <= _SMALL:
        positions = np.arange(n_rows, dtype=float)
        return fill_directly(table, omega, positions)
    for start in range(0, n_rows, _STRETCH):
        _fill_stretch(table[start : start + _STRETCH], omega, start)


def fill_directly(table: NDArray[Any], omega: Floats, positions: Floats) -> None:
    """Fill `table` with the encoding of `positions`: one sine and one cosine per pair."""
    angles = positions[:, None] * omega
    table[:, 0::2] = np.sin(angles)
    table[:, 1::2] = np.cos(angles)


def _fill_stretch(table: NDArray[Any], omega: Floats, start: int) -> None:
    """Fill `table` with the encoding of start, …, start + len(table) - 1."""
    n_rows, pairs = len(table), len(omega)
    # A row that is wider than a block is a block.
    block = np.empty((max(_BLOCK // pairs, 1), pairs), np.complex128)
    block[0] = _first_row(omega, start)

    # Double: rows n, …, 2n - 1 are rows 0, …, n - 1, rotated by n.
    n = 1
    turn = np.exp(-1j * omega)  # by n positions, (pairs,)
    while n < n_rows and 2 * n <= len(block):
        np.multiply(block[:n], turn, out=block[n : 2 * n])
        turn = turn * turn
        n *= 2
    block = block[:n]

    # Not broadcast: numpy multiplies arrays of equal shapes twice as fast.
    turns = np.empty_like(block)
    turns[:] = turn
    sines_and_cosines = block.view(np.float64)  # (n, 2·pairs), a view of the block
    for row in range(0, n_rows, n):
        if row:
            np.multiply(block, turns, out=block)
        table[row : row + n] = sines_and_cosines[: n_rows - row]


def _first_row(omega: Floats, position: int) -> NDArray[np.complex128]:
    """Return z at one position, without the error of a rounded angle."""
    # Clear the last 27 of 52 bits of each frequency: a product with a position below 2^27 is then
    # exact. What was cleared turns by a small angle, whose rounding is smaller still.
    bits = omega.view(np.int64)
    head = (bits & -(2**27)).view(np.float64)
    tail = omega - head
    return np.asarray(
        1j * np.exp(-1j * position * head) * np.exp(-1j * position * tail)
    )
