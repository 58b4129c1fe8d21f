"""The mathematics: identities, properties, and values worked out independently."""

import inspect
import math
import subprocess
import sys

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import posenc
from posenc import (
    angular_frequencies,
    binary_encoding,
    offset_kernel,
    shift_matrix,
    sinusoidal_encoding,
    wavelengths,
)

widths = st.integers(1, 40).map(lambda half: 2 * half)
bases = st.floats(1.5, 1e6)
positions = st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=20)


def encode(where, d_model, base=10_000.0):
    return sinusoidal_encoding(where, d_model, base=base, dtype=np.float64)


def exact(k, d_model, base):
    """One row, in 40 digits, from the formula as it is written."""
    with mpmath.workdps(40):
        row = []
        for i in range(d_model // 2):
            angle = k / mpmath.power(base, mpmath.mpf(2 * i) / d_model)
            row += [mpmath.sin(angle), mpmath.cos(angle)]
        return row


def test_the_matrix_that_document_s2_prints():
    printed = [
        [0.0, 1.0, 0.0, 1.0],
        [0.84147098, 0.54030231, 0.09983342, 0.99500417],
        [0.90929743, -0.41614684, 0.19866933, 0.98006658],
        [0.14112001, -0.9899925, 0.29552021, 0.95533649],
    ]
    np.testing.assert_allclose(encode(4, 4, 100), printed, rtol=0, atol=5e-9)


def test_frequencies_and_wavelengths():
    np.testing.assert_allclose(angular_frequencies(6), [1, 1 / 21.5443469, 1 / 464.1588834])
    assert wavelengths(512)[0] == 2 * math.pi
    assert round(wavelengths(512)[-1]) == 60_611
    assert wavelengths(8, base=16).tolist() == [2 * math.pi * n for n in (1, 2, 4, 8)]
    ratios = wavelengths(64)[1:] / wavelengths(64)[:-1]
    np.testing.assert_allclose(ratios, 10_000 ** (2 / 64))
    assert np.array_equal(shift_matrix(3, 8), shift_matrix(3, 8, base=10_000))
    assert np.array_equal(offset_kernel([3], 8), offset_kernel([3], 8, base=10_000))
    assert angular_frequencies(8).dtype == wavelengths(8).dtype == np.float64


@pytest.mark.parametrize("d_model", [2, 8, 512])
@pytest.mark.parametrize("base", [100, 10_000, 1e6])
def test_float64_against_40_digits(d_model, base):
    where = [0, 1, 2, 63, 1000, 3999]
    table = encode(np.array(where), d_model, base)
    ranged = encode(4000, d_model, base)
    for k, row in zip(where, table, strict=True):
        for got in (row, ranged[k]):
            error = max(
                abs(mpmath.mpf(float(g)) - e)
                for g, e in zip(got, exact(k, d_model, base), strict=True)
            )
            assert error <= 1e-11


def test_float32_against_40_digits():
    where = np.array([1, 4999, 65_535, 524_289, 999_983, 999_999])
    table = sinusoidal_encoding(where, 128)
    assert table.dtype == np.float32
    for k, row in zip(where, table, strict=True):
        error = max(
            abs(mpmath.mpf(float(g)) - e)
            for g, e in zip(row, exact(int(k), 128, 10_000), strict=True)
        )
        assert error <= 3.1e-8


@given(positions, widths, bases)
def test_norm_is_constant(where, d_model, base):
    norms = np.linalg.norm(encode(where, d_model, base), axis=1)
    np.testing.assert_allclose(norms, math.sqrt(d_model / 2))


@pytest.mark.parametrize("d_model", [2, 4, 8, 64, 512])
def test_the_squares_of_a_pair_add_to_one_in_a_short_table(d_model):
    pairs = encode(50, d_model, 10_000).reshape(50, -1, 2)
    np.testing.assert_allclose((pairs**2).sum(axis=2), 1, rtol=0, atol=1e-14)


@given(positions, widths, bases, st.floats(-500, 500))
def test_a_shift_is_the_shift_matrix(where, d_model, base, offset):
    moved = encode(where, d_model, base) @ shift_matrix(offset, d_model, base=base).T
    there = encode(np.array(where) + offset, d_model, base)
    np.testing.assert_allclose(moved, there, rtol=0, atol=1e-11)


@given(widths, bases, st.floats(-500, 500), st.floats(-500, 500))
def test_shifts_are_orthogonal_and_compose(d_model, base, one, two):
    first, second = (shift_matrix(offset, d_model, base=base) for offset in (one, two))
    np.testing.assert_allclose(first @ first.T, np.eye(d_model), rtol=0, atol=1e-12)
    both = shift_matrix(one + two, d_model, base=base)
    np.testing.assert_allclose(second @ first, both, rtol=0, atol=1e-11)


@given(st.integers(1, 60), widths, bases)
def test_gram_matrix_is_the_offset_kernel(seq_len, d_model, base):
    table = encode(seq_len, d_model, base)
    k = np.arange(seq_len)
    kernel = offset_kernel(np.subtract.outer(k, k).ravel(), d_model, base=base)
    np.testing.assert_allclose((table @ table.T).ravel(), kernel, rtol=0, atol=1e-11)


@given(st.integers(0, 50), widths, bases)
def test_a_length_is_its_positions(seq_len, d_model, base):
    direct = encode(np.arange(seq_len), d_model, base)
    np.testing.assert_allclose(encode(seq_len, d_model, base), direct, rtol=0, atol=1e-11)


@given(st.integers(1, 200), widths, bases)
def test_sines_are_even_columns_cosines_odd_ones(k, d_model, base):
    row = encode([k], d_model, base)[0]
    for i, omega in enumerate(angular_frequencies(d_model, base=base)):
        assert row[2 * i] == pytest.approx(math.sin(omega * k), abs=1e-12)
        assert row[2 * i + 1] == pytest.approx(math.cos(omega * k), abs=1e-12)


@given(st.lists(st.integers(0, 2**63 - 1), min_size=1), st.just(63))
def test_binary_digits_spell_the_number(where, n_bits):
    for k, digits in zip(where, binary_encoding(where, n_bits), strict=True):
        assert "".join(map(str, digits[::-1])) == format(k, "063b")


def test_binary_table():
    table = binary_encoding(100, 10)
    assert table.shape == (100, 10)
    assert table.dtype == np.uint8
    assert table[6].tolist() == [0, 1, 1, 0, 0, 0, 0, 0, 0, 0]
    assert binary_encoding([], 3).shape == (0, 3)
    assert binary_encoding(0, 3).shape == (0, 3)


def test_empty_and_single():
    assert sinusoidal_encoding(0, 8).shape == (0, 8)
    assert sinusoidal_encoding([], 8).shape == (0, 8)
    assert sinusoidal_encoding(1, 2).tolist() == [[0.0, 1.0]]


BAD = [
    (lambda: angular_frequencies(7), ValueError, "d_model must be even.*7"),
    (lambda: angular_frequencies(0), ValueError, "d_model must be at least 2.*0"),
    (lambda: angular_frequencies(-2), ValueError, "d_model.*-2"),
    (lambda: angular_frequencies(8.0), TypeError, "d_model must be an int.*8.0"),
    (lambda: angular_frequencies(True), TypeError, "d_model must be an int.*True"),
    (lambda: angular_frequencies("8"), TypeError, "d_model must be an int.*'8'"),
    (lambda: angular_frequencies(8, base=0), ValueError, "base must be positive.*0"),
    (lambda: angular_frequencies(8, base=-1.0), ValueError, "base must be positive.*-1.0"),
    (lambda: angular_frequencies(8, base=math.nan), ValueError, "base must be finite.*nan"),
    (lambda: angular_frequencies(8, base=math.inf), ValueError, "base must be finite.*inf"),
    (lambda: angular_frequencies(8, base=-math.inf), ValueError, "base must be finite.*-inf"),
    (lambda: angular_frequencies(8, base=True), TypeError, "base must be a real number.*True"),
    (lambda: angular_frequencies(8, base="e"), TypeError, "base must be a real number.*'e'"),
    (lambda: wavelengths(3), ValueError, "d_model"),
    (lambda: sinusoidal_encoding(-1, 8), ValueError, "positions must be at least 0.*-1"),
    (lambda: sinusoidal_encoding(2.5, 8), TypeError, "positions must be an int.*2.5"),
    (lambda: sinusoidal_encoding(True, 8), TypeError, "positions must be an int.*True"),
    (lambda: sinusoidal_encoding("10", 8), TypeError, "positions must be an int.*'10'"),
    (lambda: sinusoidal_encoding([0, math.nan], 8), ValueError, "positions must be finite.*nan"),
    (lambda: sinusoidal_encoding([math.inf], 8), ValueError, "positions must be finite.*inf"),
    (lambda: sinusoidal_encoding([[0, 1]], 8), ValueError, "positions.*1-D array, got 2"),
    (lambda: sinusoidal_encoding([True], 8), TypeError, "positions must hold real numbers"),
    (lambda: sinusoidal_encoding(["1"], 8), TypeError, "positions must hold real numbers"),
    (lambda: sinusoidal_encoding([1j], 8), TypeError, "positions must hold real numbers"),
    (lambda: sinusoidal_encoding(4, 8, dtype=np.int32), TypeError, "dtype must be a floating"),
    (lambda: sinusoidal_encoding(4, 8, dtype=complex), TypeError, "dtype must be a floating"),
    (lambda: shift_matrix(math.nan, 8), ValueError, "offset must be finite.*nan"),
    (lambda: shift_matrix("1", 8), TypeError, "offset must be a real number.*'1'"),
    (lambda: shift_matrix(1, 9), ValueError, "d_model must be even"),
    (lambda: offset_kernel([[1]], 8), ValueError, "offsets.*got 2 dimensions"),
    (lambda: offset_kernel(["a"], 8), TypeError, "offsets must hold real numbers"),
    (lambda: binary_encoding(8, 3.0), TypeError, "n_bits must be an int.*3.0"),
    (lambda: binary_encoding(8, 0), ValueError, "n_bits must be at least 1.*0"),
    (lambda: binary_encoding(8, 64), ValueError, "n_bits must be at most 63.*64"),
    (lambda: binary_encoding(9, 3), ValueError, r"positions must be below 2\*\*n_bits = 8, got 8"),
    (lambda: binary_encoding([-1], 3), ValueError, "positions must not be negative, got -1"),
    (lambda: binary_encoding([0.5], 3), TypeError, "positions must hold whole numbers"),
    (lambda: binary_encoding([True], 3), TypeError, "positions must hold whole numbers"),
    (lambda: binary_encoding([[1]], 3), ValueError, "positions.*got 2 dimensions"),
    (lambda: binary_encoding(-1, 3), ValueError, "positions must be at least 0"),
]


@pytest.mark.parametrize(("call", "error", "message"), BAD)
def test_bad_input_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_import_is_light():
    code = "import sys, posenc; print(*{'torch', 'matplotlib', 'sklearn'} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == ""


def test_everything_public_has_a_tested_example():
    for name in posenc.__all__:
        doc = inspect.getdoc(getattr(posenc, name))
        assert ".. math::" in doc
        for section in ("Parameters", "Returns", "Raises", "Examples"):
            assert f"{section}\n---" in doc, f"{name} lacks {section}"
        assert ">>>" in doc
