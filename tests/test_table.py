"""The fast table agrees with the direct way, and both agree with mpmath."""

import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posenc import _table, angular_frequencies, sinusoidal_encoding

FLOATS = [np.float16, np.float32, np.float64]

lengths = st.integers(0, 300)
widths = st.integers(1, 40).map(lambda pairs: 2 * pairs)
bases = st.floats(0.01, 1e8)
sizes = {
    "_SMALL": st.sampled_from([0, 64, 1024]),
    "_BLOCK": st.integers(1, 500),
    "_STRETCH": st.integers(1, 200),
}


def assert_agrees(table, d_model, base):
    """Assert that float64 `table` is the direct one, except for the rounding of its angles."""
    positions = np.arange(len(table))
    direct = sinusoidal_encoding(positions, d_model, base=base, dtype=np.float64)
    angles = np.abs(positions[:, None] * angular_frequencies(d_model, base=base))
    allowed = 1e-11 + 2**-51 * np.repeat(angles, 2, axis=1)
    assert (np.abs(table - direct) <= allowed).all()


def exact_frequencies(d_model, base=10_000):
    with mpmath.workdps(40):
        return [mpmath.power(base, -mpmath.mpf(2 * i) / d_model) for i in range(d_model // 2)]


def exact(first, last, omega):
    """Rows first, …, last - 1, with angles counted in 2**-64 of a turn, which wrap by themselves.

    The error is below 1e-12 for positions below 10**6.
    """
    positions = np.arange(first, last).astype(np.uint64)
    table = np.empty((len(positions), 2 * len(omega)))
    for i, frequency in enumerate(omega):
        with mpmath.workdps(40):
            step = int(mpmath.nint(mpmath.mpf(frequency) / (2 * mpmath.pi) * 2**64))
        angles = (positions * np.uint64(step)).view(np.int64) * (np.pi / 2**63)
        table[:, 2 * i], table[:, 2 * i + 1] = np.sin(angles), np.cos(angles)
    return table


def in_40_digits(positions, omega):
    """Rows of those positions, from the formula as it is written."""
    with mpmath.workdps(40):
        return np.array(
            [[f(int(k) * w) for w in omega for f in (mpmath.sin, mpmath.cos)] for k in positions]
        )


def stretch(seq_len, d_model, start):
    """Rows start, …, start + seq_len - 1, as a longer table makes them."""
    table = np.empty((seq_len, d_model))
    _table._fill_stretch(table, angular_frequencies(d_model), start)
    return table


def largest(errors):
    return float(np.abs(errors).max())


@settings(deadline=None)
@given(lengths, widths, bases)
def test_it_agrees_with_the_direct_way(seq_len, d_model, base):
    table = sinusoidal_encoding(seq_len, d_model, base=base, dtype=np.float64)
    assert table.shape == (seq_len, d_model)
    assert_agrees(table, d_model, base)


@settings(deadline=None)
@given(lengths, widths, bases, st.fixed_dictionaries(sizes))
def test_it_agrees_wherever_blocks_and_stretches_end(seq_len, d_model, base, chosen):
    with mock.patch.multiple(_table, **chosen):
        table = sinusoidal_encoding(seq_len, d_model, base=base, dtype=np.float64)
    assert_agrees(table, d_model, base)


@pytest.mark.parametrize(
    ("seq_len", "d_model"),
    [(40_001, 2), (8192, 2), (8193, 6), (20_000, 64), (4097, 510), (33, 16_386), (3, 40_000)],
)
def test_it_agrees_at_full_size(seq_len, d_model):
    assert_agrees(sinusoidal_encoding(seq_len, d_model, dtype=np.float64), d_model, 10_000.0)


def test_every_position_below_a_million():
    d_model, many = 10, 2**17
    double = sinusoidal_encoding(10**6, d_model, dtype=np.float64)
    single = sinusoidal_encoding(10**6, d_model)
    for first in range(0, 10**6, many):
        rows = slice(first, min(first + many, 10**6))
        expected = exact(rows.start, rows.stop, exact_frequencies(d_model))
        assert largest(double[rows] - expected) <= 1e-10
        assert largest(single[rows] - expected) <= 3.1e-8
        # Most of the error is that of a frequency's last bit. Without it, errors don't grow.
        expected = exact(rows.start, rows.stop, angular_frequencies(d_model))
        assert largest(double[rows] - expected) <= 5e-12


@pytest.mark.parametrize("start", [0, 10**6 - 10_000])
def test_the_width_of_the_paper_below_a_million(start):
    table = stretch(10_000, 512, start)
    expected = exact(start, start + 10_000, exact_frequencies(512))
    assert largest(table - expected) <= 1e-10
    assert largest(table.astype(np.float32) - expected) <= 3.1e-8


def test_against_40_digits():
    seq_len, d_model = 10**6, 8
    omega = exact_frequencies(d_model)
    rng = np.random.default_rng(0)
    sampled = np.append(rng.integers(0, seq_len, 200), [0, 1, 8191, 8192, 8193, seq_len - 1])
    expected = in_40_digits(sampled, omega)
    double = sinusoidal_encoding(seq_len, d_model, dtype=np.float64)
    single = sinusoidal_encoding(seq_len, d_model)
    assert largest(double[sampled] - expected) <= 1e-10
    assert largest(single[sampled].astype(np.float64) - expected) <= 3.1e-8
    assert largest(exact(0, seq_len, omega)[sampled] - expected) <= 1e-12


@pytest.mark.parametrize("start", [987_654, 10**7 + 3, 67_000_001])
def test_a_stretch_far_out_costs_no_digits(start):
    table = stretch(2000, 10, start)
    rows = np.array([0, 1, 2, 500, 1999])
    with mpmath.workdps(40):
        omega = [mpmath.mpf(float(w)) for w in angular_frequencies(10)]
    expected = in_40_digits(start + rows, omega).astype(float)
    assert largest(table[rows] - expected) <= 1e-12


@settings(deadline=None, max_examples=30)
@given(lengths, widths, bases, st.sampled_from(FLOATS))
def test_the_cast_comes_last(seq_len, d_model, base, dtype):
    table = sinusoidal_encoding(seq_len, d_model, base=base, dtype=dtype)
    wide = sinusoidal_encoding(seq_len, d_model, base=base, dtype=np.float64)
    assert table.dtype == dtype
    np.testing.assert_array_equal(table, wide.astype(dtype))


def test_threads_do_not_meet():
    calls = [(seq_len, d_model) for seq_len in (50, 3000, 9000) for d_model in (2, 32, 128)] * 4
    alone = [sinusoidal_encoding(*call) for call in calls]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda call: sinusoidal_encoding(*call), calls))
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("shape", [(600, 8), (65, 90)])
def test_every_part_is_filled_once(shape):
    """A loop whose steps are too small, so that it fills parts twice, is noticed, too."""

    def count(part, omega, start):
        part += len(omega) == part.shape[1] // 2

    table = np.zeros(shape)
    sizes = {"_SMALL": 0, "_BLOCK": 20, "_STRETCH": 50, "_fill_stretch": count}
    with mock.patch.multiple(_table, **sizes):
        _table.fill_table(table, np.ones(shape[1] // 2))
    assert (table == 1).all()


def test_a_result_is_not_shared():
    first = sinusoidal_encoding(5, 4)
    first[:] = 7
    assert sinusoidal_encoding(5, 4).max() == 1
    angular_frequencies(4)[:] = 7
    assert sinusoidal_encoding(5, 4)[1, 2] == np.float32(np.sin(0.01))


@pytest.mark.parametrize("seq_len", [4, 3000])
def test_numpy_is_left_as_it_was(seq_len):
    def state():
        return np.geterr(), np.geterrcall(), np.getbufsize(), np.get_printoptions()

    before = state()
    sinusoidal_encoding(seq_len, 8)
    assert state() == before
    with np.errstate(all="raise"):
        inside = state()
        sinusoidal_encoding(seq_len, 8)
        # float16 cannot hold the sine of so slow a pair, and `raise` says so.
        with pytest.raises(FloatingPointError, match="underflow"):
            sinusoidal_encoding(seq_len, 8, base=1e12, dtype=np.float16)
        assert state() == inside
    assert state() == before


@pytest.mark.parametrize("d_model", [128, 512, 8192])
def test_memory_beside_the_result(d_model):
    seq_len = 2**24 // d_model
    tracemalloc.start()
    try:
        table = sinusoidal_encoding(seq_len, d_model)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert table.nbytes == 2**26
    assert peak <= 1.05 * table.nbytes
