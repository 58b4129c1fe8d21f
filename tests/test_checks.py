"""The checks find what is wrong, say why, and leave alone what is right."""

import json
import re
import runpy
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from types import ModuleType

import mpmath
import nbformat
import numpy as np
import pytest
import specimens
import torch
from docutils.nodes import make_id
from torch import nn

from posenc import checks, rotary_frequencies, sinusoidal_encoding, tiny
from posenc.checks import __main__ as shell
from posenc.checks import hunt, recall
from posenc.checks._exact import geometric, reduced_angles
from posenc.checks._torch import RoundedProducts
from posenc.checks.conventions import Convention, rounding
from posenc.checks.subjects import library_of, severe, values, worst
from posenc.nn import SinusoidalPositionalEncoding, alibi_slopes, rotate_pairs

ROOT = Path(__file__).parents[1]
QUICK = {"longest": 2500, "length": 600}  # more than 2048, where float16 begins to round
SLOW = ("compile", "device")  # they load a compiler; a test of their own tries them


def looked_at(subject, kind, **options):
    laws = [law for law in checks.laws_of(kind) if law not in SLOW]
    options = ({"laws": laws} if kind in ("bias", "decoder") else {"laws": laws, **QUICK}) | options
    return checks.check(subject, kind, **options)


def one(subject, law, kind=None, **options):
    """The row of one law."""
    return checks.check(subject, kind, laws=[law], **options)[law]


def table(seq_len, d_model):
    return sinusoidal_encoding(seq_len, d_model)


# What is right passes, what is wrong doesn't


@pytest.mark.parametrize("name", specimens.RIGHT)
def test_what_is_right_passes(name):
    kind, text = specimens.RIGHT[name]
    subject = specimens.made(text)
    assert checks.kind_of(subject) == kind
    looked_at(subject, kind).raise_if_failed()


@pytest.mark.parametrize(
    ("kind", "text", "old", "new"),
    specimens.MUTANTS,
    ids=[f"{kind}: {new.strip()}" for kind, _, _, new in specimens.MUTANTS],
)
def test_mutants_are_flagged(kind, text, old, new):
    assert text.count(old) == 1
    options = {} if kind == "bias" else {"base": 10_000}
    laws = checks.laws_of(kind)  # some break `device` alone
    options["laws"] = [law for law in laws if law != "compile"]
    assert looked_at(specimens.made(text.replace(old, new)), kind, **options).failed


@pytest.mark.parametrize("bug", recall.BUGS, ids=[bug.says for bug in recall.BUGS])
def test_public_bugs_are_caught_and_what_is_right_is_not_accused(bug):
    (found,) = recall.recall((bug,), **QUICK | {"longest": 5000})
    assert found.caught == bug.law
    assert found.accused == ()
    assert bool(bug.why) is not bool(bug.law)


@pytest.mark.parametrize("name", checks.KNOWN)
def test_every_known_convention_passes_and_is_known(name):
    known, layout = checks.KNOWN[name], name.removeprefix("rotary, ")
    if layout != name:
        report = looked_at(lambda x, p: rotate_pairs(x, p, layout=layout), "rotary")
    else:
        report = looked_at(known.table, "table", convention=name)
    report.raise_if_failed()
    assert report.convention == known
    assert name in report.known()


@pytest.mark.parametrize("step", [1 / 3, 0.25, 0.1234567891, 1 / 1.7, 2.5])
@pytest.mark.parametrize(("base", "first"), [(12.5, 0), (500_042.25, 1 / 3), (9.87654321e7, 20)])
def test_any_step_base_and_start_pass(step, base, first):
    def encode(seq_len, d_model):
        return sinusoidal_encoding((np.arange(seq_len) + first) * step, d_model, base=base)

    report = checks.check_table(encode, length=300, longest=50_000)
    report.raise_if_failed()
    assert report.convention.step == pytest.approx(step, rel=1e-6)
    assert report.convention.base == pytest.approx(base, rel=1e-4)
    assert report.convention.first == pytest.approx(first, abs=1e-3)
    assert one(encode, "frequencies", "table", base=base * 1.001).exhibit.number == "E"


@pytest.mark.parametrize("layout", ["neighbors", "halves"])
@pytest.mark.parametrize("kind", ["default", "proportional"])
@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
def test_the_part_that_turns_is_recognized(layout, kind, share):
    def rotate(x, positions):
        scaling = {"rope_type": kind, "partial_rotary_factor": share}
        omega = rotary_frequencies(x.shape[-1], scaling=scaling)[0]
        return rotate_pairs(x, positions, frequencies=omega, layout=layout)

    report = looked_at(rotate, "rotary", widths=[16, 32])
    report.raise_if_failed()
    extent = "partial" if kind == "default" else kind
    assert report.convention == Convention(layout, extent=extent, share=share)
    assert report.known().endswith(f"{extent}, {share} of the width")


def test_parts_with_few_pairs_and_at_the_end():
    def end(x, positions):  # the rotated part stands last
        return torch.cat((x[..., :8], rotate_pairs(x[..., 8:], positions, layout="halves")), -1)

    assert looked_at(end, "rotary", widths=[24, 40]).failed == ["norm"] * 0
    few = specimens.made(specimens.ROTARIES["a half of the width"])
    row = one(few, "frequencies", widths=[8])
    assert row.note == "2 pairs turn at width 8; a base shows from 3 on, such as with widths=[16]"


YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}


@pytest.mark.parametrize(
    "scaling", [YARN, {"rope_type": "proportional", "partial_rotary_factor": 0.5}]
)
@pytest.mark.parametrize("layout", ["neighbors", "halves"])
def test_scaled_rotations(scaling, layout):
    omega, factor = rotary_frequencies(16, scaling=scaling)
    meant = {"frequencies": omega, "attention_factor": factor, "widths": [16]}

    def turn(x, positions):
        options = {"frequencies": omega, "attention_factor": factor, "layout": layout}
        return rotate_pairs(x, positions, **options)

    looked_at(turn, "rotary", **meant).raise_if_failed()
    other = looked_at(turn, "rotary", **meant | {"frequencies": omega * 1.01})
    assert other["frequencies"].exhibit.number == "E"
    assert other["float32"].status == "failed"
    few = looked_at(turn, "rotary", **meant | {"frequencies": omega[:3]})
    assert few["frequencies"].status == "failed"
    more = one(recall.part("partial"), "float32", "rotary", frequencies=1 / (1 + np.arange(8.0)))
    assert more.note == "no convention to compare with"


AXIAL = np.kron(np.eye(2), rotary_frequencies(8, base=100)[0])


def test_several_coordinates():
    def axial(x, positions):
        return rotate_pairs(x, positions, frequencies=AXIAL)

    looked_at(axial, "rotary", axes=2, widths=[16]).raise_if_failed()
    looked_at(axial, "rotary", axes=2, frequencies=AXIAL, widths=[16]).raise_if_failed()
    wrong = {"frequencies": AXIAL[::-1], "widths": [16]}
    assert "axes" in looked_at(axial, "rotary", axes=2, **wrong).failed
    few = one(axial, "axes", "rotary", axes=[0, 1], widths=[16])
    assert few.measured == "8 pairs, where 2 are asked for"
    three = one(axial, "axes", "rotary", axes=3, widths=[16])
    assert three.measured.startswith("ValueError")

    def first_alone(x, positions):
        return rotate_pairs(x, positions[..., 0])

    assert one(first_alone, "axes", "rotary", axes=2).measured == "coordinate 1 turns nothing"

    def not_additive(x, positions):
        return rotate_pairs(x, (positions * torch.tensor([1, 1])).amax(-1))

    assert one(not_additive, "axes", "rotary", axes=2).status == "failed"
    few = one(
        lambda x, p: rotate_pairs(x, p, frequencies=AXIAL[:, ::4]), "frequencies", "rotary", axes=2
    )
    assert few.status == "skipped"
    odd = AXIAL * np.array([1, 2.5, 1, 1, 1, 1, 1, 1])
    none = one(
        lambda x, p: rotate_pairs(x, p, frequencies=odd),
        "frequencies",
        "rotary",
        axes=2,
        widths=[16],
    )
    assert none.measured == "no base and exponent known for the pairs of coordinate 0"


# The museum


def swapped(seq_len, d_model):
    j = np.arange(d_model)
    angles = np.arange(seq_len)[:, None] * (2 * (j // 2) / d_model) ** 1e-4
    return np.where(j % 2, np.cos(angles), np.sin(angles))


def doubled(seq_len, d_model):
    return sinusoidal_encoding(seq_len, 2 * d_model)


def trained(seq_len, d_model):
    rows = sinusoidal_encoding(seq_len, d_model, dtype=np.float64)
    goal = np.random.default_rng(0).normal(size=(32, d_model))
    rows[:32] += 0.9 * (goal - rows[:32])[: len(rows)]
    return rows


def cut_short(seq_len, d_model):
    return sinusoidal_encoding(seq_len, d_model + d_model % 2)[:, : d_model // 2 * 2]


def zero_column(seq_len, d_model):
    return np.pad(cut_short(seq_len, d_model), [(0, 0), (0, d_model % 2)])


class OneRowPerSentence(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.from_numpy(sinusoidal_encoding(500, 16)))
        self.register_buffer("pe", self.table.detach()[:, None])

    def forward(self, x):
        return x + self.pe[: x.size(0)]


class SumThrownAway(OneRowPerSentence):
    def forward(self, x):
        return x.clone()


class Trained(OneRowPerSentence):
    def forward(self, x):
        return x + self.table[: x.size(1)]


def rounded(x, positions):
    return rotate_pairs(x, positions.to(x.dtype))


def stuck():
    stored = {}
    return lambda x, positions: rotate_pairs(x, stored.setdefault(x.shape[-2], positions))


def mixed_layouts(x, positions):
    return rotate_pairs(x, positions, layout="halves" if x.shape[-2] == 1 else "neighbors")


def first_column(seq_len, d_model):
    """Rows of an image's table, down its first column, with the axes swapped."""
    places = torch.meshgrid(torch.arange(5), torch.arange(seq_len), indexing="ij")[1]
    return sinusoidal_encoding(places.flatten().numpy(), d_model)[::5]


def signed(seq_len):
    k = torch.arange(seq_len)
    return alibi_slopes(4)[:, None, None] * (k[:, None] - k)


OF_YARN = recall.yarn_options()
EXHIBITS = {
    "1": ("batch", "module", OneRowPerSentence(), {}),
    **{
        checks.MUSEUM[name].number: (checks.MUSEUM[name].law, "table", encode, {"length": 2500})
        for name, encode in hunt.BUGS.items()
    },
    "5": ("norm", "module", SumThrownAway(), {}),
    "6": ("odd", "table", cut_short, {}),
    "6, zeros": ("odd", "table", zero_column, {}),
    "7": ("shift", "table", trained, {}),
    "7, as a layer": ("gradient", "module", Trained(), {}),
    "10, the cousin": (
        "frequencies",
        "table",
        swapped,
        {},
    ),
    "12": ("shape", "table", doubled, {}),
    "A": ("half", "rotary", rounded, {}),
    "B": ("steps", "rotary", stuck(), {}),
    "C": ("steps", "rotary", mixed_layouts, {}),
    "D": ("shift", "rotary", lambda x, p: rotate_pairs(x, p - p // 2), {}),
    "E": ("frequencies", "rotary", recall.lost_base, {"base": 500_000}),
    "F": ("norm", "rotary", recall.yarn(power=0), OF_YARN),
    "F, twice": ("norm", "rotary", recall.yarn(power=2), OF_YARN),
    "G": ("shift", "table", first_column, {}),
    "H": ("mirror", "bias", signed, {}),
}


@pytest.mark.parametrize("number", EXHIBITS)
def test_exhibits_fail_their_law_and_are_recognized(number):
    law, kind, subject, options = EXHIBITS[number]
    row = looked_at(subject, kind, **options)[law]
    assert row.status == "failed"
    assert row.exhibit is not None, row
    assert row.exhibit.number == number.partition(",")[0]
    assert row.exhibit.law == law or "," in number


def test_the_museum_is_the_book_s():
    """Each exhibit is shown where the link leads, and none is missing."""
    shown = set()
    for chapter in ("14_bug_museum", "16_batches_and_caches"):
        notebook = nbformat.read(ROOT / "notebooks" / f"{chapter}.ipynb", as_version=4)
        text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
        shown |= set(re.findall(r"\b[Ee]xhibit (\d+|[A-H])\b", text))
        headings = {make_id(line) for line in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}
        here = [each for each in checks.MUSEUM.values() if each.chapter == chapter]
        assert {exhibit.anchor for exhibit in here} <= headings
    numbers = {exhibit.number for exhibit in checks.MUSEUM.values()}
    assert shown == numbers == {number.partition(",")[0] for number in EXHIBITS}


# Decoders

DECODER = recall.DECODER


def at(place):
    """Steps that count as `place` says of the tokens in the cache, their number and positions."""

    def step(tokens, cache):
        return DECODER.step(tokens, cache, recall.counted(tokens, 0) + place(recall.count(cache)))

    return step


def window(tokens, cache):
    scores, cache = DECODER.step(tokens, cache)
    cut = [(k[:, :, -16:], v[:, :, -16:], p[:, -16:], m[:, -16:]) for k, v, p, m in cache]
    return scores, cut


def other_scale(tokens, cache):
    weights = dict(DECODER.model.weights)
    weights["layers.0.attention.to_qkv.weight"] = 1.3 * weights["layers.0.attention.to_qkv.weight"]
    return (DECODER if cache is None else tiny.Decoder(weights)).step(tokens, cache)


def blind_chunk(tokens, cache):
    if cache is None:
        return DECODER.step(tokens, cache)
    begin = recall.count(cache)
    parts = [
        DECODER.step(tokens[:, [n]], cache, np.full((len(tokens), 1), begin + n))[0]
        for n in range(tokens.shape[1])
    ]
    return np.concatenate(parts, axis=1), DECODER.step(tokens, cache)[1]


def sticky():
    absolute, read = tiny.Decoder(DECODER.model.weights, "sinusoidal"), []

    def step(tokens, cache):
        read.append(tokens.shape[1])
        return absolute.step(tokens, cache, recall.counted(tokens, sum(read[:-1])))

    return {"full": absolute.full, "step": step, "relative": False}


def not_causal(tokens, positions=None):
    return DECODER.full(tokens[:, ::-1])[:, ::-1]


def one_row_for_all(tokens):
    return np.repeat(DECODER.full(tokens[:1]), len(tokens), axis=0)


UNROTATED = tiny.Decoder(DECODER.model.weights, "none")
ABSOLUTE = tiny.Decoder(DECODER.model.weights, "sinusoidal")
FAULTS = {
    "counts from 0": (recall.pair(step=recall.from_zero), "steps", "counted from 0 in each call"),
    "one too far": (recall.pair(step=at(lambda n: n + (n > 0))), "steps", "one too far"),
    "wraps": (recall.pair(step=at(lambda n: n % 16)), "steps", "wrap or are clamped, at 16"),
    "a window": (recall.pair(step=window), "steps", "the cache is cut"),
    "another scale": (recall.pair(step=other_scale), "steps", "another scale"),
    "a step unlike the whole": (
        {"full": lambda tokens: DECODER.full(tokens), "step": UNROTATED.step},
        "steps",
        "counted from 0 in each call: the offset of the cache doesn't arrive; or",
    ),
    "a chunk is blind": (recall.pair(step=blind_chunk), "chunks", "in a chunk, the mask"),
    "padding is seen": (
        {"full": lambda tokens, positions=None, mask=None: DECODER.full(tokens, positions)},
        "padded",
        "padding is looked at",
    ),
    "one offset": (recall.pair(step=recall.one_offset), "ragged", "all rows go on from one"),
    "packed texts see": (recall.pair(recall.across), "packed", "looks at the one before"),
    "absolute": ({"full": ABSOLUTE.full, "step": ABSOLUTE.step}, "moved", "relative=False"),
    "an offset sticks": (sticky(), "repeat", "kept from an earlier text"),
    "no mask": ({"full": not_causal}, "causal", "the causal mask is missing"),
    "one row for all": ({"full": one_row_for_all}, "batch", "share what should be their own"),
    "no order": (
        {"full": lambda tokens: 0 * DECODER.full(tokens) + np.arange(16.0)},
        "order",
        "positions never reach",
    ),
    "a token too many": (
        {"full": lambda tokens: DECODER.full(np.pad(tokens, [(0, 0), (1, 0)]))},
        "shape",
        "an axis is missing",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_of_decoders_are_caught_and_named(name):
    given, law, likely = FAULTS[name]
    report = checks.check_decoder(**given)
    assert law in report.failed
    assert likely in report[law].likely


@pytest.mark.parametrize("encoding", tiny.ENCODINGS)
def test_the_tiny_decoder_passes(encoding):
    decoder = tiny.Decoder(tiny.train(encoding, steps=5), encoding)
    report = checks.check_decoder(
        decoder.full, decoder.step, relative=encoding != "sinusoidal", vocabulary=12
    )
    report.raise_if_failed()
    assert report.counts() == ("10 passed, 1 skipped" if encoding == "sinusoidal" else "11 passed")


def test_a_decoder_in_torch_and_one_without_a_step():
    def full(tokens, position_ids=None):
        if not isinstance(tokens, torch.Tensor):
            raise TypeError("tensors alone")
        named = {} if position_ids is None else {"positions": position_ids.numpy()}
        return torch.from_numpy(DECODER.full(tokens.numpy(), **named))

    report = checks.check_decoder(full)
    report.raise_if_failed()
    assert report.counts() == "6 passed, 5 skipped"
    assert report["shape"].note.startswith("torch, ")
    assert (report["steps"].note, report["padded"].note) == ("no step", "no argument for mask")


def test_a_decoder_without_torch(monkeypatch):
    monkeypatch.delitem(sys.modules, "torch")
    row = one(DECODER.full, "shape", "decoder")
    assert row.note.startswith("numpy, ")
    assert checks.check_rotary(in_numpy, laws=["shape"])["shape"].note.startswith("numpy")
    assert checks.kind_of(table) == "table"


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


def test_laws_have_reasons_and_causes():
    assert all(law.asks and law.source and law.likely for law in checks.LAWS)
    every = {name for kind in checks.CHECKS for name in checks.laws_of(kind)}
    assert every == {law.name for law in checks.LAWS}


def test_the_severest_of_several():
    nan = (np.nan, 1.0, "nan")
    assert severe([(0.1, 1.0, "a"), nan, (5.0, 1.0, "b")]) == nan
    assert severe([(0.1, 1.0, "a"), (0.2, 4.0, "b")])[2] == "a"
    assert worst(np.zeros((0, 3)), 2.0) == (0.0, 2.0, ())


# NaN never passes, and neither does what raises


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
            rows = torch.from_numpy(sinusoidal_encoding(count.flatten().numpy(), even))
            rows = rows[:, : self.d_model].reshape(*count.shape, self.d_model)
            return spoil(x + rows.to(x.device, x.dtype))

    def encode(seq_len, d_model, dtype=torch.float32):
        made = sinusoidal_encoding(seq_len, d_model + d_model % 2)[:, :d_model]
        return spoil(torch.from_numpy(made).to(dtype))

    def rotate(x, positions):
        even = x.shape[-1] // 2 * 2
        turned = rotate_pairs(x[..., :even], positions)
        return spoil(torch.cat([turned, x[..., even:]], dim=-1))

    def bias(seq_len):
        k = torch.arange(seq_len)
        return spoil(-0.5 * (k[:, None] - k).abs())

    return {"table": encode, "module": Layer, "rotary": rotate, "bias": bias}[kind]


NAN = [
    (kind, law)
    for kind in ("table", "module", "rotary", "bias")
    for law in checks.laws_of(kind)
    # what is compared under compile is what `start` compares; the others need a module, or axes
    if (kind, law) not in {("module", "compile"), ("module", "meta")}
    and (kind, law) not in {("rotary", "cast"), ("rotary", "meta"), ("rotary", "axes")}
]


@pytest.mark.parametrize(("kind", "law"), NAN)
@pytest.mark.parametrize("where", ["all", "first", "last"])
def test_nan_never_passes(kind, law, where):
    options = {} if kind == "bias" else {"convention": "paper", **QUICK}
    assert one(spoiled(kind, where), law, kind, **options).status == "failed"


def test_what_raises_could_not_be_checked():
    def crashes(seq_len, d_model):
        raise RuntimeError("no such luck\nand more")

    report = checks.check_table(crashes)
    assert report.error == "RuntimeError: no such luck"
    assert report["shape"].likely == "the code raises an error"
    assert report["odd"].status == "failed"
    assert one(lambda x, p: 1 / 0, "odd", "rotary").measured.startswith("ZeroDivisionError")
    assert checks.check_rotary(lambda x, p: 1 / 0)["far"].status == "failed"
    silent = one(lambda n, d: (_ for _ in ()).throw(RuntimeError()), "shape", "table")
    assert silent.measured == "RuntimeError: "


# Edges of tables


def early(seq_len, d_model, dtype=torch.float32):
    where = torch.arange(seq_len).to(dtype).double().numpy()
    return torch.from_numpy(sinusoidal_encoding(where, d_model)).to(dtype)


def wider(seq_len, d_model, dtype=np.float32):
    return sinusoidal_encoding(seq_len, d_model * (1 + (dtype == np.float16)), dtype=dtype)


TABLE_ROWS = [
    (wider, "half", "shapes (1024, 32) and (1024, 16)"),
    (lambda n, d: np.ones((n, d), int), "shape", "int64, which is no floating-point type"),
    (lambda n, d: table(n, d)[:, :-1], "shape", "shape (257, 15) for (257, 16)"),
    (lambda n, d: table(max(n, 1), d), "empty", "shape (1, 16) for (0, 16)"),
    (lambda n, d: table(max(n, 2) if n else 0, d), "empty", "shapes (2, 16) and (1, 16)"),
    (lambda n, d: table(n, d + d % 2), "odd", "shape (8, 16) for width 15, and no error"),
    (lambda n, d, dtype=None: table(n, d), "half", "float32 for float16"),
    (lambda n, d: 3 * table(n, d), "norm", "all rows are multiplied by 3"),
    (lambda n, d: table(n, d) / d, "norm", "all rows are multiplied by 0.0625 and 0.04167"),
    (lambda n, d: np.repeat(table(1, d), n, axis=0), "frequencies", "no pair turns"),
    (lambda n, d: table(n, d)[:, ::-1][:, [3, 0, *range(4, d), 1, 2]], "frequencies", "no pair of"),
]


@pytest.mark.parametrize(("encode", "law", "measured"), TABLE_ROWS)
def test_what_is_said_of_tables(encode, law, measured):
    row = one(encode, law, "table")
    assert row.status == "failed"
    assert row.measured.startswith(measured)


def test_half_precision_of_tables():
    def late(seq_len, d_model, dtype=torch.float32):
        return torch.from_numpy(table(seq_len, d_model)).to(dtype)

    assert one(late, "half").status == "passed"
    assert one(early, "half").exhibit.number == "8"
    assert one(table, "half").note == "no argument `dtype`"
    assert one(dict, "half", kind="table").status != "passed"
    half = one(lambda n, d, dtype=None: late(n, d, torch.bfloat16), "half", kind="table")
    assert half.note == "the table is in half precision: see float32"


def test_tables_with_an_end_and_of_any_order():
    def short(seq_len, d_model):
        if seq_len > 40:
            raise IndexError("too long")
        return table(seq_len, d_model)

    assert "of 32" in checks.check_table(short)["float32"].note
    assert "of 32" in one(lambda n, d: table(min(n, 40), d), "float32").note
    order = np.random.default_rng(0).permutation(16)
    report = checks.check_table(lambda n, d: table(n, d)[:, order], widths=[16], **QUICK)
    assert report.failed == ["frequencies"]
    assert report["float32"].note == "no convention to compare with"
    assert one(lambda n, d: table(n, d)[:, None], "shape").status == "passed"


def test_a_table_that_writes_over_its_results():
    kept = np.zeros((3000, 16), np.float32)

    def one_buffer(seq_len, d_model):
        kept[:seq_len] = table(seq_len, 16) + d_model / 100 + kept.any()
        return kept[:seq_len]

    assert one(one_buffer, "repeat").measured == "a later call wrote over the first result"


def test_conventions():
    paper = checks.KNOWN["paper"]
    assert paper.names() == ["paper"]
    assert one(table, "convention").note == "none was asked for"
    assert one(table, "convention", convention="paper").status == "passed"
    assert "where sin, cos" in one(table, "convention", convention="Marian").measured
    assert (
        one(lambda n, d: -(table(n, d) ** 2), "convention", convention=paper).measured
        == "none known"
    )
    assert str(Convention("sin, cos", "d/2 - 1", 12.5, 1.5, "one turn", "down")) == (
        "sin, cos; exponent i/(d/2 - 1); base 12.5; counted from 1.5 down in steps of one turn"
    )
    assert str(Convention("neighbors", direction="backwards")).endswith("turned backwards")


# Edges of layers and rotations


class Cut(torch.autograd.Function):
    """A step that gives no gradient back."""

    @staticmethod
    def forward(context, x):
        return x.clone()

    @staticmethod
    def backward(context, gradient):
        return None


class Bare(nn.Module):
    """A right layer without any luxury; `line` is what it returns."""

    def __init__(self, d_model=16, line="x + rows"):
        super().__init__()
        self.table = nn.Parameter(torch.from_numpy(table(300, d_model)), requires_grad=False)
        self.register_buffer("scale", torch.ones(()))
        self.kept, self.line = torch.zeros(0), compile(line, "a layer", "eval")

    def forward(self, x, position=None):
        rows = self.table[: x.size(1)] if position is None else self.table[position]
        return eval(self.line, {"torch": torch, "Cut": Cut}, {"x": x, "rows": rows, "self": self})


LAYER_ROWS = [
    ("empty", "x[:, :0] + self.table[:0]", "shape (0, 0, 16) for an empty batch"),
    ("masked", "x + rows + x.sum() * 0", "rows changed whose input didn't"),
    ("gradient", "Cut.apply(x) + rows", "no gradient arrives at x"),
    ("state", "x + rows * self.scale.add_(1)", "another result after saving and loading"),
    ("device", "torch.zeros(x.shape)", "the result is on another device"),
    ("device", "(x + rows).float()", "float32 for float64"),
    ("repeat", "x.add_(rows)", "the input was changed"),
    ("repeat", "self.kept.resize_(x.shape).copy_(x + rows)", "a later call wrote over"),
    ("half", "x.float() + rows.float()", "float32 for bfloat16"),
]


@pytest.mark.parametrize(("law", "line", "measured"), LAYER_ROWS)
def test_what_is_said_of_layers(law, line, measured):
    row = one(Bare(line=line), law)
    assert row.status == "failed"
    assert row.measured.startswith(measured)


def test_layers():
    compiled = checks.check_module(SinusoidalPositionalEncoding(16), **QUICK)
    compiled.raise_if_failed()
    assert compiled["compile"].status == compiled["device"].status == "passed"
    report = looked_at(Bare(), "module")
    report.raise_if_failed()
    assert report["odd"].note == "the layer has one width"
    assert report["far"].note.startswith("position 2") or report["far"].status == "skipped"
    pairs = checks.check_module(Bare(line="(x + rows, None)"), laws=["norm", "batch", "token"])
    pairs.raise_if_failed()
    named = Bare()
    named.d_model = 16
    assert one(named, "shape").status == one(nn.Linear(16, 16), "shape").status == "passed"
    second = SinusoidalPositionalEncoding(16, batch_first=False)
    looked_at(second, "module", laws=["batch", "start", "rows", "far"]).raise_if_failed()
    assert "unique" in looked_at(second, "module", batch_first=True, laws=["unique", "norm"]).failed


def test_a_layer_that_is_nan_far_out():
    class Far(SinusoidalPositionalEncoding):
        def forward(self, x, positions=None):
            far = positions is not None and bool((positions > 1000).any())
            return super().forward(x, positions) * (torch.nan if far else 1)

    assert one(Far(16), "far").measured == "entries that are not finite"


def test_a_layer_without_a_convention_or_positions():
    other = Bare(line="x + rows.abs()")
    assert one(other, "far").status == one(other, "float32").status == "skipped"
    assert one(OneRowPerSentence(), "rows").note == "no positions of shape (batch, seq_len)"
    flat = Bare(line="(x + rows)[:2]")
    assert one(flat, "rows").status == "skipped"


class MadeOnMeta(nn.Module):
    def __init__(self, d_model=16, fill=True, numbers=False):
        super().__init__()
        self.register_buffer("pe", torch.zeros(40, d_model), persistent=False)
        self.fill = fill
        self.fill_it() if fill is not None else None
        assert not numbers or self.pe.sum().item() > 0

    def fill_it(self):
        self.pe = torch.as_tensor(sinusoidal_encoding(*self.pe.shape)).to(self.pe.device)

    def reset_parameters(self):
        if self.fill:
            self.fill_it()

    def forward(self, x):
        return x + self.pe[: x.shape[1]]


def test_layers_that_are_made_on_meta():
    assert one(MadeOnMeta, "meta").note == "reset_parameters"
    forgets = one(lambda d: MadeOnMeta(d, fill=False), "meta", "module")
    assert forgets.measured == "another result when it was made on meta and filled"
    assert one(lambda d: MadeOnMeta(d, numbers=True), "meta", "module").note.startswith("not made")
    quiet = checks.check_module(recall.Added, laws=["meta", "norm"])
    assert quiet["meta"].note.startswith("nothing fills its buffers anew")
    assert one(recall.Added, "meta").status == "failed"
    assert one(recall.Rotary(), "meta", "rotary", widths=[16]).status == "passed"
    forgets = one(recall.Rotary(refill=False), "meta", "rotary", widths=[16])
    assert forgets.status == "failed"
    bare = recall.Rotary()
    bare.reset_parameters = None
    loud = checks.check_rotary(bare, laws=["meta", "norm"], widths=[16])
    assert loud["meta"].note.startswith("nothing fills its buffers anew")


def in_numpy(x, positions):
    angles = np.outer(positions, rotary_frequencies(x.shape[-1])[0])
    turned = (x[..., 0::2] + 1j * x[..., 1::2]) * np.exp(1j * angles)
    return np.stack([turned.real, turned.imag], axis=-1).reshape(x.shape).astype(x.dtype)


ROTATION_ROWS = {
    "odd": (lambda x, p: rotate_pairs(x[..., : x.shape[-1] // 2 * 2], p), "shape (3, 14)"),
    "empty": (lambda x, p: rotate_pairs(x, p) if x.numel() else x[..., :1], "shape "),
    "shape": (lambda x, p: rotate_pairs(x, p).reshape(-1, len(p), x.shape[-1]), "shape "),
    "norm": (lambda x, p: x.flatten(), "shape (65792,) for (16, 257, 16)"),
    "half": (lambda x, p: rotate_pairs(x.float(), p), "float32 for bfloat16"),
    "gradient": (lambda x, p: rotate_pairs(Cut.apply(x), p), "no gradient arrives at x"),
    "repeat": (lambda x, p: rotate_pairs(x.mul_(1.5), p), "the input was changed"),
    "device": (lambda x, p: rotate_pairs(x.float(), p), "float32 for float64"),
    "start": (
        lambda x, p: rotate_pairs(x, p)[..., : 3 if x.shape[-2] == 4 else None, :],
        "shapes (2, 3, 16) and (2, 4, 16)",
    ),
    "frequencies": (lambda x, p: x.clone(), "no two dimensions turn together"),
    "unique": (lambda x, p: x.clone(), "rows 0 and 1 are 0.0e+00 apart"),
    "axes": (lambda x, p: x.clone(), "no two dimensions turn together"),
}


@pytest.mark.parametrize("law", ROTATION_ROWS)
def test_what_is_said_of_rotations(law):
    rotate, measured = ROTATION_ROWS[law]
    row = one(rotate, law, "rotary", **({"axes": 2} if law == "axes" else {}))
    assert row.status == "failed"
    assert row.measured.startswith(measured)


def test_rotations():
    report = checks.check_rotary(rotate_pairs, **QUICK)
    report.raise_if_failed()
    assert report["shape"].note == "torch, widths 16, 24"
    assert report["compile"].status == report["rows"].status == "passed"
    numpy = checks.check_rotary(in_numpy, **QUICK)
    numpy.raise_if_failed()
    assert numpy["gradient"].note == numpy["device"].note == "numpy arrays"
    still = checks.check_rotary(lambda x, p: x.clone(), laws=["float32", "half", "reduced"])
    assert [row.status for row in still] == ["skipped"] * 3
    still = nn.Module()
    still.forward = lambda x, positions: x.clone()
    assert one(still, "cast", "rotary").note == "no convention to compare with"


def test_a_rotation_of_one_width_with_an_end():
    def short(x, positions):
        if x.shape[-1] != 24 or (positions > 99).any():
            raise ValueError("not mine")
        return rotate_pairs(x, positions)

    report = looked_at(short, "rotary")
    report.raise_if_failed()
    assert report["shape"].note == "torch, widths 24"
    assert report["far"].note == "no position beyond 64"
    assert max(report.errors) == 63
    kept = {}

    def overwrites(x, positions):
        found = rotate_pairs(x, positions)
        if x.requires_grad:
            return found
        return kept.setdefault((x.shape, x.dtype), torch.zeros_like(found)).copy_(found)

    assert one(overwrites, "repeat", "rotary").measured.startswith("a later call wrote over")
    behind = one(
        lambda x, p: torch.zeros(x.shape) if x.is_meta else rotate_pairs(x, p), "device", "rotary"
    )
    assert behind.measured == "the result is on another device than the input"
    assert one(lambda x, p: rotate_pairs(x, p)[..., :-1, :], "rows", "rotary").status == "skipped"


def test_biases():
    def distance(seq_len):
        k = np.arange(seq_len)
        return np.abs(k[:, None] - k)

    checks.check_bias(lambda n: -0.5 * np.minimum(distance(n), 8)).raise_if_failed()
    checks.check_bias(lambda n: -torch.from_numpy(distance(n))).raise_if_failed()
    causal = checks.check_bias(
        lambda n: np.subtract.outer(-np.arange(n), -np.arange(n)), causal=True
    )
    causal.raise_if_failed()
    assert causal["mirror"].status == "skipped"
    assert one(lambda n: distance(n)[1:], "shape", "bias").measured == "shape (23, 24) for (24, 24)"
    assert one(lambda n: distance(n), "penalty").measured == "a word gets a bonus"
    assert "one penalty for all" in one(lambda n: 0 * distance(n), "penalty").measured
    back = one(lambda n: -0.5 * np.minimum(distance(n), 30 - distance(n)), "penalty")
    assert back.measured == "a farther word gets a smaller penalty"


# Arrays of other libraries


class Shared:
    """An array that offers nothing but DLPack, as those of other libraries do."""

    def __init__(self, array):
        self.array, self.dtype = array, array.dtype

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("name", ["array_api_strict", "jax.numpy", "numpy"])
def test_arrays_of_other_libraries(name):
    """Run where they are installed: `pip install array-api-strict jax`."""
    xp = pytest.importorskip(name)

    def rotate(x, positions):
        d_model = x.shape[-1]
        omega = xp.asarray(rotary_frequencies(d_model)[0].astype(np.float32))
        angles = xp.astype(positions, xp.float32)[..., None] * omega
        wide = xp.astype(x, xp.float32)
        a, b = wide[..., : d_model // 2], wide[..., d_model // 2 :]
        cos, sin = xp.cos(angles), xp.sin(angles)
        return xp.astype(xp.concat([a * cos - b * sin, a * sin + b * cos], axis=-1), x.dtype)

    report = checks.check_rotary(rotate, library=name, **QUICK)
    report.raise_if_failed()
    assert report.convention == checks.KNOWN["rotary, halves"]
    assert not checks.check_rotary(lambda x, p: rotate(x, p % 512), library=name, **QUICK).passed
    assert checks.check_table(lambda n, d: xp.asarray(table(n, d)), **QUICK).passed


def test_arrays_that_offer_dlpack_alone():
    np.testing.assert_array_equal(values(Shared(table(3, 4))), table(3, 4))
    assert values(torch.ones(2, dtype=torch.bfloat16)).dtype == np.float32
    assert checks.check_table(lambda n, d: Shared(table(n, d)), **QUICK).passed

    class Half(np.ndarray):
        dtype = "bfloat16"

    assert values(np.ones(2).view(Half)).dtype == np.float32
    library = library_of("numpy")
    assert library.array([1, 2], "float16").dtype == np.float16
    fake = library_of(torch)
    fake.name, fake.namespace = "other", Bfloats
    assert fake.array([1.0], "bfloat16") == "bfloat16 of 1.0"
    assert fake.array([1.0], "float32").dtype == np.float32


class Bfloats:
    """The part of an array library that makes bfloat16."""

    bfloat16 = "bfloat16"

    @staticmethod
    def asarray(x):
        return type(
            "Array", (), {"dtype": x.dtype, "astype": lambda _, kind: f"{kind} of {x[0]}"}
        )()


def test_a_library_without_half_precision_and_strides():
    plain = ModuleType("plain")
    plain.asarray = np.asarray
    report = checks.check_rotary(in_numpy, library=plain, laws=["half", "strided"])
    assert report["half"].note == "plain has no half precision"
    assert report["strided"].note == "plain shows no strides"
    assert checks.check_decoder(DECODER.full, library=np, laws=["shape"]).passed


def test_products_that_are_rounded():
    x = torch.tensor([[1 + 2.0**-12]])
    with RoundedProducts():
        assert (x @ x).item() == torch.einsum("ij,jk->ik", x, x).item() == 1
        assert torch.einsum("i,j->ij", x[0], x[0]).item() > 1
        assert (x.double() @ x.double()).item() > 1


# Arguments

ROTARY = checks.check_rotary
BAD = [
    (lambda: checks.check_table(3), TypeError, "encode must be callable, got 3"),
    (lambda: checks.check(table, "sofa"), ValueError, "kind must be one of table.*'sofa'"),
    (lambda: checks.check_table(table, base=-1), ValueError, "base must be positive"),
    (lambda: checks.check_table(table, widths=[9]), ValueError, "widths must be even"),
    (lambda: checks.check_table(table, widths="16"), TypeError, "widths must be a sequence"),
    (lambda: checks.check_table(table, length=1), ValueError, "length must be at least 2"),
    (lambda: checks.check_table(table, laws="norm"), TypeError, "laws must be a list"),
    (lambda: checks.check_table(table, laws=["norm", "peace"]), ValueError, "got 'peace'"),
    (lambda: checks.check_table(table, laws=[]), ValueError, "got none"),
    (lambda: checks.check_table(table, convention="mine"), ValueError, "convention must be one"),
    (lambda: checks.check_table(table, convention=3), TypeError, "convention must be a Conv"),
    (lambda: ROTARY(rotate_pairs, attention_factor=0), ValueError, "attention_factor must be pos"),
    (lambda: ROTARY(rotate_pairs, frequencies="x"), TypeError, "frequencies must"),
    (lambda: ROTARY(rotate_pairs, frequencies=[[1]]), ValueError, "a row for each of None axes"),
    (lambda: ROTARY(rotate_pairs, axes=1), ValueError, "axes must be at least 2"),
    (lambda: ROTARY(rotate_pairs, axes="t"), TypeError, "axes must be an int, or the axis of"),
    (lambda: ROTARY(rotate_pairs, library=3), TypeError, "library must be a module"),
    (lambda: ROTARY(rotate_pairs, library="json"), ValueError, "library must have asarray"),
    (lambda: checks.check_bias(len, causal=1), TypeError, "causal must be a bool, got 1"),
    (lambda: checks.check_decoder(len, relative=1), TypeError, "relative must be a bool, got 1"),
    (lambda: checks.check_decoder(len, 3), TypeError, "step must be callable, got 3"),
    (lambda: checks.check_module(nn.ReLU(), d_model=1), ValueError, "d_model must be at least 2"),
    (lambda: checks.check_module(nn.ReLU(), batch_first=1), TypeError, "batch_first must be a bo"),
    (lambda: checks.check_module(nn.ReLU(), d_model=16, positions="w"), ValueError, "an argument"),
    (lambda: checks.check_module(nn.LayerNorm(4)), ValueError, "pass d_model"),
    (lambda: checks.parametrize_with_checks([3]), TypeError, "subjects must be callable, got 3"),
    (lambda: checks.parametrize_with_checks([table], expect={"x": ""}), ValueError, "got 'x'"),
    (lambda: Convention("sofa"), ValueError, "layout must be one of interleaved; .* got 'sofa'"),
    (lambda: Convention(share=0), ValueError, "share must be above 0 and at most 1, got 0"),
    (lambda: Convention(step=0), ValueError, "step must be positive, or 'one turn', got 0"),
    (lambda: Convention("halves").table(3, 8), ValueError, "layout must be .* for a table, .*'hal"),
]


@pytest.mark.parametrize(("call", "error", "message"), BAD, ids=[each[2] for each in BAD])
def test_an_argument_that_is_wrong_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_kinds_are_guessed():
    kinds = [table, rotate_pairs, lambda seq_len: 0, SinusoidalPositionalEncoding, nn.ReLU(), int]
    found = [checks.kind_of(each) for each in kinds]
    assert found == ["table", "rotary", "bias", "module", "module", "table"]


# The report, pytest and the shell


def test_a_report_says_what_is_wrong(monkeypatch):
    monkeypatch.delenv("POSENC_BOOK", raising=False)
    report = checks.check_table(hunt.BUGS["dimension for pair"], **QUICK)
    text, page = repr(report), report._repr_html_()
    assert "convention: none known" in text
    assert "✗ norm" in text
    assert "most likely: The exponent counts dimensions" in text
    assert "exhibit 2, chapter 14: notebooks/14_bug_museum.html#exhibit-2" in text
    assert page.count("<tr>") == len(report.rows) + 1
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
    report = checks.check_table(lambda n, d: 2 * table(n, d), laws=["norm", "shape"])
    expected = report.expecting({"norm": "embeddings are halved"})
    assert expected.passed
    assert expected.counts() == "1 passed, 1 expected"
    assert "! norm         expected: embeddings are halved" in repr(expected)
    mended = report.expecting({"shape": "an axis too many"})
    assert mended.failed == ["shape", "norm"]
    assert mended["shape"].likely == "it was mended, and the reason is gone: an axis too many"
    with pytest.raises(ValueError, match="must be among shape, norm, got 'odd'"):
        report.expecting({"odd": ""})


def test_pytest_gets_a_test_for_each_law(tmp_path):
    (tmp_path / "test_mine.py").write_text(
        """
import posenc
from posenc import checks

def twice(seq_len, d_model):
    return 2 * posenc.sinusoidal_encoding(seq_len, d_model)

@checks.parametrize_with_checks([posenc.sinusoidal_encoding, twice], longest=2000)
def test_all(check):
    check()

@checks.parametrize_with_checks([twice], expect={"norm": "meant", "shape": "gone"})
def test_expected(check):
    check()
"""
    )
    command = [sys.executable, "-m", "pytest", "-v", "-rx", "--junitxml=j.xml", "test_mine.py"]
    output = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path).stdout
    assert "test_all[sinusoidal_encoding-norm] PASSED" in output
    assert "test_all[twice-norm] FAILED" in output
    assert "test_all[twice-convention] SKIPPED" in output
    assert "test_expected[twice-norm] XFAIL (meant)" in output
    assert "test_expected[twice-shape] FAILED" in output
    assert 'name="test_all[twice-norm]"' in (tmp_path / "j.xml").read_text()


def test_pytest_plug_by_hand():
    mark = checks.parametrize_with_checks([table], laws=["norm", "convention"], **QUICK)
    norm, convention = (parameter.values[0] for parameter in mark.mark.args[1])
    norm()
    with pytest.raises(pytest.skip.Exception, match="none was asked for"):
        convention()
    wrong = checks.parametrize_with_checks([doubled], "table", expect={"shape": "meant"})
    with pytest.raises(pytest.fail.Exception, match="most likely"):
        wrong.mark.args[1][0].values[0]()


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
        ("mine:crashes", 2, "mine:crashes could not be checked: RuntimeError: no such luck"),
        ("nobody:right", 2, "nobody:right could not be checked: ModuleNotFoundError: No module"),
        ("mine", 2, "mine could not be checked: ValueError: the target must look like"),
        ("leaves:right", 2, "leaves:right could not be checked: SystemExit: 3"),
        ("mine:right mine:crashes mine:wrong", 2, "mine:crashes could not be checked: Runtime"),
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


def test_the_shell_by_itself_takes_numpy_alone(tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    code = "import runpy, sys; sys.argv = ['x', 'mine:right', '--longest', '2000']\n"
    code += "try: runpy.run_module('posenc.checks', run_name='__main__')\n"
    code += "finally: print(sorted({'torch', 'pytest', 'matplotlib'} & set(sys.modules)))"
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path
    )
    assert found.returncode == 0, found.stderr
    assert "14 passed, 1 skipped" in found.stdout
    assert found.stdout.endswith("[]\n")
