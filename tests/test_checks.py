"""The checks find what is wrong, say why, and leave alone what is right."""

import json
import re
import runpy
import sys
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import array_api_strict
import mpmath
import nbformat
import numpy as np
import pytest
import torch
from docutils.nodes import make_id
from specimens import DECODER, NOTED, RIGHT, WRONG, distance, in_numpy, in_torch, last_part, table
from torch import nn

from posenc import checks, rotary_frequencies, sinusoidal_encoding, tiny
from posenc.checks import __main__ as shell
from posenc.checks import hunt, recall
from posenc.checks._exact import geometric, reduced_angles
from posenc.checks._torch import RoundedProducts
from posenc.checks.conventions import Convention, rounding
from posenc.checks.subjects import Library, library_of, values, worst
from posenc.nn import SinusoidalPositionalEncoding, rotate_pairs

ROOT = Path(__file__).parents[1]
QUICK = {"longest": 5000, "length": 2500}  # float16 rounds from 2048 on, bfloat16 from 256 on


def looked_at(kind, subject, **options):
    """Try all laws but one, which loads a compiler."""
    laws = {"laws": [law for law in checks.laws_of(kind) if law != "compile"]}
    quick = {} if kind in ("bias", "decoder") else QUICK
    return checks.check(kind=kind, **recall.named(subject, kind), **laws | quick | options)


def one(law, kind, subject, **options):
    """The row of one law."""
    return checks.check(kind=kind, **recall.named(subject, kind), **{"laws": [law]} | options)[law]


# What is right passes, what is wrong doesn't


@pytest.mark.parametrize(("kind", "subject", "options"), RIGHT)
def test_what_is_right_passes(kind, subject, options):
    looked_at(kind, subject, **options).raise_if_failed()


@pytest.mark.parametrize("wrong", WRONG, ids=[f"{each[0]}: {each[1]} {each[3]}" for each in WRONG])
def test_what_is_wrong_breaks_its_laws_and_no_others(wrong):
    laws = [law for law in wrong.laws.split() if law != "…"]
    extra = {"laws": checks.laws_of(wrong.kind)} if "compile" in laws else {}
    report = looked_at(wrong.kind, wrong.subject, **extra | wrong.options)
    assert report.failed[: len(laws) if "…" in wrong.laws else None] == laws
    law, _, words = wrong.says.partition(": ")
    law, words = (law, words) if law in report.failed else (laws[0], wrong.says)
    assert words in str(report[law])


@pytest.mark.parametrize(
    ("kind", "law", "subject", "note", "options"),
    NOTED,
    ids=[f"{e[0]}: {e[1]} {e[3]}" for e in NOTED],
)
def test_what_is_said_where_nothing_is_wrong(kind, law, subject, note, options):
    row = one(law, kind, subject, **options)
    assert row.status != "failed"
    assert note in row.note


def test_every_law_has_reasons_and_a_specimen_that_it_alone_or_it_first_fails():
    assert all(law.asks and law.source and law.likely for law in checks.LAWS)
    assert {wrong.laws.split()[0] for wrong in WRONG} == {law.name for law in checks.LAWS}
    every = {(kind, law) for kind in checks.CHECKS for law in checks.laws_of(kind)}
    assert every - {*NAN} <= {(wrong.kind, law) for wrong in WRONG for law in wrong.laws.split()}


def test_recall_says_which_law_caught_a_bug():
    bugs = [bug for bug in recall.BUGS if bug.law in ("norm", "packed", "")]
    found = list(recall.recall(bugs, quick=True, **QUICK))
    assert [(each.caught, each.accused) for each in found] == [(bug.law, ()) for bug in bugs]
    assert all(bool(bug.why) is not bool(bug.law) for bug in recall.BUGS)


def test_the_museum_is_the_book_s():
    """Each exhibit is shown where the link leads, and is recognized in a specimen."""
    shown = set()
    for chapter in ("14_bug_museum", "16_batches_and_caches"):
        notebook = nbformat.read(ROOT / "notebooks" / f"{chapter}.ipynb", as_version=4)
        text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
        shown |= set(re.findall(r"\b[Ee]xhibit (\d+|[A-H])\b", text))
        headings = {make_id(line) for line in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}
        here = [each for each in checks.MUSEUM.values() if each.chapter == chapter]
        assert {exhibit.anchor for exhibit in here} <= headings
    said = {number for wrong in WRONG for number in re.findall(r"exhibit (\w+),", wrong.says)}
    assert shown == said == {exhibit.number for exhibit in checks.MUSEUM.values()}


# Conventions


@pytest.mark.parametrize("name", checks.KNOWN)
def test_every_known_convention_passes_and_is_known(name):
    known, layout = checks.KNOWN[name], name.removeprefix("rotary, ")
    if layout != name:
        report = looked_at("rotary", recall.turn(layout=layout))
    else:
        report = looked_at("table", known.table, convention=name)
    report.raise_if_failed()
    assert report.convention == known
    assert name in known.names()


@pytest.mark.parametrize(
    ("step", "base", "first"), [(1 / 3, 12.5, 0), (0.1234567891, 500_042.25, 1 / 3), (2.5, 1e8, 20)]
)
def test_any_step_base_and_start_pass(step, base, first):
    def encode(seq_len, d_model):
        return sinusoidal_encoding((np.arange(seq_len) + first) * step, d_model, base=base)

    report = checks.check_table(encode, length=300, longest=50_000)
    report.raise_if_failed()
    assert report.convention.step == pytest.approx(step, rel=1e-6)
    assert report.convention.base == pytest.approx(base, rel=1e-4)
    assert report.convention.first == pytest.approx(first, abs=1e-3)
    assert one("frequencies", "table", encode, base=base * 1.001).exhibit.number == "E"


@pytest.mark.parametrize("layout", ["neighbors", "halves"])
@pytest.mark.parametrize("extent", ["partial", "proportional"])
@pytest.mark.parametrize("share", [0.25, 0.75])
def test_the_part_that_turns_is_recognized(layout, extent, share):
    def rotate(x, positions):
        kind = "default" if extent == "partial" else extent
        scaling = {"rope_type": kind, "partial_rotary_factor": share}
        omega = rotary_frequencies(x.shape[-1], scaling=scaling)[0]
        return rotate_pairs(x, positions, frequencies=omega, layout=layout)

    report = looked_at("rotary", rotate, widths=[16, 32])
    report.raise_if_failed()
    assert report.convention == Convention(layout, extent=extent, share=share)
    assert report.known().endswith(f"{extent}, {share} of the width")


def test_a_convention_says_itself():
    assert str(Convention("sin, cos", "d/2 - 1", 12.5, 1.5, "one turn", "down")) == (
        "sin, cos; exponent i/(d/2 - 1); base 12.5; counted from 1.5 down in steps of one turn"
    )
    assert str(Convention("neighbors", direction="backwards")).endswith("turned backwards")


# Bounds


@pytest.mark.parametrize(("base", "denominator"), [(10_000.0, 8), (500_042.0, 7)])
def test_angles_against_mpmath(base, denominator):
    omega = geometric(base, 8, denominator, Decimal(1))
    positions = [0, 1, 255, 131_071, 999_999]
    angles = reduced_angles([Decimal(k) for k in positions], omega)
    with mpmath.workdps(60):
        for k, row in zip(positions, angles, strict=True):
            for i, angle in enumerate(row):
                exact = k * mpmath.power(base, mpmath.mpf(-i) / denominator)
                assert abs(mpmath.expj(exact) - mpmath.expj(mpmath.mpf(angle))) < 5e-16


def test_no_entry_is_within_any_bound():
    assert worst(np.zeros((0, 3)), 2.0) == (0.0, 2.0, ())


def test_products_that_are_rounded():
    x = torch.tensor([[1 + 2.0**-12]])
    with RoundedProducts():
        assert (x @ x).item() == torch.einsum("ij,jk->ik", x, x).item() == 1
        assert torch.einsum("i,j->ij", x[0], x[0]).item() > 1
        assert (x.double() @ x.double()).item() > 1


# NaN never passes, and neither does what raises


def spoiled(kind, where):
    """A right subject, but for NaN in all of its results, or in one entry of each."""

    def spoil(made):
        made = torch.as_tensor(made).clone()
        if where == "all":
            made = made * torch.nan
        elif made.numel():
            made.flatten()[0 if where == "first" else -1] = torch.nan
        return made

    class Layer(SinusoidalPositionalEncoding):
        def forward(self, x, positions=None):
            return spoil(super().forward(x, positions=positions))

    return {
        "table": lambda n, d, dtype=torch.float32: spoil(in_torch(n, d, dtype)),
        "module": Layer,
        "rotary": lambda x, positions: spoil(rotate_pairs(x, positions)),
        "bias": lambda seq_len: spoil(-0.5 * distance(seq_len)),
    }[kind]


# An odd width is refused; under compile, compared is what `start` compares; the others need more.
OTHERS = {("module", "compile"), ("rotary", "axes"), ("rotary", "cast")}
NAN = [
    (kind, law)
    for kind in ("table", "module", "rotary", "bias")
    for law in checks.laws_of(kind)
    if law not in ("odd", "meta") and (kind, law) not in OTHERS
]


@pytest.mark.parametrize(("kind", "law"), NAN)
@pytest.mark.parametrize("where", ["all", "first", "last"])
def test_nan_never_passes(kind, law, where):
    options = {} if kind == "bias" else {"convention": "paper", **QUICK}
    assert one(law, kind, spoiled(kind, where), **options).status == "failed"


def test_what_raises_could_not_be_checked():
    def crashes(seq_len, d_model):
        raise RuntimeError("no such luck\nand more")

    report = checks.check_table(crashes)
    assert report.error == "RuntimeError: no such luck"
    assert report["shape"].likely == "the code raises an error"
    assert one("odd", "rotary", lambda x, p: 1 / 0).measured.startswith("ZeroDivisionError")
    assert one("unique", "rotary", lambda x, p: 1 / 0).measured == "no position is accepted"
    silent = one("shape", "table", lambda n, d: (_ for _ in ()).throw(RuntimeError()))
    assert silent.measured == "RuntimeError: "


# Layers, decoders and arrays of every kind


def test_a_layer_is_taken_as_it_is_told():
    second = SinusoidalPositionalEncoding(16, batch_first=False)
    failed = looked_at("module", second, batch_first=True, laws=["unique", "norm"]).failed
    assert "unique" in failed
    kinds = [table, rotate_pairs, lambda seq_len: 0, SinusoidalPositionalEncoding, nn.ReLU(), int]
    found = [checks.kind_of(each) for each in kinds]
    assert found == ["table", "rotary", "bias", "module", "module", "table"]
    report = looked_at("rotary", last_part)
    assert max(report.errors) == 63


@pytest.mark.parametrize("encoding", tiny.ENCODINGS)
def test_the_tiny_decoder_passes(encoding):
    decoder = tiny.Decoder(tiny.train(encoding, steps=5), encoding)
    report = checks.check_decoder(
        decoder.full, decoder.step, relative=encoding != "sinusoidal", vocabulary=12
    )
    report.raise_if_failed()
    assert report.counts() == ("10 passed, 1 skipped" if encoding == "sinusoidal" else "11 passed")


def test_a_decoder_in_torch_without_a_step():
    def full(tokens, position_ids=None):
        named = {} if position_ids is None else {"positions": position_ids.numpy()}
        return torch.from_numpy(DECODER.full(tokens.numpy(), **named))

    report = checks.check_decoder(full)
    report.raise_if_failed()
    assert report.counts() == "6 passed, 5 skipped"
    assert report["shape"].note.startswith("torch, ")


def test_without_torch(monkeypatch):
    monkeypatch.delitem(sys.modules, "torch")
    assert one("shape", "decoder", recall.pair()).note.startswith("numpy, ")
    assert one("shape", "rotary", in_numpy).note.startswith("numpy, ")
    assert checks.kind_of(table) == "table"


@pytest.mark.parametrize("xp", [array_api_strict, np])
def test_arrays_of_other_libraries(xp):
    """The first one's arrays offer DLPack alone."""

    def rotate(x, positions):
        d_model = x.shape[-1]
        omega = xp.asarray(rotary_frequencies(d_model)[0].astype(np.float32))
        angles = xp.astype(positions, xp.float32)[..., None] * omega
        wide = xp.astype(x, xp.float32)
        a, b = wide[..., : d_model // 2], wide[..., d_model // 2 :]
        cos, sin = xp.cos(angles), xp.sin(angles)
        return xp.astype(xp.concat([a * cos - b * sin, a * sin + b * cos], axis=-1), x.dtype)

    report = checks.check_rotary(rotate, library=xp, **QUICK)
    report.raise_if_failed()
    assert report.convention == checks.KNOWN["rotary, halves"]
    assert not checks.check_rotary(lambda x, p: rotate(x, p % 512), library=xp, **QUICK).passed
    assert checks.check_table(lambda n, d: xp.asarray(table(n, d)), **QUICK).passed
    assert checks.check_decoder(DECODER.full, library=np, laws=["shape"]).passed


def test_bfloat16_of_other_libraries():
    """As of jax, whose arrays name a type that numpy doesn't know."""

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
    (lambda: ROTARY(rotate_pairs, frequencies=[[1]]), "a row for each of None axes"),
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
]


@pytest.mark.parametrize(("call", "message"), BAD, ids=[message for _, message in BAD])
def test_an_argument_that_is_wrong_is_named(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()


# The report, pytest and the shell


def test_a_report_says_what_is_wrong(monkeypatch):
    monkeypatch.delenv("POSENC_BOOK", raising=False)
    report = checks.check_table(hunt.BUGS["dimension for pair"], **QUICK)
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


def twice(seq_len, d_model):
    return 2 * sinusoidal_encoding(seq_len, d_model)


def test_expected_failures():
    report = checks.check_table(twice, laws=["norm", "shape"])
    expected = report.expecting({"norm": "embeddings are halved"})
    assert expected.passed
    assert expected.counts() == "1 passed, 1 expected"
    assert "! norm         expected: embeddings are halved" in repr(expected)
    mended = report.expecting({"shape": "an axis too many"})
    assert mended.failed == ["shape", "norm"]
    assert mended["shape"].likely == "it was mended, and the reason is gone: an axis too many"
    with pytest.raises(ValueError, match="must be among shape, norm, got 'odd'"):
        report.expecting({"odd": ""})


def test_pytest_gets_a_test_for_each_law():
    laws = {"laws": ["shape", "norm", "convention"], "expect": {"norm": "meant"}}
    shape, norm, convention = checks.parametrize_with_checks([twice], **laws).mark.args[1]
    assert (shape.id, norm.id) == ("twice-shape", "twice-norm")
    assert (*shape.marks, norm.marks[0].kwargs) == ({"reason": "meant", "strict": True},)
    shape.values[0]()
    with pytest.raises(pytest.fail.Exception, match="most likely"):
        norm.values[0]()
    with pytest.raises(pytest.skip.Exception, match="none was asked for"):
        convention.values[0]()


MINE = """
from posenc import sinusoidal_encoding as right

def crashes(seq_len, d_model):
    raise RuntimeError("no such luck\\nand more")

def wrong(seq_len, d_model):
    return 2 * right(seq_len, d_model)
"""


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ("mine:right", 0, ""),
        ("mine:right --library numpy --kind rotary", 2, "mine:right could not be checked"),
        ("mine:wrong", 1, ""),
        ("mine:wrong --expect norm=meant --json", 0, ""),
        ("mine:right --expect norm=meant", 1, ""),
        ("mine:right --expect odd=meant", 2, "mine:right could not be checked: ValueError: expect"),
        ("mine:right mine:crashes mine:wrong", 2, "mine:crashes could not be checked: Runtime"),
        ("nobody:right", 2, "nobody:right could not be checked: ModuleNotFoundError: No module"),
        ("mine", 2, "mine could not be checked: ValueError: the target must look like"),
        ("leaves:right", 2, "leaves:right could not be checked: SystemExit: 3"),
    ],
)
def test_exit_codes(arguments, code, said, tmp_path, monkeypatch, capsys):
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("mine", "leaves"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "leaves.py").write_text("raise SystemExit(3)\n")
    assert shell.main([*arguments.split(), "--laws", "norm"]) == code
    printed = capsys.readouterr()
    assert printed.err.startswith(said)
    assert len(printed.err.splitlines()) == bool(said)
    if "--json" in arguments:
        assert json.loads(printed.out)[0]["laws"][0]["status"] == "expected"
    with pytest.raises(SystemExit):
        shell.main(["mine:right", "--expect", "norm"])


def test_the_module_runs(monkeypatch, capsys):
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "argv", ["checks", "posenc:sinusoidal_encoding", "--laws", "norm"])
    with pytest.raises(SystemExit) as end:
        runpy.run_path(shell.__file__, run_name="__main__")
    assert end.value.code == 0
    assert "1 passed" in capsys.readouterr().out


def test_what_float32_explains_is_not_exceeded_by_float32():
    """The bound of the law is derived; here it is tried, in the worst order of operations."""
    d_model, k = 64, np.arange(0, 2**20, 997, dtype=np.float32)
    logarithm = np.float32(-np.log(10_000.0)) / np.float32(d_model)
    omega = np.float32(1) / np.exp(-(np.arange(0, d_model, 2, dtype=np.float32) * logarithm))
    found = np.sin(k[:, None] * omega)
    exact = np.sin(checks.KNOWN["paper"].angles(k.astype(int).tolist(), 1, d_model))
    made = checks.KNOWN["paper"].speeds(d_model)
    allowed = rounding(k[:, None] * made, made)
    assert (np.abs(found - exact) <= allowed).all()
    assert np.abs(found - exact).max() > allowed.min()
