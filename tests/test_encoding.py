"""The table is the same, however it is filled: in blocks of stretches, or row by row.

What it holds, and the algebra around it, are proven elsewhere: by the laws that tables of
`specimens` pass, the examples of docstrings, and the cells of chapters 2 to 4, 9 and 13, which
compares rows with thirty digits.
"""

from functools import partial
from itertools import product
from unittest import mock

import mpmath
import numpy as np

from posenc import _table, angular_frequencies, sinusoidal_encoding

close = partial(np.testing.assert_allclose, rtol=0)


def test_a_long_table_costs_no_digits():
    """Stretches begin without the error of a rounded angle, and turning adds almost none."""
    # Pair 0 turns by 1 a position, so its angles are exact; pair 1 by .95, and they are rounded.
    table = sinusoidal_encoding(10**6, 4, base=1.1, dtype=np.float64)
    omega = angular_frequencies(4, base=1.1)[1]
    # The last rows of blocks and stretches, and the first ones after them.
    rows = [7, 8191, 8192, 2**15 - 1, 2**15, 500_007, 999_999]
    with mpmath.workdps(40):
        exact = [float(mpmath.sin(k * mpmath.mpf(omega))) for k in rows]
    close(table[rows, 2], exact, atol=5e-12)


# A table is filled in stretches of rows, and these in blocks that fit into a cache.
SIZES = product(
    (0, 1, 7, 300),  # rows
    (1, 5, 40),  # pairs
    (1, 7, 64, 500),  # rows of a block
    (1, 9, 200),  # and of a stretch
)


def test_rows_agree_wherever_blocks_and_stretches_end():
    for seq_len, pairs, block, stretch in SIZES:
        width = 2 * pairs
        # Small tables would be filled row by row.
        with mock.patch.multiple(_table, _SMALL=0, _BLOCK=block, _STRETCH=stretch):
            table = sinusoidal_encoding(seq_len, width, dtype=np.float64)
            single = sinusoidal_encoding(seq_len, width)
        row_by_row = sinusoidal_encoding(range(seq_len), width, dtype=np.float64)
        close(table, row_by_row, atol=1e-11)
        np.testing.assert_array_equal(single, table.astype(np.float32))
