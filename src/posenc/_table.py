r"""A whole table from the rotation theorem.

See the sine and cosine of a pair as one complex number, :math:`z_k = \sin k\omega + i\cos k\omega
= i\,e^{-ik\omega}`. A shift is then one multiplication, :math:`z_{k+\varphi} =
e^{-i\varphi\omega} z_k`, and a row k = qB + r is a coarse row times a fine one:

.. math:: z_{qB+r} = \bigl(i\,e^{-iqB\omega}\bigr)\, e^{-ir\omega}

So a table of L rows needs about L/B + B rotations, and one product an entry. The rotations come
by doubling: rows n, …, 2n-1 are rows 0, …, n-1 turned by n.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

# Entries of a block, so that it stays in the processor's cache (2**14 complex128: 256 KiB).
_BLOCK_ENTRIES = 2**14


def rotations(count: int, step: int, omega: NDArray[np.float64]) -> NDArray[np.complex128]:
    """Rotations exp(-i·step·r·omega) for r = 0, …, count - 1, by doubling."""
    rows = np.ones((count, len(omega)), np.complex128)
    done = 1
    while done < count:
        more = min(done, count - done)
        turn = np.exp(-1j * (step * done) * omega)
        np.multiply(rows[:more], turn, out=rows[done : done + more])
        done += more
    return rows


def fill_table(table: NDArray[Any], omega: NDArray[np.float64], start: int) -> None:
    """Fill `table`, shape (L, 2·len(omega)), with the encoding of start, …, start + L - 1."""
    seq_len = len(table)
    block = 1 << max(0, (_BLOCK_ENTRIES // len(omega)).bit_length() - 1)
    block = min(block, max(seq_len, 1))
    fine = rotations(block, 1, omega)
    coarse = 1j * np.exp(-1j * start * omega) * rotations(-(-seq_len // block), block, omega)
    product = np.empty_like(fine)
    for row, turned in zip(range(0, seq_len, block), coarse, strict=True):
        rows = min(block, seq_len - row)
        np.multiply(fine[:rows], turned, out=product[:rows])
        table[row : row + rows] = product[:rows].view(np.float64)
