"""The table and its algebra: identities, accuracy, and independence of how it is filled."""

from functools import partial
from unittest import mock

import mpmath
import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from posenc import (
    _table,
    angular_frequencies,
    binary_encoding,
    offset_kernel,
    shift_matrix,
    sinusoidal_encoding,
    wavelengths,
)

close = partial(np.testing.assert_allclose, rtol=0)
widths = st.integers(1, 40).map(lambda half: 2 * half)
slowly = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def encode(positions, d_model, base=10_000.0):
    return sinusoidal_encoding(positions, d_model, base=base, dtype=np.float64)


def test_the_paper_s_formula_is_the_default():
    assert wavelengths(4, base=16).tolist() == [2 * np.pi, 8 * np.pi]
    last = [np.sin(1), np.cos(1), np.sin(0.01), np.cos(0.01)]
    table = sinusoidal_encoding(np.int64(2), 4)
    assert table.dtype == np.float32
    close(table, [[0, 1, 0, 1], last], atol=3.1e-8)
    np.testing.assert_array_equal(sinusoidal_encoding([0, 1], 4), table)


@slowly
@given(
    st.lists(st.floats(-1e3, 1e3), min_size=1),
    widths,
    st.floats(1.5, 1e6),
)
def test_a_shift_is_a_matrix_and_products_are_the_kernel(rows, d_model, base):
    offset, positions = rows[0], np.array(rows)
    table = encode(positions, d_model, base)
    matrix = shift_matrix(offset, d_model, base=base)
    close(table @ matrix.T, encode(positions + offset, d_model, base), atol=1e-11)
    kernel = offset_kernel(positions - offset, d_model, base=base)
    close(table @ table[0], kernel, atol=1e-11)


def test_a_long_table_costs_no_digits():
    """Turning from row to row adds almost no error, so that float32 is rounded once."""
    rows = [*range(7, 10**6, 4999), 8191, 8192, 2**15 - 1, 2**15, 999_999]
    table = encode(10**6, 8)[rows]
    with mpmath.workdps(40):
        for pair, omega in enumerate(angular_frequencies(8)):
            z = [mpmath.expj(k * mpmath.mpf(omega)) for k in rows]
            sines, cosines = table[:, 2 * pair], table[:, 2 * pair + 1]
            assert abs(cosines + 1j * sines - np.array(z)).max() <= 5e-12


@slowly
@given(
    st.integers(0, 300),
    widths,
    st.floats(0.01, 1e8),
    st.integers(1, 500),
    st.integers(1, 200),
)
def test_rows_agree_wherever_blocks_and_stretches_end(
    seq_len, d_model, base, block, stretch
):
    with mock.patch.multiple(_table, _SMALL=0, _BLOCK=block, _STRETCH=stretch):
        table = encode(seq_len, d_model, base)
        single = sinusoidal_encoding(seq_len, d_model, base=base)
    positions = np.arange(seq_len)
    angles = np.outer(positions, angular_frequencies(d_model, base=base))
    allowed = 1e-11 + 2**-51 * np.repeat(angles, 2, axis=1)
    assert (np.abs(table - encode(positions, d_model, base)) <= allowed).all()
    np.testing.assert_array_equal(single, table.astype(np.float32))


def test_results_are_not_shared():
    sinusoidal_encoding(5, 4)[:] = angular_frequencies(4)[:] = 7
    assert sinusoidal_encoding(5, 4)[1, 2] == np.float32(np.sin(0.01))


def test_binary_digits_are_as_many_as_63():
    table = binary_encoding([5, 2**63 - 1], 63)
    assert table[0, :4].tolist() == [1, 0, 1, 0]
    assert table[1].all()
