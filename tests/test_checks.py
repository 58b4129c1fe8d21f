"""The checks reject wrong encodings, say why, and accept correct ones."""

import json
import re
import runpy
import sys
from functools import wraps
from pathlib import Path
from types import ModuleType

import array_api_strict
import nbformat
import numpy as np
import pytest
import recall
import torch
import verdicts
from docutils.nodes import make_id
from specimens import (
    DECODER,
    NOTED,
    RIGHT,
    WRONG,
    Cached,
    distance,
    in_numpy,
    in_torch,
    last_part,
    table,
)
from torch import nn

from posenc import checks
from posenc.book import hunt
from posenc.checks.arrays import Library, values
from posenc.checks.conventions import Convention
from posenc.checks.laws import Broken, compared
from posenc.checks.modules import rounded_products
from posenc.nn import SinusoidalPositionalEncoding, rotate_pairs

ROOT = Path(__file__).parents[1]
QUICK = verdicts.QUICK
main = runpy.run_module("posenc.checks.__main__")["main"]


def looked_at(kind, subject, **options):
    """Check all laws but `compile`, which loads a compiler."""
    laws = {"laws": [law for law in checks.laws_of(kind) if law != "compile"]}
    quick = {} if kind in ("bias", "decoder") else QUICK
    return checks.check(kind=kind, **recall.named(subject, kind), **laws | quick | options)


def one(law, kind, subject, **options):
    """Check one law, and return its row."""
    return looked_at(kind, subject, **{"laws": [law]} | options)[law]


# Correct encodings pass, wrong ones fail


SUBJECTS = dict(verdicts.subjects())
RECORDED = dict(zip(SUBJECTS, verdicts.RECORD.read_text("utf-8").splitlines(), strict=True))


@pytest.mark.parametrize("name", SUBJECTS)
def test_the_verdict_is_the_recorded_one(name):
    """If it is another for the better, `python tests/verdicts.py` records it."""
    assert verdicts.line(name, checks.check(**SUBJECTS[name])) == RECORDED[name]


def test_the_record_is_right():
    """What is right passes, and what is wrong fails, with the words that its specimen expects."""
    good = [line for name, line in RECORDED.items() if name.split()[0] in ("right", "mended")]
    assert not [line for line in good if "✗" in line or "·" in line]
    assert not [line for line in RECORDED.values() if "POSENC" in line]
    for known, line in zip([each[2] for each in RIGHT], RECORDED.values(), strict=False):
        assert known in line
    wrong = [line for name, line in RECORDED.items() if name.startswith("wrong")]
    for each, line in zip(WRONG, wrong, strict=True):
        named = {law for law in each.laws.split() if law != "…"}
        assert named & failed(line), (each.laws, line)


def failed(line):
    """The laws that a line of the record says are broken, or follow from that."""
    parts = [part.partition(" (")[0].split() for part in line.split(" | ")]
    return {law for mark, *laws in parts for law in laws if mark in "✗·"}


@pytest.mark.parametrize(("kind", "law", "subject", "note", "options"), NOTED)
def test_what_is_said_where_nothing_is_wrong(kind, law, subject, note, options):
    row = one(law, kind, subject, **options)
    assert row.status != "failed"
    assert note in row.note


def test_the_public_bugs_are_caught_and_what_is_right_beside_them_passes():
    assert [bug.law for bug in recall.BUGS].count("") == 1 == len(recall.BUGS) - 19
    for number, bug in enumerate(recall.BUGS):
        before = [each.kind for each in recall.BUGS[: number + 1]].count(bug.kind)
        assert not bug.law or bug.law in failed(RECORDED[f"bug {bug.kind} {before}"])
    found = [*recall.recall(recall.BUGS[-2:], quick=True, **QUICK)]
    assert [(each.caught, each.accused) for each in found] == [("steps", ()), ("", ())]


def test_every_law_has_reasons_and_a_specimen_that_it_fails():
    assert all(law.asks and law.source and law.likely for law in checks.LAWS)
    fails = {(name.split()[1], law) for name, line in RECORDED.items() for law in failed(line)}
    assert {(kind, law) for kind in checks.CHECKS for law in checks.laws_of(kind)} <= fails | {
        ("module", "convention")
    }


def test_gradients_and_refilled_buffers_are_looked_at_where_they_mean_something():
    def normed(x, positions):
        turned = rotate_pairs(x, positions)
        return 4 * turned / turned.norm(dim=-1, keepdim=True)

    class Scaled(recall.Added):
        def __init__(self, d_model=16):
            super().__init__(d_model)
            self.scale = torch.nn.Parameter(torch.ones(1))

        def reset_parameters(self):
            self.pe = torch.zeros(self.shape)

        def forward(self, x):
            return self.scale * super().forward(x)

    assert one("gradient", "rotary", normed).note == "a norm follows the rotation"
    narrower = one(
        "gradient", "rotary", lambda x, p: rotate_pairs(x, p)[..., 2 * x.requires_grad :]
    )
    assert "shape" in narrower.measured
    assert one("gradient", "module", Scaled).status == "passed"
    assert one("meta", "module", Scaled, tags=["made on meta"]).status == "failed"


def test_the_museum_is_the_book_s():
    """Each exhibit's link leads to it, and a specimen is recognized as it."""
    for exhibit in checks.MUSEUM.values():
        page, _, anchor = exhibit.page.partition(".html#")
        notebook = nbformat.read(ROOT / f"{page}.ipynb", as_version=4)
        text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
        assert anchor in map(make_id, re.findall(r"^#+ (.*)$", text, re.MULTILINE))
        assert re.search(rf"\b[Ee]xhibit {exhibit.number}\b", text)
    said = {number for line in RECORDED.values() for number in re.findall(r"exhibit (\w+)", line)}
    assert said == {exhibit.number for exhibit in checks.MUSEUM.values()}


# NaN never passes, and neither do exceptions

# `odd` expects an error, `compile` compares what `start` does, and the others need more options.
OTHERS = ("odd", "meta", "compile", "values", "axes", "cast")
NAN = [
    (kind, law)
    for kind in ("table", "module", "rotary", "bias")
    for law in checks.laws_of(kind)
    if law not in OTHERS or (kind, law) == ("rotary", "compile")
]


@pytest.mark.parametrize("kind", ["table", "module", "rotary", "bias"])
@pytest.mark.parametrize("where", [slice(None), slice(1), slice(-1, None)], ids=["all", "0", "-1"])
def test_nan_never_passes(kind, where):
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
    laws = {"laws": [law for each, law in NAN if each == kind]}
    report = looked_at(kind, subject, **laws, **{} if kind == "bias" else convention)
    assert {row.status for row in report} <= {"failed", "follows"}


def test_code_that_raises_is_told_from_checks_that_fail(monkeypatch):
    def crashes(*given):
        raise RuntimeError("no such luck\nand more")

    report = checks.check_table(crashes)
    assert (report.raised, report.failed) == (True, ["shape"])
    assert report.error.count("RuntimeError: no such luck") == 1
    assert "laws.py" not in report.error
    assert report["norm"].note == "follows from shape"
    assert one("unique", "rotary", crashes).measured.startswith("RuntimeError: no such luck")
    silent = one("shape", "table", lambda n, d: (_ for _ in ()).throw(RuntimeError()))
    assert silent.measured == "RuntimeError: "
    # Now the checks themselves
    monkeypatch.setattr("posenc.checks.pairs.nearest_rows", crashes)
    report = checks.check_table(table, laws=["shape", "unique"])
    assert (report.failed, report.internal, report.passed) == ([], ["unique"], False)
    assert "posenc.checks failed, not your code: please report" in repr(report)
    assert "no such luck" in report.error
    test = checks.parametrize_with_checks([table], laws=["unique"]).mark.args[1][0].values[0]
    for raising in (report.raise_if_failed, test):
        with pytest.raises(RuntimeError, match="please report"):
            raising()
    monkeypatch.setattr("posenc.checks.conventions.agree", crashes)
    assert "no such luck" in checks.check_table(table, laws=["shape"]).error


def test_helpers_of_laws():
    with pytest.raises(Broken, match="shapes"):
        compared(np.zeros(2), np.zeros(3), 1.0)
    assert compared(np.zeros((0, 3)), 0, 2.0) == (0.0, 2.0, "")  # no entry is within any bound
    x = torch.full((1, 2), 1 + 2.0**-12)
    with rounded_products():
        assert (x @ x.T).item() == torch.einsum("ij,kj->ik", x, x).item() == 2
        assert torch.einsum("i,j->ij", x[0], x[0])[0, 1].item() > 1
        assert (x.double() @ x.double().T).item() > 2


# Subjects and arrays of every kind


def test_a_layer_is_taken_as_it_is_told():
    second = SinusoidalPositionalEncoding(16, batch_first=False)
    assert one("unique", "module", second, batch_first=True).status == "failed"
    kinds = [table, rotate_pairs, lambda seq_len: 0, SinusoidalPositionalEncoding, nn.ReLU()]
    found = [checks.kind_of(each) for each in (*kinds, Cached, Cached())]
    assert found == ["table", "rotary", "bias", "module", "module", "rotary", "rotary"]
    assert checks.check(Cached, laws=["norm"], **QUICK)["norm"].note.endswith("width 24")
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
    other = ModuleType("other")
    vars(other).update(asarray=np.asarray, bfloat16=np.float16)
    assert Library(other).array([1.0], "bfloat16").dtype == np.float16
    assert Library(torch).array([1.0], "bfloat16").dtype == torch.bfloat16


# Arguments


class NoWidth(nn.Module):
    def __init__(self, d_model):
        raise ValueError("no width")


ROTARY = checks.check_rotary
BAD = [
    (lambda: checks.check_table(3), "a subject must be callable, got 3"),
    (lambda: checks.check_decoder(len, 3), "step must be callable, got 3"),
    (lambda: checks.check(table, "sofa"), "kind must be one of table.*'sofa'"),
    (lambda: checks.check_table(table, widths=[9]), "widths must be even"),
    (lambda: checks.check_table(table, widths="16"), "widths must be an int, got '16'"),
    (lambda: checks.check_table(table, laws="norm"), "laws must be a list"),
    (lambda: checks.check_table(table, laws=["norm", "peace"]), r"got \['peace'\]"),
    (lambda: checks.check_table(table, convention="mine"), "must be a Convention or one of"),
    (lambda: ROTARY(rotate_pairs, attention_factor=0), "attention_factor must be positive"),
    (lambda: ROTARY(rotate_pairs, frequencies=[[1]]), "a row per axis, got 1, axes=None"),
    (lambda: ROTARY(rotate_pairs, axes="t"), "axes must be an int, got 't'"),
    (lambda: ROTARY(rotate_pairs, library=3), "library must be a module"),
    (lambda: ROTARY(rotate_pairs, library="json"), "library must be a module with asarray"),
    (lambda: checks.check_bias(len, base=3), "unexpected keyword argument 'base'"),
    (lambda: checks.check_module(nn.LayerNorm(4)), "pass d_model"),
    (lambda: checks.check_module(nn.LayerNorm(4), d_model="4"), "d_model must be an int, got '4'"),
    (lambda: checks.parametrize_with_checks([table], expect={"x": ""}), "got 'x'"),
    (lambda: checks.check_table(table, tags="mine"), "tags must be among learned, .*'mine'"),
    (lambda: checks.check_table(table, bases=3), "unexpected keyword argument 'bases'"),
    (lambda: checks.check_bias(len, expected=3), "expected must be 'alibi', 't5' or a"),
    (lambda: checks.check_module(NoWidth), "no width"),
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


def test_a_report_says_what_is_wrong():
    report = checks.check_table(hunt.dimension_for_pair, **QUICK)
    text, page = repr(report), report._repr_html_()
    assert "convention: none known" in text
    assert "most likely: The exponent counts dimensions" in text
    assert "exhibit 2, chapter 14: notebooks/14_bug_museum.html#exhibit-2" in text
    assert page.count("<tr>") == len([*report]) + 1
    assert 'href="../notebooks/14_bug_museum.html#' in page
    with pytest.raises(AssertionError, match="✗ norm"):
        report.raise_if_failed()
    found = json.loads(json.dumps(report.as_dict()))
    assert (found["passed"], found["convention"]) == (False, None)
    assert found["laws"][1]["exhibit"]["number"] == "2"


def test_expected_failures(tmp_path, capsys):
    report = checks.check_table(hunt.own_exponent, laws=["norm", "shape", "convention"])
    expected = report.expecting({"norm": "embeddings are halved", "convention": "no matter"})
    assert (expected.passed, expected.counts()) == (True, "1 passed, 1 expected, 1 skipped")
    assert "! norm         expected: embeddings are halved" in repr(expected)
    mended = report.expecting({"shape": "an axis too many"})
    assert mended.failed == ["shape", "norm"]
    assert mended["shape"].likely == "it was fixed, so drop the expected failure: an axis too many"
    with pytest.raises(ValueError, match="must be among shape, norm, convention, got 'odd'"):
        report.expecting({"odd": ""})
    # In a file
    file = tmp_path / "expected.toml"
    file.write_text('[own_exponent]\nnorm = "halved"\n')
    assert main([WRONG_ONE, "--kind=table", "--laws", "norm", "--expect", str(file)]) == 0
    assert "! norm         expected: halved" in capsys.readouterr().out
    named = {"expect": file, "laws": ["shape", "norm", "convention"]}
    decorator = checks.parametrize_with_checks([hunt.own_exponent], **named)
    shape, norm, convention = decorator.mark.args[1]
    assert (shape.id, norm.id) == ("own_exponent-shape", "own_exponent-norm")
    assert (*shape.marks, norm.marks[0].kwargs) == ({"reason": "halved", "strict": True},)
    shape.values[0]()
    with pytest.raises(AssertionError, match="most likely"):
        norm.values[0]()
    with pytest.raises(pytest.skip.Exception, match="none was requested"):
        convention.values[0]()
    file.write_text("[own_exponent]\nnorm = 3\n")
    with pytest.raises(ValueError, match="an expected failure needs a reason, got norm = 3"):
        checks.parametrize_with_checks([hunt.own_exponent], **named)


def off_by_one(tokens, cache):
    return DECODER.step(tokens, cache, recall.counted(tokens, recall.count(cache) + bool(cache)))


RIGHT_ONE, WRONG_ONE = "posenc:sinusoidal_encoding", "posenc.book.hunt:own_exponent"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (RIGHT_ONE, 0, ""),
        (f"{RIGHT_ONE} --library numpy --kind rotary", 2, f"{RIGHT_ONE} could not be checked"),
        (f"{RIGHT_ONE} --expect norm", 2, f"{RIGHT_ONE} could not be checked: ValueError: an exp"),
        (WRONG_ONE, 1, ""),
        ("test_checks:DECODER.full --step test_checks:off_by_one --laws steps", 1, ""),
        (f"{WRONG_ONE} --expect norm=meant --json", 0, ""),
        (f"{RIGHT_ONE} operator:getitem", 2, "operator:getitem could not be checked: TypeError"),
        ("mine:table", 2, "mine:table could not be checked: ModuleNotFoundError: No module"),
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
