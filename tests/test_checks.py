"""The checks reject wrong encodings, name the cause, and accept right ones."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from string import digits

import nbformat
import numpy as np
import pytest
from recall import DECODER, OMEGA, Rotary, by_product, check, turn
from specimens import OFF_BY_ONE, SPECIMENS, offsets, table
from torch import nn

from posenc import alibi_slopes, checks
from posenc.book import hunt
from posenc.checks.__main__ import main
from posenc.checks.builders import BUILT
from posenc.conventions import Convention, EncodingCall
from posenc.museum import spread
from posenc.nn import SinusoidalPositionalEncoding, rotate_pairs

ROOT = Path(__file__).parents[1]


def judge(kind, subject, **options):
    """Check quickly; float16 rounds from 2048 on, bfloat16 from 256 on."""
    quick = {"longest": 5000} if kind in ("table", "module", "rotary") else {}
    return check(subject, kind, **quick | options)


def test_each_law_rejects_a_specimen():
    rejected = {says.partition(":")[0] for _, says, *_ in SPECIMENS}
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
    assert words in f"{report[law].note}; {report[law].cause}"
    if law == "shape":  # without it, others say nothing
        assert not report.of_status("passed")


def encode(make, known, x, k):
    """Encode x wrongly, at positions (seq_len,) or (batch, seq_len)."""
    right = replace(known.encoding(x.shape[-1]), factor=1.5)
    k = np.asarray(k, float)
    if (x.ndim, k.ndim) == (4, 2):
        k = k[:, None]  # over the heads
    k = np.broadcast_to(k, x.shape[:-1])
    return make(EncodingCall(right, x, k)).astype(x.dtype)


def report_of(make, kind):
    """Check what has a fault; not of base 10000, nor of 8 heads."""
    if kind in BUILT:
        return checks.check_positions(lambda _: make(BUILT[kind][1]), kind)
    if kind == "bias":
        slopes = alibi_slopes(12)[:, None, None]
        return checks.check_bias(lambda n: make(slopes, offsets(n)), expected="alibi")
    known = Convention("halves" if kind == "rotary" else "interleaved", base=5e5)
    wrong = partial(encode, make, known)
    if kind == "table":
        wrong = lambda n, d: encode(make, known, np.zeros((n, d)), range(n))  # noqa: E731
    return checks.check(
        wrong, kind, convention=known, attention_factor=1.5, longest=6000
    )


def family(fault):
    """What a fault has in common with those that differ in a number."""
    return fault.kinds, fault.name.rstrip(digits + "."), fault.sentence


# The first of each family, but mixed layouts, which are fitted, and a part, which is a specimen.
ELSEWHERE = "within the part", "mixed layouts"
NAMED = [
    fault
    for fault in {family(fault): fault for fault in reversed(checks.FAULTS)}.values()
    if not fault.says.startswith(ELSEWHERE)
]


@pytest.mark.parametrize("fault", NAMED, ids=lambda fault: fault.name)
def test_a_known_fault_is_caught_and_named(fault):
    kind = "rotary" if "rotary" in fault.kinds else fault.kinds[0]
    report = report_of(fault.make, kind)
    assert report.failed
    assert fault.says in report[report.failed[0]].cause


def at(change):
    """Return what encodes right, at wrong positions."""
    return lambda call: call.at(change(call.k))


def mixed(call):
    right = call.right
    if call.x.shape[-2] == 1:
        pairs = Convention("neighbors").encoding(call.x.shape[-1]).pairs
        right = replace(right, pairs=pairs)
    return right(call.x, call.k)


# By kind: what is said of a fault, and its make. Chapters 14 and 19 fit others: steps, and the ends
# of tables and of slopes.
FITTED = {
    "rotary": {
        "3*position - 2 is taken": at(lambda k: 3 * k - 2),
        "sum over the batch is taken": at(
            lambda k: 0 * k + k.sum(axis=0) if k.ndim > 1 else k
        ),
        "0 is taken": at(lambda k: 0 * k),
        "head is taken": lambda call: call.at(call.numbers()[1]),
        "mixed layouts, up to length 1, or up to row 0: neighbors are paired": mixed,
        # Sine and cosine are swapped.
        "gives 1.5*(a, b)*sin + 1.5*(-b, a)*cos": lambda call: call.encode(
            np.pi / 2 - call.angles
        ),
        "of 8 pairs, 1 to 7 turn 0.3438 to 0.906": spread(
            lambda p, base: base**-p * (1 - 0.75 * p)
        ),
    },
    "table": {
        "length is taken": at(lambda k: 0 * k + k.shape[-1]),
        "position/last is taken": at(lambda k: k / max(k.max(), 1)),
        "(position + 1) % length is": at(lambda k: (k + 1) % k.shape[-1]),
        "500000^-(2*i/(d/2 - 1))": spread(lambda p, base: base ** (-2 * p / p[-1])),
        "500000^-(i/(d/2) + 1/(d/2))": spread(lambda p, base: base ** -(p + p[1])),
        "777^-(i/(d/2))": spread(lambda p, base: 777.0**-p),
    },
    "bias": {
        "it is -slope*offset": lambda slopes, k: -slopes * k,
        "2^(-h)": lambda slopes, k: (
            -np.multiply.outer(2.0 ** -np.arange(1, 13), abs(k))
        ),
        "2^(-0.666667*h + 0.666667)": lambda slopes, k: (
            -np.multiply.outer(2.0 ** (-2 * np.arange(12) / 3), abs(k))
        ),
    },
    "packing": {
        "they are id + 1": lambda ids: ids + 1,
    },
    "images": {
        "they are id - 1": lambda ids: ids - 1,
        "they are number;": lambda ids: 0 * ids + np.arange(24),
        "row is row in the order row, frame, column, ": lambda ids: np.stack(
            [np.zeros(24), np.arange(24) // 8, ids[2]]
        ),
        "row is column, column is row": lambda ids: ids[[0, 2, 1]],
        "row is row in the order frame, column, row, ": lambda ids: (
            ids.reshape(3, 2, 3, 4).swapaxes(2, 3).reshape(3, 24)
        ),
    },
}


CASES = [(kind, words) for kind, faults in FITTED.items() for words in faults]


@pytest.mark.parametrize(("kind", "words"), CASES)
def test_a_fault_is_fitted(kind, words):
    report = report_of(FITTED[kind][words], kind)
    assert words in report[report.failed[0]].cause


def test_what_the_checks_say_is_ascii():
    """So any terminal can show it."""
    texts = [*map(str, checks.FAULTS), *map(str, checks.LAWS)]
    assert [text for text in texts if not text.isascii()] == []


def test_the_museum_is_the_book_s():
    """Each exhibit's link leads to it."""
    for fault in checks.MUSEUM.values():
        page, _, anchor = fault.page.partition(".html#")
        notebook = nbformat.read(ROOT / f"{page}.ipynb", as_version=4)
        mark = f'<a id="{anchor}"></a>'
        assert any(mark in cell.source for cell in notebook.cells), fault.page
    assert not any(fault.page for fault in checks.FAULTS if not fault.number)


@pytest.mark.parametrize("made", [None, "x", [[1.0], [1.0, 2.0]], {}], ids=str)
def test_what_is_no_array_is_the_user_s_trouble(made):
    kinds = ("table", "module", "rotary", "bias", "decoder", "positions")
    for kind in kinds:
        options = {"expected": "images"} if kind == "positions" else {}
        report = checks.check(lambda *given: made, kind, **options)
        assert report.failed
        assert not report.of_status("internal", "passed")


def test_code_that_raises_is_told_from_checks_that_fail(monkeypatch):
    def crashes(*given):
        raise RuntimeError("no such luck\nand more")

    report = checks.check_table(crashes)
    assert report.failed == ["shape"]
    assert report.error.count("RuntimeError: no such luck") == 1
    assert report["values"].note == "follows from shape"
    monkeypatch.setattr("posenc.checks.encodings.multiplier", crashes)
    report = checks.check_table(lambda n, d: 2 * table(n, d), laws=["values"])
    assert (report.failed, report.passed) == ([], False)
    with pytest.raises(RuntimeError, match="not your code: please report"):
        report.raise_if_failed()


def test_the_kind_of_a_subject_is_guessed():
    for subject, kind in (
        (table, "table"),
        (rotate_pairs, "rotary"),
        (lambda seq_len: 0, "bias"),
        (SinusoidalPositionalEncoding, "module"),
        (nn.ReLU(), "module"),
        (Rotary(), "rotary"),
    ):
        assert checks.kind_of(subject) == kind


TABLE = partial(checks.check, table)
BAD = {  # the message, and what raises it
    "a subject must be callable, got 3": lambda: checks.check_table(3),
    "must be even": lambda: TABLE(widths=[9]),
    "law of a table must be one of shape; .* got 'peace'": lambda: TABLE(
        laws=["far", "peace"]
    ),
    "laws must have one, of shape": lambda: TABLE(laws=[]),
    "name of a convention must be one of": lambda: TABLE(convention="mine"),
    "must be that of a table, got": lambda: TABLE(convention="rotary, halves"),
    "widths must be one that": lambda: TABLE(frequencies=[1, 0.1], widths=[4, 6]),
    r"must have shape .* got \(0,\)": lambda: TABLE(frequencies=[]),
    r"right must return ids, got shape \(3,\)": lambda: checks.check_positions(
        abs, "images", right=abs
    ),
    "base must not be": lambda: TABLE(base=100, convention="paper"),
    "learned must not be": lambda: TABLE(base=100, learned=True),
    "pass widths=": lambda: checks.check_module(nn.LayerNorm(4)),
    "expected must be 'alibi', 't5' or a": lambda: checks.check_bias(len, expected=3),
    "step must be callable, got 3": lambda: checks.check_decoder(len, step=3),
    "layout must be one of interleaved; .* got 'sofa'": lambda: Convention("sofa"),
    "argument 'learned'": lambda: checks.check_positions(abs, "packing", learned=True),
    "got 0.75 and 0.5": lambda: Convention(
        "halves", extent="partial", share=0.75, start=0.5
    ),
    "test must be a function of encode": lambda: hunt.hunt(True),
}


@pytest.mark.parametrize("message", BAD)
def test_an_argument_that_is_wrong_is_named(message):
    with pytest.raises((TypeError, ValueError), match=message):
        BAD[message]()


def test_each_sequence_of_a_batch_is_counted_from_its_own_end():
    rows = np.array([[0, 1, 2], [7, 8, 9]])
    counted = Convention(direction="down").counted(rows)
    assert counted.tolist() == [[2, 1, 0], [2, 1, 0]]


def test_a_report_says_where_the_two_part():
    report = judge("table", hunt.dimension_for_pair)
    first = repr(report).splitlines()[0]
    assert re.match(
        "dimension_for_pair .* fails values: .*, position 1, .* for .* at most .*tau",
        first,
    )
    html = report._repr_html_()
    assert html.count("<tr>") == len([*report])
    assert 'href="../notebooks/14_bug_museum.html#exhibit-2"' in html
    with pytest.raises(AssertionError, match="failed   values"):
        report.raise_if_failed()


def test_what_follows_no_convention_is_shown_beside_the_nearest_layout():
    wrong = turn(pairing="neighbors", frequencies=OMEGA**1.1)
    report = checks.check_rotary(wrong, widths=[16], laws=["values"])
    assert "position 1, dimension 2: " in report["values"].note
    assert "beside it is neighbors" in report.about


def test_declared_frequencies_are_said_in_place_of_a_base():
    report = checks.check_rotary(Rotary(), frequencies=OMEGA, laws=["shape"])
    assert report.about.endswith("but at the declared frequencies")


def test_a_convention_is_recognized_without_autocast():
    report = checks.check_rotary(by_product, widths=[16], laws=["reduced"])
    assert report.failed
    assert report.about.startswith("compared with neighbors")


def test_expected_failures(tmp_path):
    report = checks.check_table(hunt.own_exponent, laws=["values", "shape"])
    expected = report.expecting({"values": "embeddings are halved"})
    assert (expected.passed, expected.counts()) == (True, "1 passed, 1 expected")
    assert "expected values   expected: embeddings are halved" in repr(expected)
    mended = report.expecting({"shape": "an axis too many"})
    assert "so drop the expected failure" in mended["shape"].cause
    # In a file, for pytest
    file = tmp_path / "expected.toml"
    file.write_text('[own_exponent]\nvalues = "halved"\n')
    laws = ["shape", "values", "half"]
    decorator = checks.parametrize_with_checks(
        [hunt.own_exponent], expect=file, laws=laws
    )
    shape, values, half = decorator.mark.args[1]
    assert (shape.id, values.id) == ("own_exponent-shape", "own_exponent-values")
    shape.values[0]()
    with pytest.raises(pytest.xfail.Exception, match="expected: halved"):
        values.values[0]()
    with pytest.raises(pytest.skip.Exception, match="follows from values"):
        half.values[0]()


def test_each_subject_has_the_tests_of_its_kind():
    """A step makes it a decoder; laws may come from a generator."""
    laws = (law for law in ["steps"])
    subjects = [DECODER.full, OFF_BY_ONE.full]
    decorator = checks.parametrize_with_checks(subjects, step=DECODER.step, laws=laws)
    for test in decorator.mark.args[1]:
        assert test.id == "Decoder.full-steps"
        test.values[0]()


def test_a_wide_table_is_asked_fewer_rows():
    sizes = []

    def wide(n, d, dtype=None):
        sizes.append(n * d)
        return table(n, d)

    assert checks.check_table(wide, widths=[1024], laws=["repeat", "far"]).passed
    assert 2**20 < max(sizes) < 2**22


RIGHT, WRONG = "posenc:sinusoidal_encoding", "posenc.book.hunt:own_exponent"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (RIGHT, 0, ""),
        (WRONG, 1, ""),
        (f"{WRONG} --expect values=meant --json", 0, ""),
        (f"{WRONG} --expect values=see.toml", 0, ""),
        ("recall:DECODER.full --step specimens:OFF_BY_ONE.step --laws steps", 1, ""),
        (
            f"{RIGHT} --expect far",
            2,
            "not be checked: ValueError: an expected failure",
        ),
        (f"{RIGHT} operator:getitem", 2, ""),
        ("builtins:abs --expected packing", 1, ""),
        ("posenc:alibi_bias --expected alibi", 2, ""),
        (f"{RIGHT} --step nope:step", 2, "ModuleNotFoundError: No module named 'nope'"),
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
    environment = os.environ | {"PYTHONIOENCODING": "cp1252"}
    done = subprocess.run(run, env=environment, capture_output=True, check=False)
    assert done.returncode == 1, done.stderr.decode()
    assert "failed   values" in done.stdout.decode("ascii")


def test_the_hunt_says_what_a_test_caught_missed_and_accused():
    def good(encode):
        if abs(encode(3000, 8) - table(3000, 8)).max() > 1e-3:
            raise AssertionError

    blind = hunt.hunt(lambda encode: encode(4, 8).dtype == "float32")
    assert "false alarm: two loops (it returned False)" in blind
    little = hunt.hunt(lambda encode: len(encode(4, 8)) == 4)
    assert f"missed: {checks.MUSEUM['minus sign'].says} (exhibit 10)" in little
    unmet = hunt.hunt(lambda encode: pytest.fail("no table"))
    assert "caught: all ones (no table)" in unmet
    best = hunt.hunt(good)
    assert "It caught 8 of 8 bugs, and rejected 0 of 3 correct tables." in best
    assert best.endswith("Nothing is left to find: a good test.")
