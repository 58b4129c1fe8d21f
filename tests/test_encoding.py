"""The numpy functions: identities and accuracy; `test_nn` has errors, `test_checks` the laws."""

import math
from functools import partial
from unittest import mock

import mpmath
import numpy as np
import pytest
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

widths = st.integers(1, 40).map(lambda half: 2 * half)
bases = st.floats(0.01, 1e8)
offsets = st.floats(-500, 500)
slowly = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
sizes = {
    "_SMALL": st.just(0),
    "_BLOCK": st.integers(1, 500),
    "_STRETCH": st.integers(1, 200),
}


def encode(where, d_model, base=10_000.0):
    return sinusoidal_encoding(where, d_model, base=base, dtype=np.float64)


def exact(positions, d_model, base=10_000, rounded=False):
    """Rows computed in 40 digits, optionally from frequencies rounded to float64."""
    with mpmath.workdps(40):
        powers = [
            mpmath.power(base, -mpmath.mpf(2 * i) / d_model)
            for i in range(d_model // 2)
        ]
        if rounded:
            powers = [
                mpmath.mpf(float(w)) for w in angular_frequencies(d_model, base=base)
            ]
        turns = [[int(k) * power for power in powers] for k in positions]
        rows = [[f(a) for a in row for f in (mpmath.sin, mpmath.cos)] for row in turns]
        return np.array(rows)


def test_defaults_and_types():
    assert angular_frequencies(4).tolist() == [1, 0.01]
    assert wavelengths(8, base=16).tolist() == [2 * math.pi * n for n in (1, 2, 4, 8)]
    for function in (
        partial(shift_matrix, 3),
        partial(offset_kernel, [3]),
        wavelengths,
    ):
        assert np.array_equal(function(8), function(8, base=10_000))
    assert np.array_equal(
        sinusoidal_encoding(np.int64(5), 8), sinusoidal_encoding(5, 8)
    )
    assert angular_frequencies(8).dtype == wavelengths(8).dtype == np.float64
    assert (
        sinusoidal_encoding([0.5], 8).dtype
        == sinusoidal_encoding(2000, 8).dtype
        == np.float32
    )
    assert sinusoidal_encoding([], 8).shape == (0, 8)


@slowly
@given(st.lists(st.floats(-1e3, 1e3), min_size=1), widths, st.floats(1.5, 1e6), offsets)
def test_a_shift_is_a_matrix_and_products_are_the_kernel(where, d_model, base, offset):
    table, there = (
        encode(np.array(where) + more, d_model, base) for more in (0, offset)
    )
    matrix = shift_matrix(offset, d_model, base=base)
    np.testing.assert_allclose(table @ matrix.T, there, rtol=0, atol=1e-11)
    kernel = offset_kernel(np.array(where) - where[0], d_model, base=base)
    np.testing.assert_allclose(table @ table[0], kernel, rtol=0, atol=1e-11)


@pytest.mark.parametrize("d_model", [2, 8, 512])
@pytest.mark.parametrize("base", [100, 10_000, 1e6])
def test_digits(d_model, base):
    """Float64 is off by the rounding of its angles; float32 is the exact value, rounded."""
    where = np.array([1, 2, 63, 3999, 65_535, 999_999])[: 4 if d_model > 8 else None]
    expected = exact(where, d_model, base)
    for table in (
        encode(int(where[-1]) + 1, d_model, base)[where],
        encode(where, d_model, base),
    ):
        assert abs(table - expected).max() <= 1e-10
        assert abs(table[:4] - expected[:4]).max() <= 1e-11
        assert abs(table.astype(np.float32) - expected).max() <= 3.1e-8


def test_a_long_table_costs_no_digits():
    """Turning from row to row adds almost no error to that of rounded frequencies."""
    near = [
        0,
        1,
        8191,
        8192,
        _table._STRETCH - 1,
        _table._STRETCH,
        983_039,
        983_040,
        999_999,
    ]
    rows = np.append(np.random.default_rng(0).integers(0, 10**6, 200), near)
    error = encode(10**6, 8)[rows] - exact(rows, 8, rounded=True)
    assert abs(error).max() <= 5e-12


@slowly
@given(st.integers(0, 300), widths, bases, st.fixed_dictionaries(sizes))
def test_rows_agree_wherever_blocks_and_stretches_end(seq_len, d_model, base, chosen):
    """A table equals the rows of its positions, up to the rounding of angles, and is cast last."""
    positions = np.arange(seq_len)
    angles = np.abs(positions[:, None] * angular_frequencies(d_model, base=base))
    allowed = 1e-11 + 2**-51 * np.repeat(angles, 2, axis=1)
    with mock.patch.multiple(_table, **chosen):
        table = encode(seq_len, d_model, base)
        assert (np.abs(table - encode(positions, d_model, base)) <= allowed).all()
        for dtype in (np.float16, np.float32):
            found = sinusoidal_encoding(seq_len, d_model, base=base, dtype=dtype)
            np.testing.assert_array_equal(found, table.astype(dtype), strict=True)


def test_results_are_not_shared():
    sinusoidal_encoding(5, 4)[:] = angular_frequencies(4)[:] = 7
    assert sinusoidal_encoding(5, 4)[1, 2] == np.float32(np.sin(0.01))


def test_binary_digits_spell_the_number():
    where = [0, 5, 2**40 + 1, 2**63 - 1]
    table = binary_encoding(where, 63)
    assert [int("".join(map(str, row[::-1])), 2) for row in table] == where
    assert (table.dtype, binary_encoding([], 1).shape) == (np.uint8, (0, 1))
    assert np.array_equal(binary_encoding(8, 3), binary_encoding(range(8), 3))
