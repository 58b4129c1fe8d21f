"""The checks reject wrong encodings, name the cause, and accept right ones."""

import json
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import nbformat
import pytest
import torch
from specimens import (
    SPECIMENS,
    Cached,
    Layer,
    distance,
    in_numpy,
    in_torch,
    judge,
    table,
)
from torch import nn

from posenc import checks
from posenc.book import hunt
from posenc.checks.__main__ import main
from posenc.conventions import Convention
from posenc.nn import SinusoidalPositionalEncoding, rotate_pairs

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", SPECIMENS)
def test_specimens(name):
    """A right one passes; a wrong one fails its law, with its cause."""
    kind, subject, options, law, cause = SPECIMENS[name]
    report = judge(kind, subject, **options)
    assert not report.of_status("internal")
    if not law:
        assert report.passed
        return
    assert law in report.failed
    row = report[law]
    if cause:
        assert cause in row.cause
    elif row.bound:  # a number was off: no fault gives it, and none may be accused
        assert "no known fault" in row.cause


def test_the_museum_is_the_book_s():
    """Each exhibit's link leads to it."""
    for fault in checks.MUSEUM.values():
        page, _, anchor = fault.page.partition(".html#")
        notebook = nbformat.read(ROOT / f"{page}.ipynb", as_version=4)
        assert any(
            f'<a id="{anchor}"></a>' in cell.source for cell in notebook.cells
        ), fault.page


@pytest.mark.parametrize("kind", ["table", "module", "rotary", "bias"])
@pytest.mark.parametrize("where", [slice(None), slice(1), slice(-1, None)])
def test_nan_never_passes(kind, where):
    def spoil(made):
        made = torch.as_tensor(made).clone(memory_format=torch.contiguous_format)
        made.view(-1)[where] = torch.nan
        return made

    class Spoiled(Layer):
        def add(self, x, rows):
            return spoil(x + rows)

    subject = {
        "table": lambda n, d, dtype=torch.float32: spoil(in_torch(n, d, dtype)),
        "module": Spoiled,
        "rotary": lambda x, positions: spoil(rotate_pairs(x, positions)),
        "bias": lambda n: spoil(-0.5 * distance(n)),
    }[kind]
    statuses = {row.law: row.status for row in judge(kind, subject)}
    others = {law for law, status in statuses.items() if status == "passed"}
    assert others <= {"odd"}  # which expects an error
    assert statuses["shape"] == "failed"


def test_code_that_raises_is_told_from_checks_that_fail(monkeypatch):
    def crashes(*given):
        raise RuntimeError("no such luck\nand more")

    report = checks.check_table(crashes)
    assert report.failed == ["shape"]
    assert report.error.count("RuntimeError: no such luck") == 1
    assert "trials.py" not in report.error
    assert report["norm"].note == "follows from shape"
    monkeypatch.setattr("posenc.conventions.measure", crashes)
    report = checks.check_table(lambda n, d: 2 * table(n, d), laws=["values"])
    assert (report.failed, report.passed) == ([], False)
    with pytest.raises(
        RuntimeError, match="checks failed, not your code: please report"
    ):
        report.raise_if_failed()


def test_the_kind_of_a_subject_is_guessed():
    kinds = [
        table,
        rotate_pairs,
        lambda seq_len: 0,
        SinusoidalPositionalEncoding,
        nn.ReLU(),
        Cached(),
    ]
    found = [checks.kind_of(subject) for subject in kinds]
    assert found == ["table", "rotary", "bias", "module", "module", "rotary"]
    assert "numpy arrays" in checks.check_rotary(in_numpy)["gradient"].note


TABLE, ROTARY = checks.check_table, checks.check_rotary
BAD = [  # what is called with a subject and options, and the message
    (TABLE, 3, {}, "a subject must be callable, got 3"),
    (TABLE, table, {"widths": [9]}, "widths must be even"),
    (TABLE, table, {"laws": "norm"}, "laws must be a list"),
    (TABLE, table, {"laws": ["norm", "peace"]}, r"got \['peace'\]"),
    (TABLE, table, {"convention": "mine"}, "must be a Convention or one of"),
    (TABLE, table, {"tags": "mine"}, "tags must be among learned, .*'mine'"),
    (TABLE, table, {"bases": 3}, "unexpected keyword argument 'bases'"),
    (ROTARY, rotate_pairs, {"frequencies": [[1]]}, "a row per axis, got 1, axes=None"),
    (
        ROTARY,
        rotate_pairs,
        {"library": "json"},
        "library must be a module with asarray",
    ),
    (checks.check_module, nn.LayerNorm(4), {}, "pass d_model"),
    (checks.check_module, partial(Layer, more=1), {}, "argument 'more'"),
    (checks.check_bias, len, {"expected": 3}, "expected must be 'alibi', 't5' or a"),
    (checks.check_decoder, len, {"step": 3}, "step must be callable, got 3"),
    (checks.check, table, {"kind": "sofa"}, "kind must be one of table.*'sofa'"),
    (checks.Report("", "", None, ()).expecting, {"x": ""}, {}, "got 'x'"),
    (Convention, "sofa", {}, "layout must be one of interleaved; .* got 'sofa'"),
    (Convention, "halves", {"share": 0}, "share must be above 0 and at most 1, got 0"),
    (Convention, "halves", {"step": 0}, "step must be positive, or 'one turn', got 0"),
    (
        Convention("halves").table,
        3,
        {"d_model": 8},
        "layout must be .* for a table, .*'halves",
    ),
    (hunt.hunt, True, {}, "test must be a function of encode"),
]


@pytest.mark.parametrize(("call", "subject", "options", "message"), BAD)
def test_an_argument_that_is_wrong_is_named(call, subject, options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call(subject, **options)


def test_a_report_says_where_the_two_part():
    report = judge("table", hunt.dimension_for_pair)
    first = repr(report).splitlines()[0]
    assert first.startswith(
        "dimension_for_pair (table) fails values: width 16, position 1"
    )
    assert re.search(r"off by \S+, at most \S+ \(τ", first)
    assert report._repr_html_().count("<tr>") == len([*report])
    assert 'href="../notebooks/14_bug_museum.html#exhibit-2"' in report._repr_html_()
    with pytest.raises(AssertionError, match="✗ values"):
        report.raise_if_failed()


def test_expected_failures(tmp_path):
    report = checks.check_table(hunt.own_exponent, laws=["values", "shape"])
    expected = report.expecting({"values": "embeddings are halved"})
    assert (expected.passed, expected.counts()) == (True, "1 passed, 1 expected")
    assert "! values       expected: embeddings are halved" in repr(expected)
    mended = report.expecting({"shape": "an axis too many"})
    assert mended["shape"].cause.startswith(
        "it was fixed, so drop the expected failure"
    )
    # In a file, for pytest
    file = tmp_path / "expected.toml"
    file.write_text('[own_exponent]\nvalues = "halved"\n')
    shape, values, half = checks.parametrize_with_checks(
        [hunt.own_exponent], expect=file, laws=["shape", "values", "half"]
    ).mark.args[1]
    assert (shape.id, values.id) == ("own_exponent-shape", "own_exponent-values")
    shape.values[0]()
    with pytest.raises(pytest.xfail.Exception, match="expected: halved"):
        values.values[0]()
    with pytest.raises(pytest.skip.Exception, match="no argument `dtype`"):
        half.values[0]()


RIGHT, WRONG = "posenc:sinusoidal_encoding", "posenc.book.hunt:own_exponent"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (RIGHT, 0, ""),
        (
            f"{RIGHT} --expect norm",
            2,
            "could not be checked: ValueError: expected failures",
        ),
        (WRONG, 1, ""),
        ("recall:DECODER.full --step specimens:OFF_BY_ONE.step --laws steps", 1, ""),
        (f"{WRONG} --expect values=meant --json", 0, ""),
        (
            f"{RIGHT} operator:getitem",
            2,
            "operator:getitem could not be checked: TypeError",
        ),
        (
            "sys:exit --kind bias --laws shape",
            2,
            "could not be checked: SystemExit: 24",
        ),
    ],
)
def test_exit_codes(arguments, code, said, capsys):
    assert main(["--laws=values", *arguments.split()]) == code
    printed = capsys.readouterr()
    assert said in printed.err
    if "--json" in arguments:
        (report,) = json.loads(printed.out)
        assert report["rows"][0]["status"] == "expected"


def test_a_terminal_without_marks_and_python_without_docstrings():
    run = [sys.executable, "-OO", "-m", "posenc.checks", WRONG]
    environment = {"PYTHONIOENCODING": "cp1252", "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(run, env=environment, capture_output=True, check=False)
    assert done.returncode == 1, done.stderr.decode()
    assert "x values" in done.stdout.decode("cp1252")


def test_the_hunt_says_what_a_test_caught_missed_and_accused():
    def good(encode):
        if abs(encode(3000, 8) - table(3000, 8)).max() > 1e-3:
            raise AssertionError

    blind = hunt.hunt(lambda encode: encode(4, 8).dtype == "float32")
    assert "false alarm: two loops (it returned False)" in blind
    little = hunt.hunt(lambda encode: len(encode(4, 8)) == 4)
    assert f"missed: {checks.MUSEUM['minus sign'].says} (exhibit 10)" in little
    best = hunt.hunt(good)
    assert "It caught 8 of 8 bugs, and rejected 0 of 3 correct tables." in best
    assert best.endswith("Nothing is left to find: a good test.")
