"""Encodings that are right, and wrong ones with the law that they break and the cause.

The cause is a part of what a report says, or of where the two part, or "" if no known fault gives
the same numbers. Known faults are tried in `test_checks`; public bugs are in `recall`, right
decoders in chapter 19.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import recall
import torch
from recall import DECODER, OMEGA, Pair, counted, part, turn
from torch import nn

import posenc
from posenc import (
    alibi_bias,
    checks,
    rotary_frequencies,
    sinusoidal_encoding,
    t5_buckets,
)
from posenc.book import hunt, tiny
from posenc.nn import SinusoidalPositionalEncoding, rotary_turns, rotate_pairs

AXIAL = np.kron(np.eye(2), rotary_frequencies(8, base=100)[0])  # (axes, pairs)


class Specimen(NamedTuple):
    kind: str
    subject: Any
    options: dict[str, Any]  # of its check
    law: str  # that it breaks, or ""
    cause: str


SPECIMENS = {}  # by name


def add(subject, name, kind, law="", cause="", **options):
    """Add a subject; a second one of a name would hide the first."""
    assert name not in SPECIMENS, name
    SPECIMENS[name] = Specimen(
        kind=kind, subject=subject, options=options, law=law, cause=cause
    )


def specimen(kind, law="", cause="", make=lambda function: function, **options):
    """Decorate a function or class: what `make` makes of it is added under its name."""

    def decorate(subject):
        add(make(subject), subject.__name__, kind, law, cause, **options)
        return subject

    return decorate


def judge(kind, subject, **options):
    """Check quickly; float16 rounds from 2048 on, bfloat16 from 256 on."""
    quick = {"longest": 5000} if kind in ("table", "module", "rotary") else {}
    return recall.check(subject, kind, **quick | options)


# Tables


def table(seq_len, d_model):
    return sinusoidal_encoding(seq_len, d_model)


def in_torch(seq_len, d_model, dtype=torch.float32):
    return torch.tensor(table(seq_len, d_model)).to(dtype)


for name, known in checks.KNOWN.items():
    if not known.rotary:
        add(known.table, f"the convention {name}", "table", convention=name)
for name, encode in hunt.RIGHT.items():
    add(encode, f"{name}: right", "table", longest=600)
for name, bug in hunt.BUGS.items():
    law = "far" if name == "rows in float16" else "values"
    # So many rows that a cause is sought in some of them
    add(bug, name, "table", law, name, longest=6000)
INTERLEAVED = "the numbers of another convention: interleaved"
add(table, "another convention", "table", "values", INTERLEAVED, convention="Marian")


@specimen("table")
def learned(seq_len, d_model):
    return np.random.default_rng(d_model).normal(size=(5000, d_model))[:seq_len]


@specimen("table", "unique")
def learned_twice(n, d):
    return learned(100, d)[np.arange(n) % 100]


@specimen("table")
def tensor2tensor(length, channels):
    """All in float32, with a reciprocal: the order of operations with the most rounding."""
    steps = np.arange(channels // 2, dtype=np.float32) / np.float32(channels // 2 - 1)
    omega = 1 / np.exp(steps * np.log(np.float32(10_000)))
    angles = np.arange(length, dtype=np.float32)[:, None] * omega
    signal = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
    return np.pad(signal, [[0, 0], [0, channels % 2]])[None]


@specimen("table", "values", "learned=True")
def fourier_features(n, d):
    angles = np.outer(np.linspace(-1, 1, n), np.pi * np.linspace(1, 10, d // 2))
    return np.concatenate((np.sin(angles), np.cos(angles)), axis=1)


@specimen("table")
def detr(n, d):
    """With the small number that its code has."""
    step = 2 * np.pi / (n + 1e-6)
    return checks.Convention(first=1, step=step).table(n, d)


@specimen("table", "values", longest=16, convention="paper")
def nearly_halved(n, d):
    """Even rows aren't quite those of half the position."""
    k = np.arange(n)
    return sinusoidal_encoding(k // 2 - 0.1 * (k > 0) * (k % 2 == 0), d)


@specimen("table")
def of_forty_rows(n, d):
    return table(min(n, 40), d)


@specimen("table", "half", "rows in bfloat16")
def rounded_by_dtype(n, d, dtype=torch.float32):
    where = torch.arange(n).to(dtype).double().numpy()
    return torch.tensor(sinusoidal_encoding(where, d)).to(dtype)


@specimen("table", "odd", "exhibit 6")
def odd_loses_a_column(n, d):
    return table(n, d - d % 2)


@specimen("table", "odd", "if it is meant, say so")
def lone_sine(n, d):
    return table(n, d + d % 2)[:, :d]


MEMORY = np.zeros(500_000, np.float32)


@specimen("table", "repeat")
def in_shared_memory(n, d):
    return np.add(table(n, d), 0, out=MEMORY[: n * d].reshape(n, d))


@specimen(
    "table", "values", "position 3, dimension 0: 1 for -0.9899925; rows for columns"
)
def repeating(n, d):
    """The place is told beside the convention of the cause."""
    return checks.KNOWN["guided diffusion"].table(n, d)[np.arange(n) % 3]


# Beside the convention of the cause, not the one from which it parts last
FIRST_ROW = "position 0, dimension 1: "
BY_ROWS = hunt.BUGS["rows for columns"]
add(BY_ROWS, "rows for columns, where", "table", "values", FIRST_ROW)

rows_of = partial(
    specimen, "table", make=lambda change: lambda n, d: change(table(n, d))
)


@rows_of(widths=[2])
def of_width_two(rows):
    return rows


@rows_of(widths=[16], attention_factor=0.25)
def scaled(rows):
    return rows / 4


@rows_of()
def in_half_precision(rows):
    return torch.tensor(rows).bfloat16()


@rows_of("shape")
def whole_numbers(rows):
    return rows.astype(int)


@rows_of("shape")
def ending_in_nan(rows):
    rows = 1 * rows
    rows[-1, -1] = np.nan
    return rows


@rows_of("far", "not finite, [3000, 0] of")
def ending_far_out(rows):
    rows = 1 * rows
    rows[3000:] = np.nan
    return rows


@specimen("table", "values")
def nearly(n, d):
    """Almost right, in a layout that isn't the first to be tried."""
    rows = checks.KNOWN["guided diffusion"].table(n, d)
    return rows + 1e-5 * np.sin(np.arange(n * d)).reshape(n, d)


def ahead_if_long(name):
    """Encode right, but in long calls at position + 5."""
    known = checks.KNOWN[name]

    def encode(n, d):
        k = known.counted(np.arange(n)) + 5 * (n > 1000)
        right = known.encoding(d)
        return right.encode(np.zeros((n, d)), k[:, None] * right.frequencies)

    return encode


# A length that is told is the call's, not that of the rows in which the cause is sought.
LONG = "from length 6000 on: position + 5"
for name in "guided diffusion", "Transformer-XL":
    add(ahead_if_long(name), f"{name}, ahead", "table", "far", LONG, longest=6000)
OF_1000 = partial(hunt.wrong_table, "own exponent", base=1000)
add(OF_1000, "of base 1000, undeclared", "table", "values", "own exponent")


@specimen("table", "values", "minus sign")
def divided_twice(n, d):
    """In float32, whose rounding is of the great angles."""
    inverse = torch.exp(torch.arange(0, d, 2) * (-np.log(10_000.0) / d))
    angles = torch.arange(n)[:, None] / inverse
    return torch.stack((angles.sin(), angles.cos()), dim=2).flatten(1)


def of_two_coordinates(height, width, d_model, order="C"):
    k = np.arange(height * width).reshape(height, width).ravel(order)
    where = k // width, k % width
    return np.concatenate([sinusoidal_encoding(n, d_model // 2) for n in where], axis=1)


# As the notes of `check_table` say
for order, law, cause in ("C", "", ""), ("F", "values", "column by column"):
    cells = partial(of_two_coordinates, order=order)
    height = lambda n, d, cells=cells: cells(n, 3, 2 * d)[::3, :d]  # noqa: E731
    width = lambda n, d, cells=cells: cells(3, n, 2 * d)[:n, d:]  # noqa: E731
    add(height, f"height, order {order}", "table", law, cause)
    add(width, f"width, order {order}", "table", law, cause)


# Layers


class Layer(nn.Module):
    """A right layer, unless `add` or `__init__` is changed."""

    def __init__(self, d_model=16, max_len=3000):
        super().__init__()
        self.d_model = d_model
        self.register_buffer("pe", in_torch(max_len, d_model), persistent=False)

    def forward(self, x, positions=None):
        rows = self.pe[: x.size(1)] if positions is None else self.pe[positions]
        return self.add(x, rows.to(x.dtype))

    def add(self, x, rows):
        return x + rows


def layer_that_adds(method):
    methods = {"add": lambda self, x, rows: method(x, rows)}
    return type(method.__name__, (Layer,), methods)


layer = partial(specimen, "module", make=layer_that_adds)
FIRST = SinusoidalPositionalEncoding(16, batch_first=False)
COUNTED = "batch for sequence"
add(Layer, "Layer", "module")
add(Layer(16, 260), "a short layer", "module")
add(SinusoidalPositionalEncoding, "SinusoidalPositionalEncoding", "module")
add(FIRST, "sequence first", "module")
add(FIRST, "declared otherwise", "module", "values", COUNTED, batch_first=True)


@layer()
def times_root(x, rows):
    return x * x.size(-1) ** 0.5 + rows, None


@layer("shape", "your code raises")
def refusing(x, rows):
    raise RuntimeError


@layer("shape", "", batch_first=False)
def assigning(x, rows):
    x += rows


@layer("batch", "other positions, from sequence 2 on: 0 is")
def counting_sequences(x, rows):
    late = torch.arange(len(x)) > 1
    return x + torch.where(late[:, None, None], rows[:1], rows)


@layer("shape", "it returns its rows alone")
def rows_alone(x, rows):
    return rows[None]


@layer("repeat")
def in_place(x, rows):
    return x.add_(rows)


@layer("masked")
def mixed(x, rows):
    return x + rows + 0 * x.sum()


@layer("gradient", "the graph is cut")
def detached(x, rows):
    # Gradients reach another leaf.
    return x.detach() + rows + torch.zeros((), requires_grad=True)


@layer("device", "stays behind", laws=["device"])
def on_the_cpu(x, rows):
    return torch.zeros(x.shape) if x.is_meta else x + rows


@specimen("module", "gradient", "exhibit 7")
class Trained(Layer):
    def __init__(self, d_model=16):
        super().__init__(d_model)
        self.pe = nn.Parameter(self.pe)


@specimen("module")
class Padded(Layer):
    """An odd width ends in a column of zeros."""

    def __init__(self, d_model=16):
        super().__init__(d_model + d_model % 2)
        self.pe = nn.functional.pad(self.pe[:, : d_model // 2 * 2], (0, d_model % 2))

    def add(self, x, rows):
        return 4 * x + rows


@specimen("module", laws=["state", "meta"])
class Indexed(Layer):
    """Whole numbers are saved, too, as `position_ids` are."""

    def __init__(self, d_model=16):
        super().__init__(d_model)
        self.register_buffer("pe", self.pe)
        self.register_buffer("position_ids", torch.arange(len(self.pe)))

    def forward(self, x):
        return super().forward(x, self.position_ids[: x.size(1)])


@specimen("module", laws=["meta"])
class FilledWhenMoved(Layer):
    def _apply(self, fn, recurse=True):
        super()._apply(fn, recurse)
        if not self.pe.is_meta:
            self.pe.copy_(in_torch(*self.pe.shape))
        return self


@specimen("module", "state", "reset_parameters")
class Emptied(Layer):
    def reset_parameters(self):
        self.pe.zero_()


# Rotations


FACTOR, AXES = turn(attention_factor=1.5), {"frequencies": AXIAL}
SWAPPED, OF_OMEGA = turn(frequencies=AXIAL[::-1]), {"frequencies": OMEGA}
OF_A_HALF = {"frequencies": rotary_frequencies(8)[0], "widths": [16]}
OTHER = "the numbers of another convention"
BACKWARDS = {"frequencies": -OMEGA}
in_float16 = lambda x, p: turn(frequencies=-OMEGA)(x, p.half().float())  # noqa: E731
SHIFTED = turn(frequencies=10_000.0 ** (-np.arange(1, 32, 2) / 32), pairing="neighbors")
for subject, name, options, law, cause in (
    (posenc.rotate_pairs, "in numpy", {}, "", ""),
    (rotate_pairs, "in torch", {}, "", ""),
    (turn(frequencies=AXIAL), "axial", AXES, "", ""),
    (turn(frequencies=-AXIAL), "axial, backwards", AXES, "", ""),
    (SWAPPED, "axes swapped", AXES, "axes", "axes are swapped"),
    (FACTOR, "factor", {"attention_factor": 1.5}, "", ""),
    (FACTOR, "factor, undeclared", {}, "values", "attention_factor=1.5"),
    (turn(base=500_000.0), "base of frequencies", OF_OMEGA, "values", OTHER),
    (rotate_pairs, "whole for a half", OF_A_HALF, "values", OTHER),
    (in_float16, "backwards in float16", BACKWARDS, "far", "positions in float16"),
    (SHIFTED, "shifted exponent", {"widths": [32]}, "values", "it is (2i+1)/d"),
):
    add(subject, name, "rotary", law, cause, **options)
for extent in ("partial", "proportional"):
    for pairing in ("halves", "neighbors"):
        add(part(extent, pairing, 0.25), f"{extent} {pairing}", "rotary")

rotary = partial(specimen, "rotary")


@rotary()
def permuted(x, p):
    """Take neighbors, and return halves, as DeepSeek-V3 does."""
    return rotate_pairs(x.unflatten(-1, (-1, 2)).mT.flatten(-2), p)


@rotary()
def permuted_at_the_end(x, p):
    """Turn the last dimensions, as latent attention does."""
    rest, turned = x.chunk(2, dim=-1)
    return torch.cat([rest, permuted(turned, p)], dim=-1)


@rotary(widths=[8, 16], laws=["values", "start"])
def last_pair(x, p):
    """One of sixteenths, which at a width of 8 is more than its share."""
    rest, turned = x[..., :-2], x[..., -2:]
    return torch.cat([rest, rotate_pairs(turned, p)], dim=-1)


class OfWidth64(nn.Module):
    def __init__(self):
        super().__init__()
        omega = torch.tensor(rotary_frequencies(64, base=500_000.0)[0])
        self.register_buffer("inv_freq", omega, persistent=False)

    def forward(self, x, positions):
        return rotate_pairs(x, positions, frequencies=self.inv_freq)


add(OfWidth64(), "of width 64", "rotary", laws=["shape", "values", "far"])


def of_two_axes(x, p):
    """Turn halves, each as a head, by one of two coordinates."""
    parts = zip(x.chunk(2, dim=-1), p.unbind(-1), strict=True)
    return torch.cat([rotate_pairs(half, along) for half, along in parts], dim=-1)


@rotary()
def second_axis(x, p):
    """As the notes of `check_rotary` say."""
    both = torch.cat((0 * x, x), -1), torch.stack((0 * p, p), -1)
    return of_two_axes(*both)[..., x.shape[-1] :]


def with_offset(x, offset=0):
    return rotate_pairs(x, offset + torch.arange(x.shape[-2]))


@rotary("start", "row + first position", laws=["start"])
def from_the_first(x, positions):
    return with_offset(x, offset=int(positions[0]))


@rotary()
def row_by_row(x, positions):
    """As the cause above says, and `check_rotary`."""
    rows = enumerate(positions)
    return torch.cat(
        [with_offset(x[..., i : i + 1, :], offset=int(p)) for i, p in rows], -2
    )


class GrowingTable:
    """The same of a table, which has no argument for a half type."""

    longest = 2048

    def __call__(self, n, d):
        self.longest = max(self.longest, n)
        return sinusoidal_encoding(n, d, base=10_000.0 * self.longest / 2048)


class Growing:
    """A long call leaves its base behind, as dynamic scaling may."""

    base = 10_000.0

    def __call__(self, x, positions):
        self.base = max(self.base, 10_000.0 * x.shape[-2] / 2048)
        return rotate_pairs(x, positions, base=self.base)


add(Growing().__call__, "growing", "rotary", "repeat", "depends on earlier calls")
add(GrowingTable(), "a growing table", "table", "repeat", "depends on earlier calls")


@rotary("shape", "lambda x, positions: rotate(x, -x)[0]")
def both(q, k):
    return with_offset(q), with_offset(k)


WITHOUT_POSITIONS = ["shape", "repeat", "values", "batch", "masked", "gradient"]
one_of_both = lambda x, p: both(x, -x)[0]  # noqa: E731
add(one_of_both, "one of both", "rotary", laws=WITHOUT_POSITIONS)
# Other positions, of x and the right ones
for name, change, law, cause in (
    ("backwards", lambda x, p: -p, "", ""),
    ("nearest", lambda x, p: torch.round(p), "fractions", ""),
    ("cut off", lambda x, p: torch.floor(p), "", ""),
    (
        "counting",
        lambda x, p: torch.arange(x.shape[-2]),
        "start",
        "if it counts by itself",
    ),
    (
        "up to eight heads",
        lambda x, p: p * (x.ndim < 4 or x.shape[1] < 8),
        "batch",
        "from number of heads 8 on",
    ),
):
    subject = lambda x, p, change=change: rotate_pairs(x, change(x, p))  # noqa: E731
    add(subject, name, "rotary", law, cause)


@rotary("start")
def dynamic(x, p):
    return rotate_pairs(x, p, base=10_000.0 * (x.shape[-2] / 257) ** 1.1)


@rotary("start", "no known fault", laws=["start"], convention="rotary, halves")
def wrong_and_short(x, p):
    assert x.shape[-2] < 99
    return rotate_pairs(x, p / 1.5)


@rotary("start", "position + 1 is taken", laws=["start"])
def without_heads(x, p):
    assert x.ndim < 4
    return rotate_pairs(x, p + 1)


@rotary("half", laws=["half"])
def right_in_half_alone(x, p):
    return permuted(x, p) if x.dtype == torch.bfloat16 else -x


@rotary("values", "sine and cosine in bfloat16", attention_factor=1.5)
def rounded_turns(x, p):
    turns = rotary_turns(p, x.shape[-1])
    cosine, sine = ((1.5 * part).bfloat16().float() for part in turns)
    return rotate_pairs(x, turns=(cosine, sine))


@rotary("rows")
def nan_for_a_batch(x, p):
    return torch.nan * x if p.ndim > 1 else rotate_pairs(x, p)


@rotary("compile", "raises", laws=["compile"])
def printing(x, p):
    print(end="")
    return rotate_pairs(x, p)


for law in "gradient", "device":
    pair = lambda x, p: (rotate_pairs(x, p), x)  # noqa: E731
    add(pair, f"a pair, {law}", "rotary", law, "rotate(x, -x)[0]", laws=[law])


@rotary("gradient", make=lambda turned: turned.apply)
class TurnedOn(torch.autograd.Function):
    """A gradient has to turn back."""

    @staticmethod
    def forward(context, x, p):
        context.p = p
        return rotate_pairs(x, p)

    @staticmethod
    def backward(context, gradient):
        return rotate_pairs(gradient, context.p), None


@rotary("gradient", "your code raises", make=lambda turned: turned.apply)
class Untrainable(TurnedOn):
    @staticmethod
    def backward(context, gradient):
        raise RuntimeError("no way back")


@rotary("gradient", "in training, make anew", lambda kept: kept(), laws=["gradient"])
class Kept(recall.Rotary):
    """What is made in the first call is kept."""

    ones = None

    def forward(self, x, positions):
        if self.ones is None:
            self.ones = torch.ones(())
        return super().forward(x * self.ones, positions)


@rotary("reduced", "product in bfloat16", lambda kept: kept(), laws=["reduced"])
class KeptProduct(recall.Rotary):
    """What the first call makes is kept, and is rounded if that is under autocast."""

    angles = None

    def forward(self, x, positions):
        if self.angles is None:
            self.angles = torch.arange(5000.0)[:, None] @ self.omega[None]
        angles = self.angles[positions].float()
        return rotate_pairs(x, turns=(angles.cos(), angles.sin()))


# Biases


def offsets(seq_len):
    return np.arange(seq_len) - np.arange(seq_len)[:, None]


def buckets(causal, shift=0):
    values = np.random.default_rng(0).normal(size=(2, 32))
    return lambda n: values[:, t5_buckets(offsets(n) - shift, bidirectional=not causal)]


def last_row(seq_len):
    """One row for all queries, (1, heads, 1, seq_len), as MPT has it."""
    return alibi_bias(12, seq_len)[None, :, -1:]


def rewarding(seq_len):
    return -alibi_bias(12, seq_len)


def from_head_0(seq_len):
    return -(2.0 ** -np.arange(8))[:, None, None] * abs(offsets(seq_len))


BY_DISTANCE = np.random.default_rng(1).normal(size=(4, 512))


def shifted(seq_len):
    """Transformer-XL's shift of distances n - 1 to 0, of which some are needed twice."""
    rows = np.repeat(BY_DISTANCE[:, None, seq_len - 1 :: -1], seq_len, axis=1)
    padded = np.pad(rows, ((0, 0), (0, 0), (1, 0)))
    return padded.reshape(4, seq_len + 1, seq_len)[:, 1:]


for causal in (False, True):
    add(buckets(causal), f"T5, causal={causal}", "bias", expected="t5", causal=causal)
ALIBI, T5 = {"expected": "alibi"}, {"expected": "t5"}
for subject, name, options, law, cause in (
    (partial(alibi_bias, 12), "ALiBi", ALIBI, "", ""),
    (last_row, "one row", ALIBI | {"causal": True}, "", ""),
    (last_row, "one row, undeclared", ALIBI, "shape", "pass causal=True"),
    (lambda n: np.zeros((8, n, n)), "nothing", ALIBI, "values", "it is 0, for"),
    (from_head_0, "from head 0", ALIBI, "values", "count from 1"),
    (rewarding, "bonus", ALIBI | {"causal": True}, "values", "it is slope*distance"),
    (buckets(False, 1), "buckets shifted", T5, "values", ""),
    (buckets(True), "one-sided buckets", T5, "values", "key 1: bucket 0 for 17"),
    (buckets(False), "two-sided", T5 | {"causal": True}, "values", "key 0: bucket 8"),
    (buckets(False), "learned, undeclared", {}, "penalty", "pass learned=True"),
    (shifted, "shifted", {"learned": True}, "start", "shifted without the mask"),
):
    add(subject, name, "bias", law, cause, **options)

# Of the offsets
for name, change, law, cause, options in (
    ("signed", lambda k: 0.25 * k, "", "", {"causal": True}),
    ("signed, undeclared", lambda k: 0.25 * k, "penalty", "signed", {}),
    ("stops growing", lambda k: -0.5 * np.minimum(abs(k), 8), "", "", {}),
    ("with NaN", lambda k: ending_in_nan(-0.5 * abs(k)), "shape", "", {}),
    ("by length", lambda k: -abs(k) / len(k), "start", "", {}),
    ("none", lambda k: -0.0 * k, "penalty", "", {}),
):
    subject = lambda n, change=change: change(offsets(n))  # noqa: E731
    add(subject, name, "bias", law, cause, **options)


@specimen("bias", "offset")
def of_product(n):
    return -np.sqrt(np.outer(np.arange(n), np.arange(n))) / 9


# Builders of position ids


@specimen("positions", expected="left padding")
def words(mask):
    return mask.long().cumsum(-1) - 1


@specimen("positions", expected="images")
def grid(sizes):
    return np.indices(tuple(sizes.tolist())).reshape(3, -1)


BY_8 = {"expected": "images", "right": lambda sizes: 8 * grid(sizes)}
add(lambda sizes: 8 * grid(sizes), "steps of 8", "positions", **BY_8)
add(grid, "steps of 1", "positions", "values", "they are 0.125*id", **BY_8)
BY_PATCH = {"expected": "images", "right": lambda sizes: 8 * grid(sizes).T}
columns_first = lambda sizes: 8 * grid(sizes)[[0, 2, 1]]  # noqa: E731
add(columns_first, "columns first", "positions", "values", "swapped", **BY_PATCH)


@specimen("positions", "values", "they are id + 2", expected="left padding")
def as_roberta(mask):
    return 2 * mask + words(mask)


@specimen("positions", "values", expected="left padding")
def one_too_few(mask):
    return words(mask)[:, 1:]


DECLARED = {"expected": "left padding", "right": as_roberta}
add(as_roberta, "as RoBERTa, declared", "positions", **DECLARED)
padding_at_9 = lambda mask: as_roberta(mask) * mask + 9 * (1 - mask)  # noqa: E731
add(padding_at_9, "padding at 9", "positions", "values", **DECLARED)


# Decoders


def counting_up(place):
    """Begin steps at `place(n, more)`, given the counts of cached and of new tokens."""

    def step(tokens, cache):
        held = cache.positions.shape[1] if cache else 0
        begin = place(held, tokens.shape[1])
        return DECODER.step(tokens, cache, counted(tokens, begin))

    return Pair(DECODER.full, step)


full = DECODER.full


def prompt_by_places(tokens, cache, positions=None, mask=None):
    """Count the prompt's padding, but not in later calls."""
    if not cache:
        positions = counted(tokens, 0)
    return DECODER.step(tokens, cache, positions, mask)


def spoiled(tokens, positions=None, mask=None, segments=None):
    """Score padding as NaN, as a softmax over nothing does."""
    scores = full(tokens, positions, mask, segments)
    return scores if mask is None else np.where(mask[..., None], scores, np.nan)


DROPOUT = np.random.default_rng(0)
ABSOLUTE = tiny.Decoder(DECODER.weights, rotary=False)
OFF_BY_ONE = counting_up(lambda n, more: n + (n > 0))
FROM_0 = counting_up(lambda n, more: n * (more == 1))
add(ABSOLUTE, "absolute", "decoder", relative=False)
add(
    Pair(lambda t, positions=None, mask=None: ABSOLUTE.full(t, mask=mask)),
    "positions ignored",
    "decoder",
    "padded",
    "positions ignored",
    relative=False,
)
for name, law, cause, pair in (
    (
        "NaN at padding",
        "",
        "",
        Pair(spoiled),
    ),
    (
        "torch",
        "",
        "",
        Pair(lambda t: torch.tensor(full(t.numpy()))),
    ),
    (
        "training",
        "repeat",
        "call `eval()`",
        Pair(lambda t: full(t) * DROPOUT.integers(0, 2, (*t.shape, 1))),
    ),
    (
        "repeated",
        "batch",
        "",
        Pair(lambda t: np.repeat(full(t[:1]), len(t), 0)),
    ),
    (
        "constant",
        "order",
        "never reach",
        Pair(lambda t: 0 * full(t) + range(tiny.VOCABULARY)),
    ),
    (
        "looks ahead",
        "causal",
        "",
        Pair(lambda t: full(t) + 0.1 * t[:, -1:, None]),
    ),
    (
        "off by one",
        "steps",
        "own position + 1",
        OFF_BY_ONE,
    ),
    (
        "prompt counted twice",
        "chunks",
        "own position + first call's length",
        counting_up(lambda n, more: n + (5 if n else 0)),
    ),
    (
        "chunks from 0",
        "chunks",
        "several tokens are at own position - call's first",
        FROM_0,
    ),
    (
        "unmasked",
        "padded",
        "padding seen",
        Pair(lambda t, positions=None, mask=None: full(t, positions)),
    ),
    (
        "scaled by a mask",
        "padded",
        "",
        Pair(lambda t, pos=None, mask=None: full(t, pos, mask) * (2 - (mask is None))),
    ),
    (
        "prompt by places",
        "ragged",
        "several tokens are at number",
        Pair(full, prompt_by_places),
    ),
    (
        "absolute, undeclared",
        "moved",
        "",
        ABSOLUTE,
    ),
    (
        "no cache",
        "steps",
        "",
        Pair(full, lambda t, cache: full(t)),
    ),
):
    add(pair, name, "decoder", law, cause)

for bug in recall.BUGS:
    add(bug.right, f"right: {bug.says}", bug.kind, **bug.options)
    if bug.law:
        add(bug.wrong, bug.says, bug.kind, bug.law, bug.cause, **bug.options)
