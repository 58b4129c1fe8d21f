"""The checks at their edges: what they refuse, what a failure says, and what they leave alone."""

import json
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import nn

from posenc import checks, rotary_frequencies, sinusoidal_encoding
from posenc.checks import __main__ as shell
from posenc.checks.conventions import Convention, alike, begin_alike, begun, near_step, wrapped
from posenc.checks.report import Report, Row
from posenc.checks.subjects import nearest_rows, severe
from posenc.nn import SinusoidalPositionalEncoding, rotate_pairs

QUICK = {"longest": 2500, "length": 300}


def one(subject, law, kind=None, **options):
    """The row of one law."""
    return checks.check(subject, kind, laws=[law], **options)[law]


# Names of laws


@pytest.mark.parametrize(
    ("laws", "got"), [(["peace"], "'peace'"), (["norm", "batch"], "'batch'"), ([], "none")]
)
def test_laws_that_are_none(laws, got):
    """They would pass without a word: nothing was tried."""
    said = f"laws must be among those of a table: shape, norm, .*, repeat; got {got}"
    with pytest.raises(ValueError, match=said):
        checks.check_table(sinusoidal_encoding, laws=laws)
    with pytest.raises(ValueError, match=said):
        checks.parametrize_with_checks([sinusoidal_encoding], laws=laws)


def test_laws_of_every_kind():
    for kind in ("table", "module", "rotary", "bias"):
        assert set(checks.laws_of(kind)) <= {law.name for law in checks.LAWS}
        with pytest.raises(ValueError, match=f"those of a {kind}: shape"):
            checks.check(nn.Identity(), kind, laws=["peace"])


def test_laws_are_tried_once_and_in_order():
    report = checks.check_table(sinusoidal_encoding, laws=iter(["norm", "shape", "norm"]))
    assert [row.law for row in report] == ["shape", "norm"]


# Arguments

BAD = [
    (lambda: checks.laws_of("foo"), ValueError, "kind must be one of table, .*, got 'foo'"),
    (lambda: checks.laws_of(3), ValueError, "kind must be .* got 3"),
    (lambda: checks.check_table(sinusoidal_encoding, laws="norm"), TypeError, "laws must be a li"),
    (lambda: checks.check_table(sinusoidal_encoding, laws=3), TypeError, "laws must be .* got 3"),
    (lambda: checks.check_table(sinusoidal_encoding, convention=3), TypeError, "convention .* 3"),
    (lambda: checks.check_table(sinusoidal_encoding, widths=16), TypeError, "widths must be .* 16"),
    (lambda: checks.check_table(sinusoidal_encoding, widths="16"), TypeError, "widths must be"),
    (lambda: checks.check_rotary(rotate_pairs, attention_factor=0), ValueError, "attention_factor"),
    (lambda: checks.check_rotary(rotate_pairs, attention_factor=-1), ValueError, "attention_facto"),
    (lambda: checks.check_rotary(rotate_pairs, frequencies="x"), TypeError, "frequencies must"),
    (lambda: checks.check_rotary(rotate_pairs, frequencies=[[1]]), ValueError, "frequencies must"),
    (lambda: checks.check_bias(len, causal=1), TypeError, "causal must be a bool, got 1"),
    (lambda: checks.check_module(nn.ReLU(), d_model=1), ValueError, "d_model must be at least 2"),
    (
        lambda: checks.check_module(nn.ReLU(), batch_first=1),
        TypeError,
        "batch_first must be a bool",
    ),
    (lambda: checks.check_module(nn.ReLU(), positions=1), TypeError, "positions must be a str"),
    (
        lambda: checks.check_module(nn.ReLU(), d_model=16, positions="where"),
        ValueError,
        "positions must name an argument of forward, got 'where'",
    ),
    (lambda: checks.parametrize_with_checks([3]), TypeError, "subjects must be callable, got 3"),
    (lambda: checks.parametrize_with_checks([len], "sofa"), ValueError, "kind must be .* 'sofa'"),
    (lambda: Convention("sofa"), ValueError, "layout must be one of interleaved; .* got 'sofa'"),
    (lambda: Convention(rule="d"), ValueError, "rule must be one of d/2; d/2 - 1; got 'd'"),
    (lambda: Convention(direction="left"), ValueError, "direction must be one of up; .* 'left'"),
    (lambda: Convention(base=0), ValueError, "base must be positive, got 0"),
    (lambda: Convention(first="one"), TypeError, "first must be a real number, got 'one'"),
    (lambda: Convention(step="one"), TypeError, "step must be a real number, got 'one'"),
    (lambda: Convention(step=0), ValueError, "step must be positive, or 'one turn', got 0"),
    (lambda: Convention("halves").table(3, 8), ValueError, "layout must be .* for a table, .*'hal"),
]


@pytest.mark.parametrize(("call", "error", "message"), BAD, ids=[each[2] for each in BAD])
def test_an_argument_that_is_wrong_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


# No false alarm

STEPS = [1 / 3, 1 / 7, 0.25, 0.1234567891, np.pi / 1000, 1 / 1.7, 2.5]


@pytest.mark.parametrize("step", STEPS)
def test_any_step_passes(step):
    def encode(seq_len, d_model):
        return sinusoidal_encoding(np.arange(seq_len) * step, d_model)

    report = checks.check_table(encode, length=300)
    report.raise_if_failed()
    assert report.convention.step == pytest.approx(step, rel=1e-6)
    assert max(report.errors) == 999_999
    checks.check_table(encode, convention=Convention(step=step), **QUICK).raise_if_failed()
    laws = ["frequencies", "float32", "half", "identity"]
    turn = checks.check_rotary(lambda x, positions: rotate_pairs(x, positions * step), laws=laws)
    turn.raise_if_failed()


@pytest.mark.parametrize("base", [12.5, 999.99, 12_345.678, 500_042.25, 9.87654321e7])
@pytest.mark.parametrize("first", [0, 1 / 3, 20])
def test_any_base_and_start_pass(base, first):
    def encode(seq_len, d_model):
        return sinusoidal_encoding(np.arange(seq_len) + first, d_model, base=base)

    report = checks.check_table(encode, length=300)
    report.raise_if_failed()
    assert report.convention.base == pytest.approx(base, rel=1e-4)
    assert report.convention.first == pytest.approx(first, abs=1e-3)


def test_a_base_of_a_table_in_half_precision():
    """bfloat16 can't tell 37.5 from 37 or 38, so far rows aren't held to it."""

    def encode(seq_len, d_model):
        return torch.from_numpy(sinusoidal_encoding(seq_len, d_model, base=37.5)).bfloat16()

    options = {"widths": [512], "laws": ["frequencies", "float32"], "longest": 3000}
    report = checks.check_table(encode, **options)
    report.raise_if_failed()
    assert report.convention.base in (37, 38)

    def wrong(seq_len, d_model):
        omega = torch.exp(torch.arange(0, d_model, 2) * (-np.log(10_000) / d_model)).bfloat16()
        angles = torch.arange(seq_len)[:, None] * omega.float()
        return torch.stack([angles.sin(), angles.cos()], dim=2).flatten(1).bfloat16()

    assert not checks.check_table(wrong, **options).passed


def test_what_is_measured_is_not_given_away():
    """The bound is wider where a step was measured, but not so that errors slip through."""
    for step, wrong in ((1 / 3, 1.00001), (1.0, 1.000002)):
        row = one(
            lambda n, d, step=step, wrong=wrong: sinusoidal_encoding(
                np.where(np.arange(n) < 300, 1, wrong) * step * np.arange(n), d
            ),
            "float32",
            kind="table",
        )
        assert row.status == "failed"


def partial(share):
    def turn(x, positions):
        scaling = {"partial_rotary_factor": share}
        return rotate_pairs(
            x, positions, frequencies=rotary_frequencies(x.shape[-1], scaling=scaling)[0]
        )

    return turn


def test_a_part_of_the_width_that_turns():
    laws = ["norm", "shift", "identity", "frequencies", "float32"]
    checks.check_rotary(partial(0.25), laws=laws).raise_if_failed()
    few = checks.check_rotary(partial(0.125), widths=[16, 32], laws=laws)
    few.raise_if_failed()
    assert few["frequencies"].status == "skipped"
    said = "1 pair turns at width 16; a base shows from 3 on, such as with widths=[48, 64]"
    assert few["frequencies"].note == said
    two = one(partial(0.25), "frequencies", widths=[16])
    assert two.note.startswith("2 pairs turn at width 16; ")
    enough = checks.check_rotary(partial(0.125), widths=[48, 64], laws=laws)
    assert enough["frequencies"].status == enough["float32"].status == "passed"
    wrong = one(lambda x, p: partial(0.5)(x, p * (x.shape[-1] / 16)), "frequencies", kind="rotary")
    assert wrong.status == "failed"


def test_a_narrow_layer():
    checks.check_module(SinusoidalPositionalEncoding(4), laws=["frequencies"]).raise_if_failed()


def test_whole_numbers_and_ends_of_biases():
    def distance(seq_len):
        k = np.arange(seq_len)
        return np.abs(k[:, None] - k)

    checks.check_bias(lambda n: -distance(n)).raise_if_failed()
    checks.check_bias(lambda n: -torch.from_numpy(distance(n))).raise_if_failed()
    checks.check_bias(lambda n: -0.5 * np.minimum(distance(n), 8)).raise_if_failed()
    back = one(lambda n: -0.5 * np.minimum(distance(n), 30 - distance(n)), "penalty")
    assert back.measured == "a farther word gets a smaller penalty"
    learned = checks.check_bias(lambda n: np.sin(np.subtract.outer(np.arange(n), np.arange(n)) + 1))
    assert learned.failed == ["mirror", "penalty"]
    assert all("a learned bias may be so" in learned[law].likely for law in learned.failed)
    yes = one(lambda n: distance(n) > 2, "shape")
    assert yes.measured == "bool, which is no floating-point type"
    assert one(lambda n: np.zeros((1, 1, n, n)), "shape").measured.startswith(
        "shape (1, 1, 24, 24)"
    )


# The cause is right


@pytest.mark.parametrize("factor", [0.02, 3.0, 1e-5, 1.001])
def test_a_factor_is_said(factor):
    report = checks.check_table(lambda n, d: factor * sinusoidal_encoding(n, d), **QUICK)
    assert report.failed == ["norm"]
    assert report["norm"].measured == f"all rows are multiplied by {factor:.4g}"
    assert "check the table divided by it" in report["norm"].likely
    assert report.convention == checks.KNOWN["paper"]


def test_a_factor_that_changes_with_the_width():
    row = one(lambda n, d: sinusoidal_encoding(n, d) / d, "norm")
    assert row.measured == "all rows are multiplied by 0.0625 and 0.04167"


def test_one_pair_that_is_scaled_is_no_factor():
    row = one(lambda n, d: sinusoidal_encoding(n, d) * np.where(np.arange(d) < 2, 2, 1), "norm")
    assert row.status == "failed"
    assert "a factor was applied to one of them" in row.likely


class Fixed(nn.Module):
    """A layer that returns float32, whatever it's given."""

    def __init__(self):
        super().__init__()
        self.register_buffer("pe", torch.from_numpy(sinusoidal_encoding(300, 16)))

    def forward(self, x):
        return x.float() + self.pe[: x.size(1)].float()


def test_a_result_of_another_number_type():
    cases = [
        (Fixed(), "module", "half"),
        (Fixed(), "module", "device"),
        (lambda x, p: rotate_pairs(x.float(), p), "rotary", "half"),
        (lambda x, p: rotate_pairs(x.float(), p), "rotary", "device"),
        (lambda n, d, dtype=None: sinusoidal_encoding(n, d), "table", "half"),
    ]
    for subject, kind, law in cases:
        row = one(subject, law, kind)
        assert str(row.measured).startswith("float32 for ")
        assert row.likely == "the result isn't cast to the number type of the input"
        assert row.exhibit is None


def early(kind, cast_omega):
    def encode(seq_len, d_model, dtype=torch.float32):
        where = torch.arange(seq_len).to(kind if dtype == kind else torch.float32)
        omega = 10_000.0 ** (-torch.arange(0, d_model, 2) / d_model)
        omega = omega.to(dtype).float() if cast_omega else omega
        angles = where.float()[:, None] * omega
        made = torch.stack([angles.sin(), angles.cos()], dim=2).reshape(seq_len, d_model)
        return made.to(dtype)

    return encode


def test_what_is_rounded_in_half_precision():
    positions = one(early(torch.bfloat16, False), "half", kind="table")
    assert positions.exhibit.number == "8"
    frequencies = one(early(torch.float32, True), "half", kind="table")
    assert frequencies.exhibit is None
    assert frequencies.likely == "positions, frequencies or angles are cast before the sine"


def test_half_precision_of_another_shape():
    def encode(seq_len, d_model, dtype=np.float32):
        width = 2 * d_model if dtype == np.float16 else d_model
        return sinusoidal_encoding(seq_len, width, dtype=dtype)

    assert one(encode, "half").measured == "shapes (1024, 32) and (1024, 16)"


def test_half_precision_downwards():
    def encode(seq_len, d_model, dtype=torch.float32):
        omega = 1 / (10_000 ** (torch.arange(0.0, d_model, 2.0) / d_model))
        angles = torch.outer(torch.arange(seq_len - 1, -1, -1.0), omega)
        return torch.cat([angles.sin(), angles.cos()], dim=-1).to(dtype)

    assert one(encode, "half").status == "passed"


def test_rows_that_are_all_alike():
    for row in (0, 5):
        report = checks.check_table(
            lambda n, d, row=row: np.repeat(sinusoidal_encoding([row], d), n, axis=0), **QUICK
        )
        assert report.convention is None
        assert report["frequencies"].measured == "no pair turns"
        assert report["frequencies"].likely == "all rows are alike"
        assert report["unique"].status == "failed"


def test_pairs_that_stand_still_make_no_base():
    def encode(seq_len, d_model):
        return sinusoidal_encoding(np.arange(seq_len), d_model, base=1e40)

    assert checks.check_table(encode, **QUICK).convention is None


def test_whole_numbers_have_their_own_cause():
    row = one(lambda n, d: sinusoidal_encoding(n, d).astype(int), "shape", kind="table")
    assert row.likely == "numbers were rounded to whole ones, or never left them"


def test_shapes_that_differ():
    def turn(x, positions):
        return rotate_pairs(x, positions)[..., : 3 if x.shape[-2] == 4 else None, :]

    assert one(turn, "start").measured == "shapes (2, 3, 16) and (2, 4, 16)"


# NaN never passes


def spoiled(kind, where):
    """A subject of a kind that is right except for NaN, everywhere or in one entry per result."""

    def spoil(made):
        made = torch.as_tensor(made).clone()
        if where == "all":
            made = made * torch.nan
        elif made.numel():
            made.flatten()[0 if where == "first" else -1] = torch.nan
        return made

    class Layer(nn.Module):
        def __init__(self, d_model=16):
            super().__init__()
            self.d_model = d_model

        def forward(self, x, positions=None):
            count = torch.arange(x.shape[1]) if positions is None else positions
            even = self.d_model + self.d_model % 2
            rows = torch.from_numpy(sinusoidal_encoding(count.numpy(), even))
            return spoil(x + rows[:, : self.d_model].to(x.device, x.dtype))

    def table(seq_len, d_model, dtype=torch.float32):
        made = sinusoidal_encoding(seq_len, d_model + d_model % 2)[:, :d_model]
        return spoil(torch.from_numpy(made).to(dtype))

    def rotary(x, positions):
        even = x.shape[-1] // 2 * 2
        turned = rotate_pairs(x[..., :even], positions)
        return spoil(torch.cat([turned, x[..., even:]], dim=-1))

    def bias(seq_len):
        k = torch.arange(seq_len)
        return spoil(-0.5 * (k[:, None] - k).abs())

    return {"table": table, "module": Layer, "rotary": rotary, "bias": bias}[kind]


NAN = [
    (kind, law, where)
    for kind in ("table", "module", "rotary", "bias")
    for law in checks.laws_of(kind)
    for where in ("all", "first", "last")
    # a graph is traced for compile; what is compared is what `start` compares
    if (kind, law) != ("module", "compile")
]


@pytest.mark.parametrize(("kind", "law", "where"), NAN)
def test_nan_never_passes(kind, law, where):
    options = {} if kind == "bias" else {"convention": "paper", **QUICK}
    assert one(spoiled(kind, where), law, kind, **options).status == "failed"


def test_nan_far_out():
    def encode(seq_len, d_model):
        made = sinusoidal_encoding(seq_len, d_model)
        made[1000:] = np.nan
        return made

    assert checks.check_table(encode, **{**QUICK, "length": 1500}).failed == ["unique", "float32"]

    def turn(x, positions):
        turned = rotate_pairs(x, positions)
        return torch.where(positions[:, None] < 1000, turned, torch.nan)

    laws = ["norm", "unique", "float32", "half"]
    report = checks.check_rotary(turn, laws=laws, longest=4000, length=1500)
    assert report.failed == ["unique", "float32", "half"]


def test_nan_in_views():
    class Layer(Fixed):
        def forward(self, x):
            out = super().forward(x)
            return out * torch.nan if x.shape[1] == 6 and not x.is_contiguous() else out

    assert one(Layer(), "strided").status == "failed"

    def turn(x, positions):
        spoil = x.shape[-2] == 4 and not x.is_contiguous()
        return rotate_pairs(x, positions) * (torch.nan if spoil else 1)

    assert one(turn, "strided", kind="rotary").status == "failed"


def test_nan_for_another_number_type():
    class Layer(Fixed):
        def forward(self, x):
            return (x + self.pe[: x.size(1)]) * (torch.nan if x.dtype == torch.float64 else 1)

    assert one(Layer(), "device").measured == "entries that are not finite"

    def turn(x, positions):
        return rotate_pairs(x, positions) * (torch.nan if x.dtype == torch.float64 else 1)

    assert one(turn, "device", kind="rotary").measured == "entries that are not finite"


def test_the_severest_of_several():
    nan = (np.nan, 1.0, "nan")
    assert severe([(0.1, 1.0, "a"), nan, (5.0, 1.0, "b")]) == nan
    assert severe([(0.1, 1.0, "a"), (0.2, 4.0, "b")])[2] == "a"
    assert severe([(0.0, 0.0, "a"), (1e-9, 0.0, "b")])[2] == "b"
    near = nearest_rows(np.array([[0.0, 1.0], [9.0, 0.0], [0.0, 1.1]]), 2.0**-24)
    assert near[2] == "nearest of 3: rows 0 and 2, 0.1 apart"


# What can't be checked


def crashes(seq_len, d_model):
    raise RuntimeError("no such luck\nand more")


def test_odd_widths_of_what_never_works():
    assert one(crashes, "odd").measured == "RuntimeError: no such luck"
    assert one(lambda x, p: crashes(1, 2), "odd", "rotary").status == "failed"


def test_a_report_says_that_nothing_could_be_checked():
    report = checks.check_table(crashes, laws=["norm"])
    assert report.error == "RuntimeError: no such luck"
    assert json.loads(report.as_json())["error"] == report.error
    assert checks.check_table(lambda n, d: np.zeros((n, 3)), laws=["norm"]).error == ""
    assert checks.check_table(sinusoidal_encoding, laws=["norm"]).error == ""


MINE = """
import numpy as np
from posenc import sinusoidal_encoding as right


def crashes(seq_len, d_model):
    raise RuntimeError("no such luck\\nand more")


def wrong(seq_len, d_model):
    return 2 * right(seq_len, d_model)


def no_empty(seq_len, d_model):
    return right(seq_len, d_model)[[*range(seq_len)]] if seq_len else 1 / 0
"""


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ("mine:right", 0, ""),
        ("mine:wrong", 1, ""),
        ("mine:no_empty --laws empty", 1, ""),  # it works, but for an empty sequence
        ("mine:crashes", 2, "mine:crashes could not be checked: RuntimeError: no such luck"),
        ("mine:nothing", 2, "mine:nothing could not be checked: AttributeError: module 'mine' has"),
        ("nobody:right", 2, "nobody:right could not be checked: ModuleNotFoundError: No module"),
        ("mine", 2, "mine could not be checked: ValueError: the target must look like"),
        ("broken:right", 2, "broken:right could not be checked: ZeroDivisionError: division by"),
        ("leaves:right", 2, "leaves:right could not be checked: SystemExit: 3"),
        ("mine:right --laws peace", 2, "mine:right could not be checked: ValueError: laws must be"),
        ("mine:right --base -1", 2, "mine:right could not be checked: ValueError: base must be"),
        ("mine:right mine:crashes mine:wrong", 2, "mine:crashes could not be checked: Runtime"),
    ],
)
def test_exit_codes(arguments, code, said, tmp_path, monkeypatch, capsys):
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("mine", "broken", "leaves"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "broken.py").write_text("1 / 0\n")
    (tmp_path / "leaves.py").write_text("raise SystemExit(3)\n")
    more = [] if "--laws" in arguments else ["--laws", "norm"]
    assert shell.main([*arguments.split(), *more]) == code
    printed = capsys.readouterr()
    assert printed.err.startswith(said)
    assert len(printed.err.splitlines()) == bool(said)
    reports = 2 if "right mine:crashes" in arguments else int(code < 2)
    assert printed.out.count("(table): ") == reports


def test_the_shell_finds_what_lies_beside(tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    command = [sys.executable, "-m", "posenc.checks", "mine:crashes", "mine:right", "--json"]
    found = subprocess.run(
        [*command, "--laws", "norm"], capture_output=True, text=True, cwd=tmp_path
    )
    assert found.returncode == 2
    assert found.stderr == "mine:crashes could not be checked: RuntimeError: no such luck\n"
    assert [each["subject"] for each in json.loads(found.stdout)] == ["sinusoidal_encoding"]


# What a report says, to the letter

BUG = checks.MUSEUM["odd"]
ROWS = (
    Row("shape", "a shape", "passed", 0.0, 0.0, "exact", "8 × 16"),
    Row("norm", "a norm", "failed", 0.25, 0.125, "6u", "row <1>", "a `factor`"),
    Row("odd", "a <width>", "failed", "no & error", "", "exact", "", BUG.says, BUG),
    Row("half", "a type", "skipped", note="no argument"),
    Row("start", "a start", "passed", 1e-9, 2e-7, "2τ"),
)
REPORT = Report("mine<1>", "table", Convention(step=0.25), ROWS, {7: 1e-9})
TEXT = f"""\
mine<1> (table): 2 passed, 2 failed, 1 skipped
convention: interleaved; exponent i/(d/2); base 10000; counted from 0 up in steps of 0.25
✓ shape        0, 8 × 16
✗ norm         2.5e-01 (at most 1.2e-01), row <1>
               asked: a norm
               most likely: a `factor`
✗ odd          no & error
               asked: a <width>
               most likely: {BUG.says} (exhibit 6, chapter 14: {BUG.page})
– half         no argument
✓ start        1.0e-09 (at most 2.0e-07)"""
LINK = f"../{BUG.page}"
SAYS = "An odd width has a sine without a cosine: a column is missing, or zero"
HEAD = "<tr><th>law</th><th>result</th><th>measured</th><th>at most</th>\n<th>remark</th></tr>"
HTML = f"""\
mine&lt;1&gt;: 2 passed, 2 failed, 1 skipped.<br>
Convention: interleaved; exponent i/(d/2); base 10000; counted from 0 up in steps of 0.25</caption>
<thead>{HEAD}</thead><tbody>
<tr><th>shape</th><td>✓ passed</td><td>0</td><td>0</td><td>8 × 16</td></tr>
<tr><th>norm</th><td>✗ failed</td><td>2.5e-01</td><td>1.2e-01</td>\
<td>row &lt;1&gt;<br>Most likely: a <code>factor</code></td></tr>
<tr><th>odd</th><td>✗ failed</td><td>no &amp; error</td><td></td>\
<td>Most likely: {SAYS} (<a href="{LINK}">exhibit 6</a>)</td></tr>
<tr><th>half</th><td>– skipped</td><td></td><td></td><td>no argument</td></tr>
<tr><th>start</th><td>✓ passed</td><td>1.0e-09</td><td>2.0e-07</td><td></td></tr>
</tbody></table>"""


def test_what_a_report_prints(monkeypatch):
    monkeypatch.delenv("POSENC_BOOK", raising=False)
    assert repr(REPORT) == TEXT
    assert REPORT._repr_html_().partition("<caption>")[2].lstrip("\n") == HTML
    unknown = Report("mine", "bias", None, ROWS[:1])
    assert repr(unknown) == (
        "mine (bias): 1 passed\nconvention: none known\n✓ shape        0, 8 × 16"
    )
    with pytest.raises(AssertionError) as error:
        REPORT.raise_if_failed()
    wrong = TEXT.splitlines()[3:9]
    assert str(error.value) == "\n".join(["mine<1>: 2 passed, 2 failed, 1 skipped", *wrong])


def test_what_a_report_is_as_json(monkeypatch):
    monkeypatch.delenv("POSENC_BOOK", raising=False)
    found = json.loads(REPORT.as_json())
    assert found == REPORT.as_dict()
    assert REPORT.as_json().startswith('{\n "subject": "mine<1>",\n "kind": "table",\n')
    assert "2τ" in REPORT.as_json()
    laws = found.pop("laws")
    assert found == {
        "subject": "mine<1>",
        "kind": "table",
        "passed": False,
        "error": "",
        "convention": {
            "layout": "interleaved",
            "rule": "d/2",
            "base": 10_000.0,
            "first": 0.0,
            "step": 0.25,
            "direction": "up",
            "names": [],
        },
        "errors": {"7": 1e-9},
    }
    assert laws[2] == {
        "law": "odd",
        "asks": "a <width>",
        "status": "failed",
        "measured": "no & error",
        "bound": "",
        "source": "exact",
        "note": "",
        "likely": BUG.says,
        "exhibit": {"number": "6", "says": BUG.says, "page": BUG.page},
    }
    assert laws[0]["exhibit"] is None


@pytest.mark.parametrize(
    ("convention", "said"),
    [
        (Convention(), "interleaved; exponent i/(d/2); base 10000; counted from 0 up (paper)"),
        (
            Convention("sin, cos", "d/2 - 1", 12.5, 1.5, "one turn", "down"),
            "sin, cos; exponent i/(d/2 - 1); base 12.5; counted from 1.5 down in steps of one turn",
        ),
        (
            Convention("halves", step=1 / 3),
            "halves; exponent i/(d/2); base 10000; turned forwards in steps of 0.3333333",
        ),
        (
            Convention("neighbors", direction="backwards"),
            "neighbors; exponent i/(d/2); base 10000; turned backwards",
        ),
        (
            checks.KNOWN["Marian"],
            "sin, cos; exponent i/(d/2 - 1); base 10000; counted from 0 up "
            "(tensor2tensor, Marian, DDPM)",
        ),
    ],
)
def test_a_convention_in_a_line(convention, said):
    assert str(convention) == said


def test_where_angles_begin():
    omega = 10_000.0 ** (-np.arange(8) / 8)
    for first in (0.0, 1.0, 2.0, 7.25, 1 / 3, -1.5, 40.0):
        found, off = begun(wrapped(first * omega), omega, 257, 2.0**-24)
        assert found == pytest.approx(first, abs=1e-9)
        assert off < 1e-3
    found, off = begun(wrapped(3 * omega + 0.1), omega, 257, 2.0**-24)
    assert found == 0.0
    assert off > 100


def test_steps_as_a_reader_would_write_them():
    for step in (1.0, 3.0, 0.25, 1 / 3, 1 / 1000, 0.2, 1.234):
        for noise in (0, 1e-8):
            assert near_step(np.array([step + noise * step]), 257, 2.0**-24) == step
    assert near_step(np.array([-0.5]), 257, 2.0**-24) == 0.5
    assert near_step(np.array([0.1234567]), 257, 2.0**-24) == 0.1234567
    assert near_step(np.array([0.0]), 257, 2.0**-24) == 0.0


def test_conventions_that_are_one():
    one = Convention(base=10_000.0, step=1 / 3)
    assert alike(one, Convention(base=10_000.9, step=1 / 3 + 1e-6, first=5))
    others = [{"base": 10_002.0}, {"step": 0.3334}, {"step": "one turn"}]
    others += [{"rule": "d/2 - 1"}, {"layout": "halves"}, {"direction": "down"}]
    for other in others:
        assert not alike(one, Convention(**{"step": 1 / 3, **other}))
    turn = Convention(step="one turn")
    assert alike(turn, turn)
    assert not alike(turn, one)
    assert begin_alike(Convention(first=1), Convention(first=1.001))
    assert not begin_alike(Convention(first=1), Convention(first=1.002))


def test_what_a_row_holds():
    doubled = one(lambda n, d: sinusoidal_encoding(n, 2 * d), "shape")
    assert doubled.exhibit == checks.MUSEUM["doubled class"]
    assert (doubled.likely, doubled.bound, doubled.note) == (doubled.exhibit.says, "", "")
    norm = one(lambda n, d: sinusoidal_encoding(n, d) * np.where(np.arange(d) < 2, 2, 1), "norm")
    assert norm.bound == 6 * 2.0**-24
    assert norm.note.startswith("row ")
    raised = one(lambda n, d: {}["x" * 300], "shape", "table")
    assert (raised.measured, raised.bound, raised.note) == (f"KeyError: '{'x' * 159}", "", "")
    assert one(rotate_pairs, "identity").source == "2u: τ at position 0"
    with pytest.raises(ValueError, match=r"; got 'love', 'peace'$"):
        checks.check_table(sinusoidal_encoding, laws=["love", "norm", "peace"])
