"""The checks reject wrong encodings, name the cause, and accept right ones."""

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from reading import python, text_of
from recall import BUGS, Rotary, check
from specimens import SPECIMENS, learned, offsets, table
from torch import nn

from posenc import checks, rotate_pairs
from posenc.book import hunt
from posenc.checks.__main__ import main
from posenc.checks.causes import OTHER_POSITIONS
from posenc.conventions import UNIT, Convention


def judge(kind, subject, **options):
    """Check quickly; float16 rounds from 2048 on, bfloat16 from 256 on."""
    quick = {"longest": 5000} if kind in ("table", "module", "rotary") else {}
    return check(subject, kind, **quick | options)


def test_each_law_rejects_a_specimen():
    rejected = {says.partition(":")[0] for _, says, *_ in SPECIMENS}
    rejected |= {bug.law for bug in BUGS}
    accepting = {law.name for law in checks.LAWS} - rejected
    assert accepting == set(), "add a wrong function to tests/specimens.py"


@pytest.mark.parametrize(("kind", "says", "subject", "options"), SPECIMENS)
def test_specimens(kind, says, subject, options):
    """A right one passes; a wrong one fails its law, with its cause."""
    law, _, words = says.partition(": ")
    report = judge(kind, subject, **options)
    assert not report.of_status("internal")
    json.dumps(report.as_dict(), allow_nan=False)  # which other parsers refuse
    if law == "right":
        assert report.passed
        return
    assert law in report.failed
    said = f"{report[law].note}; {report[law].cause}"
    assert words in said
    assert "\n" not in said
    if law == "shape":  # without it, others say nothing
        assert not report.of_status("passed")


# But those of some calls alone, and of a part, which are specimens.
ELSEWHERE = "within the part", "mixed layouts"
NAMED = [fault for fault in checks.FAULTS if not fault.says.startswith(ELSEWHERE)]
# Where 0 is taken for each position, nothing turns.
NAMED += OTHER_POSITIONS[1:]


@pytest.mark.parametrize("fault", NAMED, ids=lambda fault: fault.name)
def test_a_known_fault_is_caught_and_named(fault):
    """Of another base and factor than the usual ones, with angles that float32 rounds."""
    is_rotary = "rotary" in fault.kinds
    known = Convention("halves" if is_rotary else "interleaved", base=2000, step=0.25)

    def rotate(x, k):
        k = np.broadcast_to(np.float64(k), x.shape[:-1])
        call = known.encoding(x, k)._replace(factor=1.5, stretch=1 + UNIT)
        return fault.make(call).astype(x.dtype)

    report = checks.check(
        rotate if is_rotary else lambda n, d: rotate(np.zeros((n, d)), range(n)),
        "rotary" if is_rotary else fault.kinds[0],
        convention=known,
        attention_factor=1.5,
        longest=6000,
    )
    assert report.failed
    assert fault.says in report[report.failed[0]].cause


def test_the_museum_is_the_book_s():
    """Each exhibit's link leads to it."""
    for fault in checks.MUSEUM.values():
        page, _, anchor = fault.page.partition(".html#")
        assert f'id=\\"{anchor}\\"' in text_of(f"{page}.ipynb")


@pytest.mark.parametrize("made", [None, [[1.0], [1.0, 2.0]]], ids=str)
def test_what_is_no_array_is_the_user_s_trouble(made):
    for kind in ("table", "module", "rotary", "bias", "decoder"):
        report = checks.check(lambda *given: made, kind)
        assert report.failed
        assert not report.of_status("internal", "passed")


def test_code_that_raises_is_told_from_checks_that_fail(monkeypatch):
    def crashes(*given):
        raise RuntimeError("no such luck\nand more")

    assert "RuntimeError: no such luck" in checks.check_table(crashes).error
    monkeypatch.setattr("posenc.checks.declared.rotations", crashes)
    # An iterator that was read twice would leave no law, and pass.
    report = checks.check_rotary(rotate_pairs, laws=iter(["values"]))
    assert (report.failed, report.passed) == ([], False)
    with pytest.raises(RuntimeError, match="not your code: please report"):
        report.raise_if_failed()


KINDS = {Rotary(): "rotary", nn.ReLU(): "module", offsets: "bias"}


@pytest.mark.parametrize(("subject", "kind"), KINDS.items())
def test_the_kind_of_a_subject_is_guessed(subject, kind):
    assert checks.kind_of(subject) == kind


BAD = {  # options of a check, by what is said of them
    "must be even": {"widths": [9]},
    "law of a table must be one of shape; .* got 'peace'": {"laws": ["far", "peace"]},
    "must be that of a table, got": {"convention": "rotary, halves"},
    "base must not be": {"base": 100, "convention": "paper"},
    "learned must not be given with": {"kind": "rotary", "learned": True},
    "widths must be one that": {"frequencies": [1, 0.1], "widths": [4, 6]},
    r"expected= or right= can.t be used: a bias of shape \(24,\) for": {
        "kind": "bias",
        "expected": np.ones,
    },
    r"expected= or right= can.t be used: .*no_frames": {
        "kind": "positions",
        "expected": "images",
        "right": lambda sizes: sizes.no_frames,
    },
}


@pytest.mark.parametrize("message", BAD)
def test_an_argument_that_is_wrong_is_named(message):
    with pytest.raises((TypeError, ValueError), match=message):
        checks.check(table, **BAD[message])


def own_exponent(seq_len, d_model):
    return hunt.wrong_table("own exponent", seq_len, d_model)


def test_a_report_says_where_the_two_part():
    report = judge("table", own_exponent, base=10_000)
    part = "own_exponent .* fails values: .*, position 1, .* for .* at most .*tau"
    assert re.match(part, repr(report))
    html = report._repr_html_()
    assert 'href="../notebooks/14_bug_museum.html#exhibit-9"' in html
    with pytest.raises(AssertionError, match="failed   values"):
        report.raise_if_failed()


def test_expected_failures(tmp_path):
    file = tmp_path / "expected.toml"
    file.write_text('[own_exponent]\nvalues = "halved"')
    decorator = checks.parametrize_with_checks(
        [own_exponent],
        expect=file,
        laws=["shape", "values", "half"],
        base=10_000,
    )
    shape, values, half = decorator.mark.args[1]
    assert values.id == "own_exponent-values"
    shape.values[0]()
    with pytest.raises(pytest.xfail.Exception, match="expected: halved"):
        values.values[0]()
    with pytest.raises(pytest.skip.Exception, match="follows from values"):
        half.values[0]()
    both = checks.parametrize_with_checks([table, learned], laws=iter(["shape"]))
    assert [test.id for test in both.mark.args[1]] == ["table-shape", "learned-shape"]
    report = checks.check_table(table, laws=["shape"])
    mended = report.expecting({"shape": "an axis too many"})
    assert "so drop the expected failure" in mended["shape"].cause


# With a base, since all usual ones would be tried
WRONG = "posenc:binary_encoding --base=1e4 --laws=values"
DECODER = "recall:DECODER.full --kind decoder"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ("posenc:sinusoidal_encoding --laws=values", 0, ""),
        (f"{WRONG} --json", 1, ""),
        (f"{WRONG} --expect expected.toml", 0, ""),
        (f"{DECODER} --step specimens:OFF_BY_ONE.step --laws steps", 1, ""),
        ("operator:getitem", 2, ""),
        (f"{WRONG} --step nope:step", 2, "ModuleNotFoundError: No module named 'nope'"),
        ("sys:exit --kind bias", 2, "could not be checked: SystemExit: 24"),
    ],
)
def test_exit_codes(arguments, code, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("expected.toml").write_text('[binary_encoding]\nvalues = "of bits"')
    assert main(arguments.split()) == code
    printed = capsys.readouterr()
    assert said in printed.err
    if "--json" in arguments:
        report = json.loads(printed.out)
        assert report["rows"][0]["status"] == "failed"


def test_a_terminal_without_marks_and_python_without_docstrings():
    old = os.environ | {"PYTHONIOENCODING": "cp1252"}
    run = python("-OO", "-m", "posenc.checks", *WRONG.split(), env=old)
    assert "failed   values" in run.stdout
