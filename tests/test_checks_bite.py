"""The checks find what is wrong, and leave alone what is right."""

import re
from pathlib import Path

import nbformat
import numpy as np
import pytest
import specimens
import torch
from docutils.nodes import make_id
from torch import nn

from posenc import checks, rotary_frequencies, sinusoidal_encoding
from posenc.nn import SinusoidalPositionalEncoding, alibi_slopes, rotate_pairs

ROOT = Path(__file__).parents[1]
SMALL = {"longest": 2500, "length": 600}  # more than 2048, where float16 begins to round


def looked_at(subject, kind, **options):
    """Check it without torch.compile, which takes long and has tests of its own."""
    laws = [law for law in checks.laws_of(kind) if law != "compile"]
    return checks.check(subject, kind, laws=laws, **({} if kind == "bias" else SMALL), **options)


def test_there_are_enough():
    assert len(specimens.RIGHT) >= 30
    assert len({text for _, text in specimens.RIGHT.values()}) == len(specimens.RIGHT)
    assert len(specimens.MUTANTS) >= 60
    assert len({*specimens.MUTANTS}) == len(specimens.MUTANTS)
    kinds = {"table", "module", "rotary", "bias"}
    assert {kind for kind, *_ in specimens.MUTANTS} == kinds
    assert {kind for kind, _ in specimens.RIGHT.values()} == kinds


def test_every_exhibit_of_both_wings_is_there():
    """As many as the chapters show: 1 to 12, and A to H."""
    shown = set()
    for chapter in ("14_bug_museum", "16_batches_and_caches"):
        notebook = nbformat.read(ROOT / "notebooks" / f"{chapter}.ipynb", as_version=4)
        text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
        shown |= set(re.findall(r"\b[Ee]xhibit (\d+|[A-H])\b", text))
    assert {exhibit.number for exhibit in checks.MUSEUM.values()} == shown
    assert len(checks.MUSEUM) == len(shown) == 20


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
    report = looked_at(specimens.made(text.replace(old, new)), kind, **options)
    assert not report.passed, f"{old} → {new}"


@pytest.mark.parametrize("name", [name for name in checks.KNOWN if "rotary" not in name])
def test_every_known_convention_passes_and_is_known(name):
    known = checks.KNOWN[name]
    report = checks.check_table(known.table, convention=name, **SMALL)
    report.raise_if_failed()
    assert report.convention == known
    assert name in report.known()


@pytest.mark.parametrize("layout", ["neighbors", "halves"])
def test_both_rotary_conventions_pass(layout):
    name = f"rotary, {layout}"
    report = looked_at(lambda x, positions: rotate_pairs(x, positions, layout=layout), "rotary")
    report.raise_if_failed()
    assert report.convention == checks.KNOWN[name]


# The first wing. The code is the museum's, for any length and width.


def columns(omega):
    """Make a table from the frequency of each column."""

    def encode(seq_len, d_model):
        if d_model % 2:
            raise ValueError("odd")
        j = np.arange(d_model)
        angles = np.arange(seq_len)[:, None] * omega(j, d_model)
        return np.where(j % 2, np.cos(angles), np.sin(angles))

    return encode


def by_rows(seq_len, d_model):
    table = np.arange(seq_len)[:, None] * 10_000.0 ** (-2 * (np.arange(d_model) // 2) / d_model)
    table[0::2] = np.sin(table[0::2])
    table[1::2] = np.cos(table[1::2])
    return table


def doubled(seq_len, d_model):
    angles = np.arange(seq_len)[:, None] * 10_000.0 ** -(np.arange(d_model) - 1 / d_model)
    return np.stack([np.sin(angles), np.cos(angles)], axis=2).reshape(seq_len, 2 * d_model)


def trained(seq_len, d_model):
    table = sinusoidal_encoding(seq_len, d_model, dtype=np.float64)
    goal = np.random.default_rng(0).normal(size=(32, d_model))
    table[:32] += 0.9 * (goal - table[:32])[: len(table)]
    return table


def in_bfloat16(seq_len, d_model):
    where = torch.arange(seq_len).to(torch.bfloat16).double().numpy()
    return sinusoidal_encoding(where, d_model)


def cut_short(seq_len, d_model):
    table = [
        [f(k / 10_000 ** (2 * i / d_model)) for i in range(d_model // 2) for f in (np.sin, np.cos)]
        for k in range(seq_len)
    ]
    return np.reshape(table, (seq_len, -1 if seq_len else d_model))


def zero_column(seq_len, d_model):
    table = cut_short(seq_len, d_model)
    return np.pad(table, [(0, 0), (0, d_model - table.shape[1])])


class OneRowPerSentence(nn.Module):
    def __init__(self):
        super().__init__()
        table = torch.from_numpy(sinusoidal_encoding(500, 16))
        self.register_buffer("pe", table[:, None])

    def forward(self, x):
        return x + self.pe[: x.size(0)]


class SumThrownAway(OneRowPerSentence):
    def forward(self, x):
        x + self.pe[: x.size(1), 0]
        return x


class Trained(OneRowPerSentence):
    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.from_numpy(sinusoidal_encoding(500, 16)))

    def forward(self, x):
        return x + self.table[: x.size(1)]


def swapped(j, d_model):
    return (2 * (j // 2) / d_model) ** 1e-4


FIRST_WING = {
    "1": ("batch", "module", OneRowPerSentence()),
    "2": ("norm", "table", columns(lambda j, d: 10_000.0 ** (-2 * j / d))),
    "3": ("frequencies", "table", columns(lambda j, d: np.ones(d))),
    "4": (
        "frequencies",
        "table",
        columns(lambda j, d: np.exp(2 * (j // 2) * (-np.log(10_000) / (2 * d) // 2))),
    ),
    "4, as written": (
        "frequencies",
        "table",
        columns(lambda j, d: np.exp(2 * (j // 2) * (-np.log(10_000) / d // 2))),
    ),
    "5": ("norm", "module", SumThrownAway()),
    "6": ("odd", "table", cut_short),
    "6, zeros": ("odd", "table", zero_column),
    "7": ("shift", "table", trained),
    "7, as a layer": ("gradient", "module", Trained()),
    "8": ("unique", "table", in_bfloat16),
    "9": ("norm", "table", columns(lambda j, d: 10_000.0 ** (-j / d))),
    "10": ("frequencies", "table", columns(lambda j, d: 10_000.0 ** (2 * (j // 2) / d))),
    "10, the cousin": ("frequencies", "table", columns(swapped)),
    "11": ("norm", "table", by_rows),
    "12": ("shape", "table", doubled),
}


@pytest.mark.parametrize("number", FIRST_WING)
def test_the_first_wing_fails_its_law_and_is_recognized(number):
    law, kind, subject = FIRST_WING[number]
    report = looked_at(subject, kind)
    assert report[law].status == "failed", report
    assert report[law].exhibit is not None, report
    assert report[law].exhibit.number == number.partition(",")[0]
    assert law in {e.law for e in checks.MUSEUM.values() if e.number == number} or "," in number


def test_what_the_museum_acquits_passes():
    for name in ("halves", "from one on"):
        assert looked_at(specimens.made(specimens.TABLES[name]), "table").passed


# The second wing


def rounded(x, positions):
    return rotate_pairs(x, positions.to(x.dtype))


def stuck():
    stored = {}

    def turn(x, positions):
        return rotate_pairs(x, stored.setdefault(x.shape[-2], positions))

    return turn


def mixed_layouts(x, positions):
    layout = "halves" if x.shape[-2] == 1 else "neighbors"
    return rotate_pairs(x, positions, layout=layout)


def shifted_twice(x, positions):
    """A key is moved to its place in two steps; the second overwrites the first."""
    pending = torch.zeros_like(positions)
    for delta in (positions // 2, positions - positions // 2):
        pending = delta  # and not pending + delta
    return rotate_pairs(x, pending)


CONFIG = {"rope_parameters": {"rope_type": "default", "rope_theta": 1_000_000.0}}
YARN = {"rope_type": "yarn", "factor": 16.0, "original_max_position_embeddings": 4096}


def lost(x, positions):
    return rotate_pairs(x, positions, base=CONFIG.get("rope_theta", 10_000.0))


def yarn(power):
    omega, factor = rotary_frequencies(16, scaling=YARN)

    def turn(x, positions):
        return rotate_pairs(x, positions, frequencies=omega, attention_factor=factor**power)

    return turn, {"frequencies": omega, "attention_factor": factor, "widths": [16]}


def first_column(indexing):
    """Rows of an image's table, down its first column: the coordinate y."""

    def encode(seq_len, d_model):
        y, x = torch.arange(seq_len), torch.arange(5)
        if indexing == "meant":
            places = torch.meshgrid(y, x, indexing="ij")[0].flatten()
        else:
            places = torch.meshgrid(x, y, indexing="ij")[1].flatten()
        return sinusoidal_encoding(places.numpy(), d_model)[::5]

    return encode


def alibi(seq_len, signed=True):
    k = torch.arange(seq_len)
    distance = k[:, None] - k
    return alibi_slopes(4)[:, None, None] * (distance if signed else -distance.abs())


SECOND_WING = {
    "A": ("half", "rotary", rounded, {}),
    "B": ("steps", "rotary", stuck(), {}),
    "C": ("steps", "rotary", mixed_layouts, {}),
    "D": ("shift", "rotary", shifted_twice, {}),
    "E": ("frequencies", "rotary", lost, {"base": 1_000_000}),
    "F": ("norm", "rotary", *yarn(0)),
    "F, twice": ("norm", "rotary", *yarn(2)),
    "G": ("shift", "table", first_column("written"), {}),
    "H": ("mirror", "bias", alibi, {}),
}


@pytest.mark.parametrize("number", SECOND_WING)
def test_the_second_wing_fails_its_law_and_is_recognized(number):
    law, kind, subject, options = SECOND_WING[number]
    report = looked_at(subject, kind, **options)
    assert report[law].status == "failed", report
    assert report[law].exhibit is not None, report
    assert report[law].exhibit.number == number.partition(",")[0]


def test_their_right_versions_pass():
    assert looked_at(first_column("meant"), "table").passed
    assert looked_at(lambda n: alibi(n, signed=False), "bias").passed
    turn, options = yarn(1)
    looked_at(turn, "rotary", **options).raise_if_failed()
    assert looked_at(SinusoidalPositionalEncoding(16), "module").passed


def test_every_exhibit_is_recognized_somewhere():
    numbers = {number.partition(",")[0] for number in (FIRST_WING | SECOND_WING)}
    assert {exhibit.number for exhibit in checks.MUSEUM.values()} == numbers
    for exhibit in checks.MUSEUM.values():
        tried = (FIRST_WING | SECOND_WING)[exhibit.number]
        assert tried[0] == exhibit.law


@pytest.mark.parametrize("exhibit", checks.MUSEUM.values(), ids=checks.MUSEUM)
def test_the_links_lead_to_headings(exhibit):
    notebook = nbformat.read(ROOT / "notebooks" / f"{exhibit.chapter}.ipynb", as_version=4)
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    assert exhibit.anchor in {make_id(heading) for heading in headings}
    assert f"xhibit {exhibit.number}" in text
