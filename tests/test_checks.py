"""The checks reject wrong encodings, say why, and accept correct ones."""

import json
import re
import runpy
import sys
from functools import wraps
from pathlib import Path
from types import SimpleNamespace

import array_api_strict
import nbformat
import numpy as np
import pytest
import torch
from docutils.nodes import make_id
from specimens import DECODER, NOTED, RIGHT, WRONG, distance, in_numpy, in_torch, last_part, table
from torch import nn

from posenc import checks
from posenc.book import hunt, recall
from posenc.checks._torch import RoundedProducts
from posenc.checks.conventions import Convention
from posenc.checks.subjects import Library, library_of, values, worst
from posenc.nn import SinusoidalPositionalEncoding, rotate_pairs

ROOT = Path(__file__).parents[1]
QUICK = {"longest": 5000, "length": 2500}  # float16 rounds from 2048 on, bfloat16 from 256 on


def looked_at(kind, subject, **options):
    """Check all laws but `compile`, which loads a compiler."""
    laws = {"laws": [law for law in checks.laws_of(kind) if law != "compile"]}
    quick = {} if kind in ("bias", "decoder") else QUICK
    return checks.check(kind=kind, **recall.named(subject, kind), **laws | quick | options)


def one(law, kind, subject, **options):
    """Check one law, and return its row."""
    return looked_at(kind, subject, **{"laws": [law]} | options)[law]


# Correct encodings pass, wrong ones fail


@pytest.mark.parametrize(("kind", "subject", "known", "options"), RIGHT)
def test_what_is_right_passes_and_is_known(kind, subject, known, options):
    report = looked_at(kind, subject, **options)
    report.raise_if_failed()
    assert known in report.known()


@pytest.mark.parametrize("wrong", WRONG, ids=[f"{each[0]}: {each[1]} {each[3]}" for each in WRONG])
def test_what_is_wrong_breaks_its_laws_and_no_others(wrong):
    laws = [law for law in wrong.laws.split() if law != "…"]
    extra = {"laws": checks.laws_of(wrong.kind)} if "compile" in laws else {}
    report = looked_at(wrong.kind, wrong.subject, **extra | wrong.options)
    assert report.failed[: len(laws) if "…" in wrong.laws else None] == laws
    law, _, words = wrong.says.partition(": ")
    law, words = (law, words) if law in report.failed else (laws[0], wrong.says)
    assert words in str(report[law])


@pytest.mark.parametrize(("kind", "law", "subject", "note", "options"), NOTED)
def test_what_is_said_where_nothing_is_wrong(kind, law, subject, note, options):
    row = one(law, kind, subject, **options)
    assert row.status != "failed"
    assert note in row.note


def test_the_public_bugs_are_caught_and_what_is_right_beside_them_passes():
    found = list(recall.recall(**QUICK))
    assert [(each.caught, each.accused) for each in found] == [(b.law, ()) for b in recall.BUGS]
    assert all(bool(bug.why) is not bool(bug.law) for bug in recall.BUGS)


def test_every_law_has_reasons_and_a_specimen_that_it_fails():
    assert all(law.asks and law.source and law.likely for law in checks.LAWS)
    fails = {(wrong.kind, law) for wrong in WRONG for law in wrong.laws.split()}
    fails |= {(bug.kind, bug.law) for bug in recall.BUGS} | {*NAN}
    assert {(kind, law) for kind in checks.CHECKS for law in checks.laws_of(kind)} <= fails


def test_the_museum_is_the_book_s():
    """Each exhibit's link leads to it, and a specimen is recognized as it."""
    for exhibit in checks.MUSEUM.values():
        notebook = nbformat.read(ROOT / "notebooks" / f"{exhibit.chapter}.ipynb", as_version=4)
        text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
        assert exhibit.anchor in map(make_id, re.findall(r"^#+ (.*)$", text, re.MULTILINE))
        assert re.search(rf"\b[Ee]xhibit {exhibit.number}\b", text)
    said = {number for wrong in WRONG for number in re.findall(r"exhibit (\w+),", wrong.says)}
    assert said == {exhibit.number for exhibit in checks.MUSEUM.values()}


# NaN never passes, and neither do exceptions

# `odd` expects an error, `compile` compares what `start` does, and the others need more options.
OTHERS = {("module", "compile"), ("rotary", "axes"), ("rotary", "cast")}
NAN = [
    (kind, law)
    for kind in ("table", "module", "rotary", "bias")
    for law in checks.laws_of(kind)
    if law not in ("odd", "meta") and (kind, law) not in OTHERS
]


@pytest.mark.parametrize(("kind", "law"), NAN)
@pytest.mark.parametrize("where", [slice(None), slice(1), slice(-1, None)], ids=["all", "0", "-1"])
def test_nan_never_passes(kind, law, where):
    """A correct subject, except for NaN in all of its results, or in one entry of each."""

    def spoil(made):
        made = torch.as_tensor(made).clone(memory_format=torch.contiguous_format)
        made.view(-1)[where] = torch.nan
        return made

    layer = SinusoidalPositionalEncoding(16)
    layer.register_forward_hook(lambda module, given, made: spoil(made))
    right = {"table": in_torch, "rotary": rotate_pairs, "bias": lambda n: -0.5 * distance(n)}
    subject = right.get(kind, layer)
    if kind != "module":
        subject = wraps(subject)(lambda *given, **named: spoil(right[kind](*given, **named)))
    convention = {"convention": "rotary, halves" if kind == "rotary" else "paper"}
    row = one(law, kind, subject, **{} if kind == "bias" else convention)
    assert row.status == "failed"


def test_what_raises_could_not_be_checked():
    def crashes(*given):
        raise RuntimeError("no such luck\nand more")

    report = checks.check_table(crashes)
    assert report.error == "RuntimeError: no such luck"
    assert report["shape"].likely == "the code raises an error"
    assert one("odd", "rotary", crashes).measured.startswith("RuntimeError")
    assert one("unique", "rotary", crashes).measured == "no position is accepted"
    silent = one("shape", "table", lambda n, d: (_ for _ in ()).throw(RuntimeError()))
    assert silent.measured == "RuntimeError: "


def test_no_entry_is_within_any_bound():
    assert worst(np.zeros((0, 3)), 2.0) == (0.0, 2.0, ())


def test_products_that_are_rounded():
    x = torch.tensor([[1 + 2.0**-12]])
    with RoundedProducts():
        assert (x @ x).item() == torch.einsum("ij,jk->ik", x, x).item() == 1
        assert torch.einsum("i,j->ij", x[0], x[0]).item() > 1
        assert (x.double() @ x.double()).item() > 1


# Subjects and arrays of every kind


def test_a_layer_is_taken_as_it_is_told():
    second = SinusoidalPositionalEncoding(16, batch_first=False)
    assert one("unique", "module", second, batch_first=True).status == "failed"
    kinds = [table, rotate_pairs, lambda seq_len: 0, SinusoidalPositionalEncoding, nn.ReLU(), int]
    found = [checks.kind_of(each) for each in kinds]
    assert found == ["table", "rotary", "bias", "module", "module", "table"]
    assert max(looked_at("rotary", last_part).errors) == 63


def test_without_torch(monkeypatch):
    monkeypatch.delitem(sys.modules, "torch")
    assert one("shape", "decoder", recall.pair()).note.startswith("numpy, ")
    assert one("shape", "rotary", in_numpy).note.startswith("numpy, ")
    assert checks.kind_of(table) == "table"


def test_arrays_of_other_libraries():
    """Here, one that supports only DLPack."""
    xp = array_api_strict

    def rotate(x, positions):
        return xp.asarray(in_numpy(np.from_dlpack(x), np.from_dlpack(positions)))

    report = checks.check_rotary(rotate, library=xp, **QUICK)
    report.raise_if_failed()
    assert report.convention == checks.KNOWN["rotary, neighbors"]
    assert not checks.check_rotary(lambda x, p: rotate(x, p % 512), library=xp, **QUICK).passed
    assert checks.check_table(lambda n, d: xp.asarray(table(n, d)), **QUICK).passed
    assert checks.check_decoder(DECODER.full, library=np, laws=["shape"]).passed


def test_bfloat16_of_other_libraries():
    """Such as jax, whose arrays have a dtype that numpy doesn't know."""

    class Half(np.ndarray):
        dtype = "bfloat16"

    assert values(np.ones(2).view(Half)).dtype == values(torch.ones(2).bfloat16()).dtype == "f4"
    other = Library(SimpleNamespace(__name__="other", asarray=np.asarray, bfloat16=np.float16))
    assert other.array([1.0], "bfloat16").dtype == np.float16
    assert library_of(torch).array([1.0], "bfloat16").dtype == torch.bfloat16


# Arguments

ROTARY = checks.check_rotary
BAD = [
    (lambda: checks.check_table(3), "encode must be callable, got 3"),
    (lambda: checks.check(table, "sofa"), "kind must be one of table.*'sofa'"),
    (lambda: checks.check_table(table, widths=[9]), "widths must be even"),
    (lambda: checks.check_table(table, widths="16"), "widths must be a sequence"),
    (lambda: checks.check_table(table, laws="norm"), "laws must be a list"),
    (lambda: checks.check_table(table, laws=["norm", "peace"]), "got 'peace'"),
    (lambda: checks.check_table(table, convention="mine"), "convention must be one"),
    (lambda: checks.check_table(table, convention=3), "convention must be a Convention"),
    (lambda: ROTARY(rotate_pairs, attention_factor=0), "attention_factor must be positive"),
    (lambda: ROTARY(rotate_pairs, frequencies=[[1]]), "a row per axis, got 1, axes=None"),
    (lambda: ROTARY(rotate_pairs, axes="t"), "axes must be an int, or the axis of"),
    (lambda: ROTARY(rotate_pairs, library=3), "library must be a module"),
    (lambda: ROTARY(rotate_pairs, library="json"), "library must have asarray"),
    (lambda: checks.check_bias(len, causal=1), "causal must be a bool, got 1"),
    (lambda: checks.check_decoder(len, relative=1), "relative must be a bool, got 1"),
    (lambda: checks.check_module(nn.ReLU(), batch_first=1), "batch_first must be a bool"),
    (lambda: checks.check_module(nn.ReLU(), d_model=16, positions="w"), "an argument"),
    (lambda: checks.check_module(nn.LayerNorm(4)), "pass d_model"),
    (lambda: checks.parametrize_with_checks([table], expect={"x": ""}), "got 'x'"),
    (lambda: Convention("sofa"), "layout must be one of interleaved; .* got 'sofa'"),
    (lambda: Convention(share=0), "share must be above 0 and at most 1, got 0"),
    (lambda: Convention(step=0), "step must be positive, or 'one turn', got 0"),
    (lambda: Convention("halves").table(3, 8), "layout must be .* for a table, .*'halves"),
    (lambda: hunt.hunt(True), "test must be a function of encode"),
]


@pytest.mark.parametrize(("call", "message"), BAD, ids=[message for _, message in BAD])
def test_an_argument_that_is_wrong_is_named(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()


# The report, pytest, the shell and the hunt


def test_a_report_says_what_is_wrong(monkeypatch):
    monkeypatch.delenv("POSENC_BOOK", raising=False)
    report = checks.check_table(hunt.dimension_for_pair, **QUICK)
    text, page = repr(report), report._repr_html_()
    assert "convention: none known" in text
    assert "most likely: The exponent counts dimensions" in text
    assert "exhibit 2, chapter 14: notebooks/14_bug_museum.html#exhibit-2" in text
    assert page.count("<tr>") == len([*report]) + 1
    assert 'href="../notebooks/14_bug_museum.html#' in page
    with pytest.raises(AssertionError, match="✗ norm"):
        report.raise_if_failed()
    with pytest.raises(KeyError, match="nothing"):
        report["nothing"]
    found = json.loads(report.as_json())
    assert (found["passed"], found["convention"]) == (False, None)
    assert found["laws"][1]["exhibit"]["number"] == "2"
    monkeypatch.setenv("POSENC_BOOK", "https://example.org/book/")
    assert "https://example.org/book/notebooks/14_bug" in repr(report)


def test_expected_failures():
    report = checks.check_table(hunt.own_exponent, laws=["norm", "shape"])
    expected = report.expecting({"norm": "embeddings are halved"})
    assert expected.passed
    assert expected.counts() == "1 passed, 1 expected"
    assert "! norm         expected: embeddings are halved" in repr(expected)
    mended = report.expecting({"shape": "an axis too many"})
    assert mended.failed == ["shape", "norm"]
    assert mended["shape"].likely == "it was fixed, so drop the expected failure: an axis too many"
    with pytest.raises(ValueError, match="must be among shape, norm, got 'odd'"):
        report.expecting({"odd": ""})


def test_pytest_gets_a_test_for_each_law():
    laws = {"laws": ["shape", "norm", "convention"], "expect": {"norm": "meant"}}
    decorator = checks.parametrize_with_checks([hunt.own_exponent], **laws)
    shape, norm, convention = decorator.mark.args[1]
    assert (shape.id, norm.id) == ("own_exponent-shape", "own_exponent-norm")
    assert (*shape.marks, norm.marks[0].kwargs) == ({"reason": "meant", "strict": True},)
    shape.values[0]()
    with pytest.raises(pytest.fail.Exception, match="most likely"):
        norm.values[0]()
    with pytest.raises(pytest.skip.Exception, match="none was requested"):
        convention.values[0]()


RIGHT_ONE, WRONG_ONE = "posenc:sinusoidal_encoding", "posenc.book.hunt:own_exponent"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (RIGHT_ONE, 0, ""),
        (f"{RIGHT_ONE} --library numpy --kind rotary", 2, f"{RIGHT_ONE} could not be checked"),
        (f"{RIGHT_ONE} --expect norm", 2, "usage: "),
        (WRONG_ONE, 1, ""),
        (f"{WRONG_ONE} --expect norm=meant --json", 0, ""),
        (f"{RIGHT_ONE} operator:getitem", 2, "operator:getitem could not be checked: TypeError"),
        ("mine", 2, "mine could not be checked: ValueError: the target must look like"),
        ("sys:exit --kind bias --laws shape", 2, "sys:exit could not be checked: SystemExit: 24"),
    ],
)
def test_exit_codes(arguments, code, said, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["checks", "--laws=norm", *arguments.split()])
    with pytest.raises(SystemExit) as end:
        runpy.run_module("posenc.checks", run_name="__main__")
    printed = capsys.readouterr()
    assert end.value.code == code
    assert printed.err.startswith(said)
    assert bool(printed.err) == bool(said)
    if "--json" in arguments:
        assert json.loads(printed.out)[0]["laws"][0]["status"] == "expected"
    assert runpy.run_module("posenc.checks.__main__")["main"]  # importing runs nothing


def test_the_hunt_says_what_a_test_caught_missed_and_accused():
    def strict(encode):
        assert encode(4, 8).dtype == np.float32, "not in 32 bits\nbut more"

    def good(encode):
        same = np.isclose(encode(3000, 8), table(3000, 8), atol=1e-3)
        if not same[:, 0::2].all():
            raise AssertionError
        return bool(same.all())

    little = hunt.hunt(lambda encode: np.abs(encode(50, 8)).max() <= 1)
    assert f"missed: {checks.MUSEUM['minus sign'].says} (exhibit 10)" in little
    much, best = hunt.hunt(strict), hunt.hunt(good)
    assert "rejected 2 of 3" in much
    assert "caught: minus sign (not in 32 bits)" in much
    assert "false alarm: two loops (not in 32 bits)" in much
    assert "It caught 7 of 7 bugs, and rejected 0 of 3 correct tables." in best
    assert "caught: rounded positions (AssertionError)" in best
    assert "caught: own exponent (it returned False)" in best
    assert best.endswith("Nothing is left to find: a good test.")
