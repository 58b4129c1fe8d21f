"""The bug hunt says what a test caught, missed and accused wrongly."""

import numpy as np
import pytest

from posenc.checks.hunt import RIGHT, hunt
from posenc.checks.museum import MUSEUM


def test_a_test_that_asks_little_finds_little():
    report = hunt(lambda encode: np.abs(encode(50, 8)).max() <= 1)
    assert report.startswith("It caught 0 of 7 bugs, and accused 0 of 3 right tables.")
    assert f"missed: {MUSEUM['minus sign'].says} (exhibit 10)" in report
    assert "accused wrongly" not in report


def test_a_test_that_asks_too_much_accuses_what_is_right():
    def strict(encode):
        assert encode(4, 8).dtype == np.float32, "not in 32 bits\nbut more"

    report = hunt(strict)
    assert "accused 2 of 3" in report
    assert "accused wrongly: the same in 64 bits (not in 32 bits)" in report
    assert "caught: minus sign (not in 32 bits)" in report
    assert "accused wrongly: two loops (not in 32 bits)" in report


def test_a_good_test_finds_all():
    def good(encode):
        table, omega = np.asarray(encode(3000, 8)), 10_000.0 ** (-np.arange(0, 8, 2) / 8)
        angles = np.outer(np.arange(3000), omega)
        assert np.allclose(table[:, 0::2], np.sin(angles), atol=1e-3)
        return bool(np.allclose(table[:, 1::2], np.cos(angles), atol=1e-3))

    report = hunt(good)
    assert "It caught 7 of 7 bugs, and accused 0 of 3 right tables." in report
    assert "(AssertionError)" in report or "(it returned False)" in report
    assert report.endswith("Nothing is left to find: a good test.")


def test_the_right_tables_refuse_an_odd_width():
    with pytest.raises(ValueError, match="even"):
        RIGHT["two loops"](3, 5)


def test_what_cannot_be_called_is_no_test():
    with pytest.raises(TypeError, match="test must be a function of encode"):
        hunt(True)
