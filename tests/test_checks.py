"""The checks reject wrong encodings, say why, and accept correct ones.

`python tests/test_checks.py` records the verdicts on all specimens in verdicts.txt: for each, the
laws that passed (✓), failed (✗, with the cause that is named), follow (·) and don't apply (–), and
the convention. A change of the checks changes lines; each needs a reason.
"""

import json
import re
import runpy
import sys
from functools import partial
from itertools import groupby
from pathlib import Path
from types import ModuleType

import nbformat
import numpy as np
import pytest
import torch
from docutils.nodes import make_id
from specimens import (
    DECODER,
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
from posenc.checks.calls import rounded_products
from posenc.checks.laws import MARKS
from posenc.checks.probe import Library, values
from posenc.conventions import Convention
from posenc.nn import SinusoidalPositionalEncoding, rotate_pairs

ROOT = Path(__file__).parents[1]
RECORD = Path(__file__).with_name("verdicts.txt")
RECORDED = {
    line.partition(" | ")[0]: line for line in RECORD.read_text("utf-8").splitlines()
}
main = runpy.run_module("posenc.checks.__main__")["main"]


def line(name, report):
    """Write the verdicts on a subject in one line."""

    def verdict(row):
        exhibit = row.exhibit and f"exhibit {row.exhibit.number}"
        return MARKS[row.status], exhibit or row.likely.partition(":")[0][:60]

    parts = [name]
    for (mark, cause), rows in groupby(report, verdict):
        parts.append(
            f"{mark} {' '.join(row.law for row in rows)}{cause and f' ({cause})'}"
        )
    return " | ".join([*parts, report.known()])


def examine(name):
    kind, _, subject, options = SPECIMENS[name]
    return judge(kind, subject, **options)


def one(law, kind, subject, **options):
    """Check one law, and return its row."""
    return judge(kind, subject, laws=[law], **options)[law]


# Correct encodings pass, wrong ones fail


@pytest.mark.parametrize("name", SPECIMENS)
def test_the_verdict_is_the_recorded_one(name):
    """A right specimen's report says what is expected; a wrong one breaks the law it is about."""
    report, expected = examine(name), SPECIMENS[name][1]
    broken = [row.law for row in report if row.status not in ("passed", "skipped")]
    assert line(name, report) == RECORDED[name]
    assert not report.internal
    assert (
        expected in broken
        if name.startswith(("wrong", "bug"))
        else expected in repr(report)
    )
    assert bool(broken) == name.startswith(("wrong", "bug"))


def test_every_law_and_exhibit_has_a_specimen():
    assert [*RECORDED] == [*SPECIMENS]
    parts = [
        (each.split()[1], part)
        for each in RECORDED.values()
        for part in each.split(" | ")
    ]
    broken = {
        (kind, law) for kind, part in parts if part[0] in "✗·" for law in part.split()
    }
    laws = {(kind, law) for kind in checks.CHECKS for law in checks.laws_of(kind)}
    assert laws - broken == {("module", "convention")}  # as of a table
    assert all(law.asks and law.source and law.likely for law in checks.LAWS)
    said = {
        number for _, part in parts for number in re.findall(r"exhibit (\w+)", part)
    }
    assert said == {exhibit.number for exhibit in checks.MUSEUM.values()}


def test_the_museum_is_the_book_s():
    """Each exhibit's link leads to it."""
    for exhibit in checks.MUSEUM.values():
        page, _, anchor = exhibit.page.partition(".html#")
        notebook = nbformat.read(ROOT / f"{page}.ipynb", as_version=4)
        text = "\n".join(
            cell.source for cell in notebook.cells if cell.cell_type == "markdown"
        )
        assert anchor in map(make_id, re.findall(r"^#+ (.*)$", text, re.MULTILINE))
        assert re.search(rf"\b[Ee]xhibit {exhibit.number}\b", text)


@pytest.mark.parametrize("kind", ["table", "module", "rotary", "bias"])
@pytest.mark.parametrize(
    "where", [slice(None), slice(1), slice(-1, None)], ids=["all", "0", "-1"]
)
def test_nan_never_passes(kind, where):
    """A correct subject, except for NaN in all of its results, or in one entry of each."""

    def spoil(made):
        made = torch.as_tensor(made).clone(memory_format=torch.contiguous_format)
        made.view(-1)[where] = torch.nan
        return made

    subject = {
        "table": lambda n, d, dtype=torch.float32: spoil(in_torch(n, d, dtype)),
        "module": partial(Layer, add=lambda x, rows: spoil(x + rows)),
        "rotary": lambda x, positions: spoil(rotate_pairs(x, positions)),
        "bias": lambda n: spoil(-0.5 * distance(n)),
    }[kind]
    # `odd` expects an error, `compile` compares what `start` does, the others need more options
    others = ("odd", "meta", "compile", "values", "axes", "cast")
    options = {"laws": [law for law in checks.laws_of(kind) if law not in others]}
    if kind != "bias":
        options["convention"] = "rotary, halves" if kind == "rotary" else "paper"
    assert {row.status for row in judge(kind, subject, **options)} <= {
        "failed",
        "follows",
    }


def test_code_that_raises_is_told_from_checks_that_fail(monkeypatch):
    def crashes(*given):
        raise RuntimeError("no such luck\nand more")

    report = checks.check_table(crashes)
    assert (report.raised, report.failed) == (True, ["shape"])
    assert report.error.count("RuntimeError: no such luck") == 1
    assert "laws.py" not in report.error
    assert report["norm"].note == "follows from shape"
    assert one("unique", "rotary", crashes).measured == "RuntimeError: no such luck"
    monkeypatch.setattr("posenc.checks.pairs.compared", crashes)
    report = checks.check_table(table, laws=["shape", "norm"])
    assert (report.failed, report.internal, report.passed) == ([], ["norm"], False)
    with pytest.raises(
        RuntimeError, match="checks failed, not your code: please report"
    ):
        report.raise_if_failed()
    monkeypatch.setattr("posenc.conventions.agree", crashes)
    assert "no such luck" in checks.check_table(table, laws=["shape"]).error


def test_products_are_rounded_to_tf32():
    x = torch.full((1, 2), 1 + 2.0**-12)
    with rounded_products():
        assert (x @ x.T).item() == 2 < (x.double() @ x.double().T).item()
        assert torch.einsum("i,j->ij", x[0], x[0])[0, 1].item() > 1


# Subjects and arrays of every kind


def test_the_kind_of_a_subject_is_guessed(monkeypatch):
    kinds = [
        table,
        rotate_pairs,
        lambda seq_len: 0,
        SinusoidalPositionalEncoding,
        nn.ReLU(),
    ]
    found = [checks.kind_of(each) for each in (*kinds, Cached, Cached())]
    assert found == ["table", "rotary", "bias", "module", "module", "rotary", "rotary"]
    monkeypatch.delitem(sys.modules, "torch")
    assert checks.kind_of(table) == "table"
    assert one("shape", "decoder", DECODER).note.startswith("numpy, ")
    assert one("shape", "rotary", in_numpy).note.startswith("numpy, ")


def test_bfloat16_of_other_libraries():
    """Such as jax, whose arrays have a dtype that numpy doesn't know."""

    class Half(np.ndarray):
        dtype = "bfloat16"

    assert (
        values(np.ones(2).view(Half)).dtype
        == values(torch.ones(2).bfloat16()).dtype
        == "f4"
    )
    other = ModuleType("other")
    vars(other).update(asarray=np.asarray, bfloat16=np.float16)
    assert Library(other).array([1.0], "bfloat16").dtype == np.float16
    assert Library(torch).array([1.0], "bfloat16").dtype == torch.bfloat16


# Arguments


TABLE, ROTARY, MODULE = checks.check_table, checks.check_rotary, checks.check_module
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
    (MODULE, nn.LayerNorm(4), {}, "pass d_model"),
    (MODULE, partial(Layer, more=1), {}, "argument 'more'"),
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


# The report, pytest, the shell and the hunt


def test_a_report_says_what_is_wrong():
    report = judge("table", hunt.dimension_for_pair)
    text, page = repr(report), report._repr_html_()
    assert "convention: none known" in text
    assert "most likely: The exponent counts dimensions" in text
    assert re.search(
        r"exhibit 2, chapter (\d+): notebooks/\1_bug_museum.html#exhibit-2", text
    )
    assert page.count("<tr>") == len([*report]) + 1
    assert 'href="../notebooks/14_bug_museum.html#' in page
    with pytest.raises(AssertionError, match="✗ norm"):
        report.raise_if_failed()


def test_expected_failures(tmp_path):
    report = checks.check_table(hunt.own_exponent, laws=["norm", "shape", "convention"])
    expected = report.expecting(
        {"norm": "embeddings are halved", "convention": "no matter"}
    )
    assert (expected.passed, expected.counts()) == (
        True,
        "1 passed, 1 expected, 1 skipped",
    )
    assert "! norm         expected: embeddings are halved" in repr(expected)
    mended = report.expecting({"shape": "an axis too many"})
    assert mended.failed == ["shape", "norm"]
    assert (
        mended["shape"].likely
        == "it was fixed, so drop the expected failure: an axis too many"
    )
    # In a file, for pytest
    file = tmp_path / "expected.toml"
    file.write_text('[own_exponent]\nnorm = "halved"\n')
    shape, norm, convention = checks.parametrize_with_checks(
        [hunt.own_exponent], expect=file, laws=["shape", "norm", "convention"]
    ).mark.args[1]
    assert (shape.id, norm.id) == ("own_exponent-shape", "own_exponent-norm")
    shape.values[0]()
    with pytest.raises(pytest.xfail.Exception, match="expected: halved"):
        norm.values[0]()
    with pytest.raises(pytest.skip.Exception, match="none was requested"):
        convention.values[0]()


RIGHT_ONE, WRONG_ONE = "posenc:sinusoidal_encoding", "posenc.book.hunt:own_exponent"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (RIGHT_ONE, 0, ""),
        (
            f"{RIGHT_ONE} --expect norm",
            2,
            f"{RIGHT_ONE} could not be checked: ValueError: an exp",
        ),
        (WRONG_ONE, 1, ""),
        ("recall:DECODER.full --step specimens:OFF_BY_ONE.step --laws steps", 1, ""),
        (f"{WRONG_ONE} --expect norm=meant --json", 0, ""),
        (
            f"{RIGHT_ONE} operator:getitem",
            2,
            "operator:getitem could not be checked: TypeError",
        ),
        (
            "sys:exit --kind bias --laws shape",
            2,
            "sys:exit could not be checked: SystemExit: 24",
        ),
    ],
)
def test_exit_codes(arguments, code, said, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["checks", "--laws=norm", *arguments.split()])
    with pytest.raises(SystemExit) as end:
        runpy.run_module("posenc.checks", run_name="__main__")
    printed = capsys.readouterr()
    assert end.value.code == code
    assert re.match(said or "$", printed.err)
    if "--json" in arguments:
        (found,) = json.loads(printed.out)
        assert found["laws"][0]["status"] == "expected"
        assert found["laws"][0]["exhibit"]["number"] == "9"


def test_the_hunt_says_what_a_test_caught_missed_and_accused():
    def good(encode):
        if not np.allclose(encode(3000, 8), table(3000, 8), atol=1e-3):
            raise AssertionError

    blind = hunt.hunt(lambda encode: encode(4, 8).dtype == np.float32)
    assert "false alarm: two loops (it returned False)" in blind
    little = hunt.hunt(lambda encode: len(encode(4, 8)) == 4)
    assert f"missed: {checks.MUSEUM['minus sign'].says} (exhibit 10)" in little
    best = hunt.hunt(good)
    assert "It caught 7 of 7 bugs, and rejected 0 of 3 correct tables." in best
    assert "caught: rounded positions (AssertionError)" in best
    assert best.endswith("Nothing is left to find: a good test.")


if __name__ == "__main__":
    found = [line(name, examine(name)) + "\n" for name in SPECIMENS]
    RECORD.write_text("".join(found), encoding="utf-8")
