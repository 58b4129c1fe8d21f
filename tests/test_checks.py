"""The checks as a tool: what they measure, print, refuse and skip."""

import json
import runpy
import subprocess
import sys
from decimal import Decimal
from html.parser import HTMLParser

import mpmath
import numpy as np
import pytest
import torch
from torch import nn

import posenc
from posenc import checks, rotary_frequencies, sinusoidal_encoding
from posenc.checks import __main__ as shell
from posenc.checks._exact import geometric, reduced_angles
from posenc.checks.conventions import Convention, rounding, split
from posenc.checks.subjects import values, worst
from posenc.nn import SinusoidalPositionalEncoding, rotate_pairs

QUICK = {"longest": 2500, "length": 300}


def table(seq_len, d_model):
    return sinusoidal_encoding(seq_len, d_model)


def one(subject, law, kind=None, **options):
    """The row of one law."""
    return checks.check(subject, kind, laws=[law], **options)[law]


# The reference


@pytest.mark.parametrize("base", [10_000.0, 500_042.0])
@pytest.mark.parametrize("denominator", [8, 7])
def test_angles_against_mpmath(base, denominator):
    omega = geometric(base, 8, denominator, Decimal(1))
    positions = [0, 1, 255, 131_071, 999_999]
    angles = reduced_angles([Decimal(k) for k in positions], omega)
    with mpmath.workdps(60):
        for k, row in zip(positions, angles, strict=True):
            for i, angle in enumerate(row):
                exact = k * mpmath.power(base, mpmath.mpf(-i) / denominator)
                assert abs(mpmath.sin(exact) - mpmath.sin(mpmath.mpf(angle))) < 5e-16
                assert abs(mpmath.cos(exact) - mpmath.cos(mpmath.mpf(angle))) < 5e-16


def test_what_float32_explains_is_not_exceeded_by_float32():
    """The bound of the law is derived; here it is tried, in the worst order of operations."""
    d_model, k = 64, np.arange(0, 2**20, 997, dtype=np.float32)
    i = np.arange(0, d_model, 2, dtype=np.float32)
    logarithm = np.float32(-np.log(10_000.0)) / np.float32(d_model)
    omega = np.float32(1) / np.exp(-(i * logarithm))
    found = np.sin(k[:, None] * omega)
    exact = np.sin(checks.KNOWN["paper"].angles(k.astype(int).tolist(), 1, d_model))
    made = np.array([float(each) for each in checks.KNOWN["paper"].omega(d_model)])
    allowed = rounding(k[:, None] * made, made)
    assert (np.abs(found - exact) <= allowed).all()
    assert np.abs(found - exact).max() > allowed.min()


def test_conventions_are_those_of_the_package():
    paper = checks.KNOWN["paper"]
    expected = sinusoidal_encoding(100, 16, dtype=np.float64)
    np.testing.assert_allclose(paper.table(100, 16), expected, rtol=0, atol=1e-13)
    assert paper.table(0, 16).shape == (0, 16)
    assert paper.names() == ["paper"]
    assert str(Convention(step=0.25)) == (
        "interleaved; exponent i/(d/2); base 10000; counted from 0 up in steps of 0.25"
    )
    for layout in ("interleaved", "sin, cos", "cos, sin", "interleaved, cos first"):
        waves = split(Convention(layout).table(5, 8), layout)
        np.testing.assert_allclose(waves[:, 0], np.exp(1j * np.arange(5)))
    with pytest.raises(ValueError, match="even"):
        paper.table(3, 7)


# The report


def wrong(seq_len, d_model):
    """Twice the exponent."""
    i = np.arange(d_model)
    angles = np.arange(seq_len)[:, None] / 10_000 ** (2 * i / d_model)
    return np.where(i % 2, np.cos(angles), np.sin(angles))


class Cells(HTMLParser):
    """Count the cells of a table, and keep its links."""

    def __init__(self):
        super().__init__()
        self.tags, self.links = [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.links += [value for name, value in attributes if name == "href"]


def test_a_report_says_what_is_wrong(monkeypatch):
    monkeypatch.delenv("POSENC_BOOK", raising=False)
    report = checks.check_table(wrong, **QUICK)
    assert not report.passed
    assert "norm" in report.failed
    text = repr(report)
    assert text.startswith("wrong (table): ")
    assert "convention: none known" in text
    assert "✗ norm" in text
    assert "most likely: The exponent counts dimensions" in text
    assert "exhibit 2, chapter 14: notebooks/14_bug_museum.html#exhibit-2" in text
    with pytest.raises(AssertionError, match="✗ norm"):
        report.raise_if_failed()
    page = Cells()
    page.feed(report._repr_html_())
    assert page.tags.count("tr") == len(report.rows) + 1
    assert any(link.startswith("../notebooks/14_bug_museum.html#") for link in page.links)
    monkeypatch.setenv("POSENC_BOOK", "https://example.org/book/")
    assert "https://example.org/book/notebooks/14_bug" in repr(report)
    assert 'href="https://example.org/book/notebooks/14_bug' in report._repr_html_()


def test_a_report_of_what_is_right():
    report = checks.check_table(table, **QUICK)
    report.raise_if_failed()
    assert report.passed
    assert report.failed == []
    assert [row.law for row in report] == checks.laws_of("table")
    assert report.counts() == "13 passed, 2 skipped"
    assert report["norm"].measured <= report["norm"].bound
    assert report["norm"].source
    assert max(report.errors) == 2499
    assert max(report.errors.values()) < 1e-7
    with pytest.raises(KeyError, match="nothing"):
        report["nothing"]
    assert "most likely" not in report._repr_html_()
    found = json.loads(report.as_json())
    assert found["passed"] is True
    assert found["convention"]["base"] == 10_000
    assert found["convention"]["names"] == ["paper"]
    assert [law["law"] for law in found["laws"]] == checks.laws_of("table")
    assert json.loads(checks.check_table(wrong, **QUICK).as_json())["convention"] is None


def test_bounds_come_with_their_reasons():
    for law in checks.LAWS:
        assert law.asks
        assert law.source
        assert law.likely
    every = {
        name for kind in ("table", "module", "rotary", "bias") for name in checks.laws_of(kind)
    }
    assert every == {law.name for law in checks.LAWS}


# Arguments

BAD = [
    (lambda: checks.check_table(3), TypeError, "encode must be callable, got 3"),
    (lambda: checks.check_rotary(None), TypeError, "rotate must be callable"),
    (lambda: checks.check_bias("x"), TypeError, "bias must be callable"),
    (lambda: checks.check_module(1), TypeError, "module must be callable"),
    (lambda: checks.check(1), TypeError, "subject must be callable"),
    (lambda: checks.check(table, "sofa"), ValueError, "kind must be one of table.*'sofa'"),
    (lambda: checks.check_table(table, base=-1), ValueError, "base must be positive"),
    (lambda: checks.check_table(table, widths=[]), ValueError, "widths must be even, and one"),
    (lambda: checks.check_table(table, widths=[9]), ValueError, "widths must be even"),
    (lambda: checks.check_table(table, widths=[4]), ValueError, "widths must be at least 6"),
    (lambda: checks.check_table(table, length=1), ValueError, "length must be at least 2"),
    (lambda: checks.check_table(table, longest=2.0), TypeError, "longest must be an int"),
    (lambda: checks.check_table(table, laws=["peace"]), ValueError, "laws must be among .*peace"),
    (lambda: checks.check_table(table, convention="mine"), ValueError, "convention must be one"),
    (lambda: checks.check_rotary(rotate_pairs, attention_factor="1"), TypeError, "attention_fac"),
    (lambda: checks.check_module(nn.LayerNorm(4)), ValueError, "pass d_model"),
]


@pytest.mark.parametrize(("call", "error", "message"), BAD)
def test_bad_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_kinds_are_guessed():
    assert checks.kind_of(table) == "table"
    assert checks.kind_of(rotate_pairs) == "rotary"
    assert checks.kind_of(lambda seq_len: 0) == "bias"
    assert checks.kind_of(SinusoidalPositionalEncoding) == "module"
    assert checks.kind_of(nn.ReLU()) == "module"
    assert checks.kind_of(int) == "table"


def test_kinds_without_torch(monkeypatch):
    monkeypatch.delitem(sys.modules, "torch")
    assert checks.kind_of(table) == "table"


# Conventions that were asked for


def test_a_base_that_was_asked_for():
    right = one(table, "frequencies", base=10_000)
    assert right.status == "passed"
    other = one(table, "frequencies", base=500_000)
    assert other.measured == "base 10000, where 500000 was asked for"
    assert other.exhibit.number == "E"
    odd = 500_042.25
    report = checks.check_table(lambda n, d: sinusoidal_encoding(n, d, base=odd), base=odd, **QUICK)
    report.raise_if_failed()
    assert max(report.errors.values()) < 1e-7


def test_a_convention_that_was_asked_for():
    assert one(table, "convention").note == "none was asked for"
    assert one(table, "convention", convention="paper").status == "passed"
    other = one(table, "convention", convention="Marian")
    assert other.status == "failed"
    assert "where sin, cos; exponent i/(d/2 - 1)" in other.measured
    assert one(wrong, "convention", convention="paper").measured == "none known"
    mine = Convention(base=500.0)
    assert one(table, "convention", convention=mine).status == "failed"
    assert one(lambda n, d: mine.table(n, d), "convention", convention=mine).status == "passed"


def test_one_width_takes_the_roundest_base():
    report = checks.check_table(table, widths=[16], **QUICK)
    assert report.convention == checks.KNOWN["paper"]
    other = checks.check_table(checks.KNOWN["Marian"].table, widths=[32], **QUICK)
    assert other.convention == checks.KNOWN["Marian"]


# Tables


def test_a_table_with_an_end():
    def short(seq_len, d_model):
        if seq_len > 40:
            raise IndexError("too long")
        return table(seq_len, d_model)

    report = checks.check_table(short)
    report.raise_if_failed()
    assert "of 32" in report["float32"].note
    clipped = checks.check_table(lambda n, d: table(min(n, 40), d))
    assert "of 32" in clipped["float32"].note


def test_a_table_that_never_works():
    def broken(seq_len, d_model):
        raise RuntimeError("no\nmore")

    report = checks.check_table(broken, **QUICK)
    assert report["shape"].measured == "RuntimeError: no"
    assert report["shape"].likely == "the code raises an error"
    assert report.convention is None
    silent = checks.check_table(lambda n, d: (_ for _ in ()).throw(RuntimeError()), **QUICK)
    assert silent["shape"].measured == "RuntimeError: "


def test_tables_that_are_not_finite_or_not_floats():
    assert one(lambda n, d: np.full((n, d), np.nan), "shape").measured == (
        "entries that are not finite"
    )
    assert "no floating-point type" in one(lambda n, d: np.ones((n, d), int), "shape").measured
    assert (
        one(lambda n, d: table(n, d)[:, :-1], "shape").measured == "shape (257, 15) for (257, 16)"
    )
    for shape in ((1, -1), (-1, 1)):
        made = checks.check_table(
            lambda n, d, shape=shape: (
                table(n, d).reshape(*[abs(s) and s for s in shape], d) if n else np.zeros((0, 1, d))
            ),
            laws=["shape", "norm"],
        )
        made.raise_if_failed()


def test_columns_in_any_order_have_the_laws_that_need_none():
    order = np.random.default_rng(0).permutation(16)

    def shuffled(seq_len, d_model):
        return table(seq_len, d_model)[:, order]

    report = checks.check_table(shuffled, widths=[16], **QUICK)
    assert {"norm", "shift", "offset", "unique", "start", "steps"} <= {
        row.law for row in report if row.status == "passed"
    }
    assert report["frequencies"].measured == "no pair of columns stays on a circle"
    assert report["identity"].note == report["float32"].note.replace(" to compare with", " known")
    assert report["frequencies"].exhibit is None


def test_half_precision_of_tables():
    def late(seq_len, d_model, dtype=np.float32):
        return table(seq_len, d_model).astype(dtype)

    def early(seq_len, d_model, dtype=np.float32):
        where = np.arange(seq_len).astype(dtype)
        omega = 10_000 ** (-np.arange(0, d_model, 2) / d_model)
        angles = where[:, None] * omega.astype(dtype)
        made = np.stack([np.sin(angles), np.cos(angles)], axis=2)
        return made.reshape(seq_len, d_model).astype(dtype)

    def ignored(seq_len, d_model, dtype=None):
        return table(seq_len, d_model)

    def in_torch(seq_len, d_model, dtype=torch.float32):
        return torch.from_numpy(table(seq_len, d_model)).to(dtype)

    assert one(late, "half").status == "passed"
    assert one(in_torch, "half").status == "passed"
    assert one(early, "half").status == "failed"
    assert one(ignored, "half").measured == "float32 for float16"
    assert one(table, "half").note == "no argument `dtype`"
    assert (
        one(lambda n, d: in_torch(n, d, torch.bfloat16), "half", kind="table").status == "skipped"
    )
    assert one(dict, "half", kind="table").status != "passed"


def test_tables_that_write_over_their_results():
    kept = {}

    def one_buffer(seq_len, d_model):
        buffer = kept.setdefault(d_model, np.zeros((3000, d_model), np.float32))
        buffer[:seq_len] = table(seq_len, d_model) + len(kept) - 1
        return buffer[:seq_len]

    assert one(one_buffer, "repeat").measured == "a later call wrote over the first result"


def test_empty_tables():
    assert one(lambda n, d: table(max(n, 1), d), "empty").measured == "shape (1, 16) for (0, 16)"
    two = one(lambda n, d: table(max(n, 2) if n else 0, d), "empty")
    assert two.measured == "shapes (2, 16) and (1, 16)"
    odd = one(lambda n, d: table(n, d + d % 2), "odd")
    assert odd.measured == "shape (8, 16) for width 15, and no error"


# Layers


class Bare(nn.Module):
    """A right layer without any luxury."""

    def __init__(self, d_model=16):
        super().__init__()
        self.table = nn.Parameter(torch.from_numpy(table(300, d_model)), requires_grad=False)

    def forward(self, x, position=None):
        return x + (self.table[: x.size(1)] if position is None else self.table[position])


def test_layers():
    report = checks.check_module(Bare(), laws=[n for n in checks.laws_of("module") if n != "odd"])
    report.raise_if_failed()
    assert report["compile"].status == "passed"
    assert report["state"].note == "4800 numbers in it"
    assert "of 257" in report["float32"].note
    by_class = checks.check_module(Bare, laws=["odd", "frequencies"])
    by_class.raise_if_failed()
    assert one(Bare(), "odd").note == "the layer has one width"


def test_a_width_that_is_named():
    layer = Bare()
    layer.d_model = 16
    assert one(layer, "shape").status == "passed"
    layer.d_model = "wide"
    assert one(layer, "shape").status == "passed"
    assert one(nn.ReLU(), "shape", d_model=16).status == "passed"
    assert one(nn.Linear(16, 16), "shape").status == "passed"


def test_layers_that_return_more():
    class Two(Bare):
        def forward(self, x):
            return super().forward(x), None

    report = checks.check_module(Two(), laws=["norm", "start", "steps", "batch"])
    report.raise_if_failed()


def test_sequence_first():
    layer = SinusoidalPositionalEncoding(16, batch_first=False)
    checks.check_module(layer, laws=["batch", "start", "empty"]).raise_if_failed()
    failed = checks.check_module(layer, batch_first=True, laws=["batch", "norm", "unique"]).failed
    assert "unique" in failed


class Cut(torch.autograd.Function):
    """A step that gives no gradient back."""

    @staticmethod
    def forward(context, x):
        return x.clone()

    @staticmethod
    def backward(context, gradient):
        return None


RIGHT = "x + self.table[: x.size(1)]"
LAYERS = [
    ("empty", "x[:, :0] + self.table[:0]", "shape (0, 0, 16) for an empty batch"),
    ("masked", f"{RIGHT} + x.sum() * 0", "rows changed whose input didn't"),
    ("gradient", "x.detach() + self.table[: x.size(1)]", "does not require grad"),
    ("gradient", "Cut.apply(x) + self.table[: x.size(1)]", "no gradient arrives at x"),
    ("state", f"{RIGHT} * self.scale", "another result after saving and loading"),
    ("device", "torch.zeros(x.shape)", "another device"),
    ("device", f"({RIGHT}).float()", "float32 for float64"),
    ("repeat", "x.add_(self.table[: x.size(1)])", "the input was changed"),
    ("repeat", f"self.kept.resize_(x.shape).copy_({RIGHT})", "wrote over the first result"),
]


def forgets(module, state, prefix, metadata):
    """Change the layer when it's saved."""
    module.scale.add_(1)


@pytest.mark.parametrize(("law", "line", "how"), LAYERS)
def test_layers_that_are_wrong(law, line, how):
    space = {"torch": torch, "Bare": Bare, "Cut": Cut}
    exec(f"class Layer(Bare):\n    def forward(self, x):\n        return {line}", space)
    layer = space["Layer"]()
    layer.scale = torch.ones(())
    layer.kept = torch.zeros(0)
    layer.register_buffer("count", torch.zeros(3))
    if law == "state":
        layer.register_state_dict_post_hook(forgets)
    row = one(layer, law)
    assert row.status == "failed"
    assert how in str(row.measured)


# Rotations


def test_rotations():
    report = checks.check_rotary(rotate_pairs)
    report.raise_if_failed()
    assert report["shape"].note == "torch, widths 16, 24"
    assert report["compile"].status == "passed"
    assert max(report.errors) == 999_999
    assert max(report.errors.values()) < 1e-7


def in_numpy(x, positions):
    width = x.shape[-1]
    angles = np.outer(positions, 10_000.0 ** (-np.arange(0, width, 2) / width))
    turned = (x[..., 0::2] + 1j * x[..., 1::2]) * np.exp(1j * angles)
    return np.stack([turned.real, turned.imag], axis=-1).reshape(x.shape).astype(x.dtype)


def test_rotations_in_numpy(monkeypatch):
    report = checks.check_rotary(in_numpy, length=300)
    report.raise_if_failed()
    assert report["gradient"].note == report["device"].note == "numpy arrays"
    monkeypatch.delitem(sys.modules, "torch")
    assert checks.check_rotary(in_numpy, laws=["shape"])["shape"].note.startswith("numpy")


def turning(**options):
    return lambda x, positions: rotate_pairs(x, positions, **options)


@pytest.mark.parametrize(
    "scaling",
    [
        {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64},
        {
            "rope_type": "llama3",
            "factor": 8.0,
            "original_max_position_embeddings": 512,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
        },
        {"rope_type": "proportional", "partial_rotary_factor": 0.5},
    ],
)
def test_scaled_rotations(scaling):
    omega, factor = rotary_frequencies(16, scaling=scaling)
    turn = turning(frequencies=omega, attention_factor=factor, layout="halves")
    laws = [law for law in checks.laws_of("rotary") if law != "compile"]
    options = {"widths": [16], "laws": laws, "length": 300}
    meant = {"frequencies": omega, "attention_factor": factor}
    checks.check_rotary(turn, **meant, **options).raise_if_failed()
    other = checks.check_rotary(turn, frequencies=omega * 1.01, attention_factor=factor, **options)
    assert (
        other["frequencies"].exhibit.number == "E" or "pairs turn" in other["frequencies"].measured
    )
    few = checks.check_rotary(turn, frequencies=omega[:3], attention_factor=factor, **options)
    assert few["frequencies"].measured.endswith("where 3 are asked for")


def test_rotations_of_one_width_and_with_an_end():
    def short(x, positions):
        if x.shape[-1] != 24 or (positions > 99).any():
            raise ValueError("not mine")
        return rotate_pairs(x, positions)

    laws = [law for law in checks.laws_of("rotary") if law != "compile"]
    report = checks.check_rotary(short, laws=laws)
    assert report["shape"].note == "torch, widths 24"
    assert report["float32"].status == "passed"
    assert max(report.errors) == 63
    assert report.failed == ["device"]  # a value of a tensor without data


def test_rotations_that_are_none():
    never = checks.check_rotary(lambda x, positions: 1 / 0)
    assert never["shape"].measured == "ZeroDivisionError: division by zero"
    flat = checks.check_rotary(lambda x, positions: x.flatten(), laws=["shape", "norm"])
    assert flat["norm"].measured == "shape (65792,) for (16, 257, 16)"
    same = checks.check_rotary(
        lambda x, positions: x.clone(), laws=["frequencies", "float32", "half", "unique"]
    )
    assert same["frequencies"].measured == "no two dimensions turn together, neighbors or halves"
    assert same["float32"].status == same["half"].status == "skipped"
    assert same["unique"].measured == "rows 0 and 1 are 0.0e+00 apart"
    nan = one(lambda x, positions: x * torch.nan, "shape", "rotary")
    assert nan.measured == "entries that are not finite"


WRONG = {
    "odd": (lambda x, p: rotate_pairs(x[..., : x.shape[-1] // 2 * 2], p), "shape (3, 14)"),
    "empty": (lambda x, p: rotate_pairs(x, p) if x.numel() else x[..., :1], "for (0, 16)"),
    "shape": (lambda x, p: rotate_pairs(x, p).squeeze(0).reshape(-1, len(p), x.shape[-1]), "shape"),
    "half": (lambda x, p: rotate_pairs(x.float(), p), "float32 for bfloat16"),
    "gradient": (lambda x, p: rotate_pairs(x.detach(), p) + 0 * x.mean().detach(), "Error"),
    "repeat": (lambda x, p: rotate_pairs(x.mul_(1.5), p), "the input was changed"),
    "device": (lambda x, p: rotate_pairs(x.float(), p), "float32 for float64"),
    "batch": (lambda x, p: rotate_pairs(x, p) * (x.shape[0] if x.ndim == 4 else 1), ""),
}


@pytest.mark.parametrize("law", WRONG)
def test_rotations_that_are_wrong(law):
    subject, how = WRONG[law]
    row = one(subject, law, "rotary")
    assert row.status == "failed"
    assert how in str(row.measured)


def test_a_rotation_that_writes_over_its_results():
    kept = {}

    def turn(x, positions):
        found = rotate_pairs(x, positions)
        if x.requires_grad or x.is_meta:
            return found
        return kept.setdefault((x.shape, x.dtype), torch.zeros_like(found)).copy_(found)

    assert one(turn, "repeat", "rotary").measured == "a later call wrote over the first result"


def test_gradients_that_are_cut():
    row = one(lambda x, p: rotate_pairs(Cut.apply(x), p), "gradient", "rotary")
    assert row.measured == "no gradient arrives at x"


def test_a_rotation_that_stays_behind():
    def turn(x, positions):
        return torch.zeros(x.shape) if x.is_meta else rotate_pairs(x, positions)

    assert one(turn, "device").measured == "the result is on another device than the input"


# Biases


def slope(seq_len):
    k = np.arange(seq_len)
    return -0.5 * np.abs(k[:, None] - k)


def test_biases():
    checks.check_bias(slope).raise_if_failed()
    causal = checks.check_bias(
        lambda n: -0.5 * np.subtract.outer(np.arange(n), np.arange(n)), causal=True
    )
    causal.raise_if_failed()
    assert causal["mirror"].status == "skipped"
    assert one(lambda n: slope(n)[1:], "shape", "bias").measured == "shape (23, 24) for (24, 24)"
    assert "finite" in one(lambda n: np.full((n, n), np.nan), "shape", "bias").measured
    assert one(lambda n: -slope(n), "penalty").measured == "a word gets a bonus"
    assert "one penalty for all" in one(lambda n: 0 * slope(n), "penalty").measured


# pytest and the shell


def test_pytest_gets_a_test_for_each_law(pytester_file, tmp_path):
    output = pytester_file(
        """
        import posenc
        from posenc import checks

        def wrong(seq_len, d_model):
            return 2 * posenc.sinusoidal_encoding(seq_len, d_model)

        @checks.parametrize_with_checks([posenc.sinusoidal_encoding], longest=2000)
        def test_right(check):
            check()

        @checks.parametrize_with_checks([wrong], kind="table", longest=2000)
        def test_wrong(check):
            check()
        """
    )
    assert "test_right[sinusoidal_encoding-norm] PASSED" in output
    assert "test_wrong[wrong-norm] FAILED" in output
    assert "test_wrong[wrong-convention] SKIPPED" in output
    assert "rows have one norm" in output
    assert "1 failed, 26 passed, 3 skipped" in output


@pytest.fixture
def pytester_file(tmp_path):
    """Run pytest on a file of its own."""

    def run(text):
        lines = text.splitlines()
        path = tmp_path / "test_mine.py"
        path.write_text("\n".join(line[8:] for line in lines), encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", str(path)]
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path).stdout

    return run


def test_pytest_plug_by_hand():
    from posenc.checks._pytest import one_law

    mark = checks.parametrize_with_checks([table], laws=["norm", "convention"], **QUICK)
    assert [p.id for p in mark.mark.args[1]] == ["table-norm", "table-convention"]
    mark.mark.args[1][0].values[0]()
    with pytest.raises(pytest.skip.Exception, match="none was asked for"):
        mark.mark.args[1][1].values[0]()
    failing = one_law(lambda: checks.check_table(wrong, laws=["norm"]), "norm")
    with pytest.raises(pytest.fail.Exception, match="most likely"):
        failing()
    named = checks.parametrize_with_checks([wrong], "table")
    assert len(named.mark.args[1]) == len(checks.laws_of("table"))


def test_the_shell(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "path", [*sys.path])
    options = ["--longest", "2000", "--laws", "norm", "frequencies"]
    assert shell.main(["posenc:sinusoidal_encoding", *options]) == 0
    assert capsys.readouterr().out.startswith("sinusoidal_encoding (table): 2 passed")
    wanted = ["posenc:sinusoidal_encoding", "--base", "500", "--kind", "table", "--json"]
    assert shell.main([*wanted, *options]) == 1
    found = json.loads(capsys.readouterr().out)
    assert [each["passed"] for each in found] == [False]
    for target, said in {
        "posenc": "must look like package.module:name",
        "posenc:": "must look like",
        "posenc:nothing": "AttributeError",
        "no_such_package:nothing": "ModuleNotFoundError",
        "posenc.nn:SinusoidalPositionalEncoding.forward": "AttributeError",
    }.items():
        code = shell.main([target, *options])
        assert code == 2
        assert said in capsys.readouterr().err


def test_the_module_runs(monkeypatch, capsys):
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "argv", ["checks", "posenc:sinusoidal_encoding", "--laws", "norm"])
    with pytest.raises(SystemExit) as end:
        runpy.run_path(shell.__file__, run_name="__main__")
    assert end.value.code == 0
    assert "1 passed" in capsys.readouterr().out


def test_the_shell_by_itself(tmp_path):
    (tmp_path / "mine.py").write_text("from posenc import sinusoidal_encoding as encode\n")
    command = [sys.executable, "-m", "posenc.checks", "mine:encode", "--longest", "2000"]
    found = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert found.returncode == 0, found.stderr
    assert "14 passed, 1 skipped" in found.stdout


def test_import_takes_numpy_alone():
    code = "import sys, posenc.checks as c, posenc; c.check_table(posenc.sinusoidal_encoding, "
    code += "longest=99); print(*{'torch', 'pytest', 'matplotlib'} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == ""
    code = "import sys, posenc; print('posenc.checks' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"


def test_arrays_and_the_worst_of_errors():
    assert values(torch.ones(2, dtype=torch.bfloat16)).dtype == np.float32
    assert values([1.0]).dtype == np.float64
    assert worst(np.zeros((0, 3)), 2.0) == (0.0, 2.0, ())
    assert worst(np.array([1.0, np.nan]), 2.0)[2] == (1,)
    assert posenc.checks is checks
