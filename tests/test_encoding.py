"""The table is the same, however it is filled: in blocks of stretches, or row by row.

What it holds, and the algebra around it, are proven elsewhere: by the laws that tables of
`specimens` pass, the examples of docstrings, and the cells of chapters 2 to 4, 9 and 13, which
compares rows with thirty digits.
"""

from functools import partial

import mpmath
import numpy as np
import pytest

from posenc import angular_frequencies, sinusoidal_encoding

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


# A table is filled in stretches of 2^15 rows, and these in blocks of 2^13 pairs.
SIZES = [
    (0, 5),
    (1, 1100),
    (7, 200),
    (300, 40),
    (2**13 - 1, 1),
    (2**13 + 1, 2),
    (2**15 + 9, 5),
    (3, 2**13 + 1),
]


@pytest.mark.parametrize(("seq_len", "pairs"), SIZES)
def test_rows_agree_wherever_blocks_and_stretches_end(seq_len, pairs):
    table = sinusoidal_encoding(seq_len, 2 * pairs, dtype=np.float64)
    row_by_row = sinusoidal_encoding(range(seq_len), 2 * pairs, dtype=np.float64)
    close(table, row_by_row, atol=1e-11)
    single = sinusoidal_encoding(seq_len, 2 * pairs)
    np.testing.assert_array_equal(single, table.astype(np.float32))
