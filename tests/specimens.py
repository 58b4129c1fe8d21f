"""Encodings that are right, and wrong ones with the law that they break and the cause.

The cause is a part of what a report says, or "" if no known fault gives the same numbers. Public
bugs are in `recall`, those of chapter 14 in `posenc.book.hunt`; right decoders in chapter 19.
"""

import itertools
from typing import NamedTuple

import array_api_strict as strict
import numpy as np
import recall
import torch
from recall import DECODER, NARROW, OF_YARN, OMEGA, Pair, counted, part, turn, yarn
from torch import nn

from posenc import (
    alibi_bias,
    checks,
    rotary_frequencies,
    sinusoidal_encoding,
    t5_buckets,
)
from posenc.book import hunt, tiny
from posenc.nn import SinusoidalPositionalEncoding, rotary_turns, rotate_pairs

QUICK = {
    "longest": 5000,
    "length": 2500,
}  # float16 rounds from 2048 on, bfloat16 from 256 on
LEAF = torch.zeros((), requires_grad=True)  # another leaf that gradients reach
KEPT = {}
MEMORY = np.zeros(500_000, np.float32)
AXIAL = np.kron(np.eye(2), rotary_frequencies(8, base=100)[0])
AXES = {"axes": 2, "frequencies": AXIAL}


class Specimen(NamedTuple):
    """A subject, options of its check, and the law that it breaks, if it is wrong."""

    kind: str
    subject: object
    options: dict
    law: str = ""
    cause: str = ""


SPECIMENS = {}


def add(subject, name, kind, law="", cause="", **options):
    """Add a subject to the specimens of a kind; a second one of a name would hide the first."""
    if name in SPECIMENS:
        raise ValueError(f"two specimens are called {name!r}")
    SPECIMENS[name] = Specimen(kind, subject, options, law, cause)


def specimen(kind, law="", cause="", **options):
    """Decorate a function or a class: it is added under its own name."""

    def decorate(subject):
        name = subject.__name__ if law else f"{subject.__name__} is right"
        add(subject, name, kind, law, cause, **options)
        return subject

    return decorate


def judge(kind, subject, **options):
    """Check quickly."""
    quick = QUICK if kind in ("table", "module", "rotary") else {}
    return recall.check(subject, kind, **quick | options)


# Tables


def table(seq_len, d_model):
    return sinusoidal_encoding(seq_len, d_model)


def in_torch(seq_len, d_model, dtype=torch.float32):
    return torch.tensor(table(seq_len, d_model)).to(dtype)


def learned(seq_len, d_model):
    rows = np.random.default_rng(d_model).normal(size=(64, d_model))
    where = np.linspace(0, 63, seq_len)
    return np.stack([np.interp(where, range(64), column) for column in rows.T], axis=1)


def waves(angles):
    return np.stack((np.sin(angles), np.cos(angles)), axis=-1).reshape(len(angles), -1)


for name, known in checks.KNOWN.items():
    if not known.rotary:
        add(known.table, f"the convention {name} is right", "table", convention=name)
for name, encode in hunt.RIGHT.items():
    add(encode, f"{name}: right", "table", longest=600, length=600)
for name in hunt.BUGS:
    add(
        hunt.BUGS[name],
        name,
        "table",
        "far" if name == "rows in float16" else "values",
        name,
    )
add(in_torch, "in_torch is right", "table")
add(learned, "learned is right", "table")
add(learned, "learned, though a base is declared", "table", "values", "", base=10_000)
add(
    table,
    "another convention",
    "table",
    "values",
    "the numbers of another convention: interleaved",
    convention="Marian",
)
add(table, "another base", "table", "values", "lost setting", base=10_010)


@specimen("table")
def tensor2tensor(length, channels):
    """All in float32, with a reciprocal: the order of operations with the most rounding."""
    steps = np.arange(channels // 2, dtype=np.float32) / np.float32(channels // 2 - 1)
    omega = 1 / np.exp(steps * np.log(np.float32(10_000)))
    angles = np.arange(length, dtype=np.float32)[:, None] * omega
    signal = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
    return np.pad(signal, [[0, 0], [0, channels % 2]])[None]


@specimen("table")
def scaled(n, d):
    return table(n, d)[:, None] * np.float32(d**-0.5)


@specimen("table")
def fourier_features(n, d):
    return waves(np.outer(np.linspace(-1, 1, n), np.pi * np.linspace(1, 10, d // 2)))


@specimen("table")
def nerf(n, d):
    return waves(np.outer(np.arange(n), np.pi * 2.0 ** np.arange(d // 2) / max(n, 1)))


@specimen("table")
def in_half_precision(n, d):
    return in_torch(n, d).bfloat16()


@specimen("table")
def of_forty_rows(n, d):
    return table(min(n, 40), d)


@specimen("table", widths=[2])
def of_width_two(n, d):
    return table(n, d)


@specimen("table", "shape")
def whole_numbers(n, d):
    return table(n, d).astype(int)


@specimen("table", "values")
def one_row_is_zero(n, d):
    return table(n, d) * (np.arange(n) != 100)[:, None]


@specimen("table", "values", "rows times 1/d")
def divided(n, d):
    return table(n, d) / d


@specimen("table", "values", "lost half")
def rows_twice(n, d):
    return table(n, d)[np.arange(n) // 2]


@specimen("table", "values")
def phases(n, d):
    return waves(np.outer(np.arange(n), 10_000.0 ** (-np.arange(0, d, 2) / d)) + 0.1)


@specimen("table", "values")
def nearly(n, d):
    return table(n, d) + 1e-5 * np.sin(
        17 * np.arange(n)[:, None] + np.arange(d)
    ).astype("f4")


@specimen("table", "half", "rows in bfloat16")
def rounded_by_dtype(n, d, dtype=torch.float32):
    where = torch.arange(n).to(dtype).double().numpy()
    return torch.tensor(sinusoidal_encoding(where, d)).to(dtype)


@specimen("table", "odd", "exhibit 6")
def odd_loses_a_column(n, d):
    return table(n, d - d % 2)


@specimen("table", "repeat")
def in_shared_memory(n, d):
    return np.add(table(n, d), 0, out=MEMORY[: n * d].reshape(n, d))


# Layers


class Layer(nn.Module):
    """A right layer, unless `rows` or `__init__` is changed."""

    def __init__(self, d_model=16, max_len=3000):
        super().__init__()
        self.d_model = d_model
        self.register_buffer("pe", in_torch(max_len, d_model), persistent=False)

    def forward(self, x, positions=None):
        rows = self.pe[: x.size(1)] if positions is None else self.pe[positions]
        return self.add(x, rows.to(x.dtype))

    def add(self, x, rows):
        return x + rows


def layer(law="", cause="", **options):
    """Add a layer that adds rows in another way."""

    def decorate(method):
        owner = type(
            method.__name__, (Layer,), {"add": lambda self, x, rows: method(x, rows)}
        )
        return specimen("module", law, cause, **options)(owner)

    return decorate


add(Layer, "Layer is right", "module")
add(Layer(16, 260), "a short layer is right", "module")
add(SinusoidalPositionalEncoding, "SinusoidalPositionalEncoding is right", "module")
add(
    SinusoidalPositionalEncoding(32, batch_first=False),
    "sequence first is right",
    "module",
)
add(
    SinusoidalPositionalEncoding(16, batch_first=False),
    "sequence first, declared otherwise",
    "module",
    "values",
    "batch for sequence",
    batch_first=True,
)


@layer()
def times_root(x, rows):
    return x * x.size(-1) ** 0.5 + rows, None


@layer("values", "sum thrown away")
def thrown_away(x, rows):
    return x


@layer("batch")
def from_four_on(x, rows):
    return x + rows * (len(x) < 4)


@layer("repeat")
def in_place(x, rows):
    return x.add_(rows)


@layer("masked")
def mixed(x, rows):
    return x + rows + 0 * x.sum()


@layer("half", "cast back")
def not_cast_back(x, rows):
    return (x + rows).float()


@layer("strided", "raises")
def viewed(x, rows):
    return x.view(-1, x.size(-1)).view(x.shape) + rows


@layer("gradient", "the graph is cut")
def detached(x, rows):
    return x.detach() + rows + LEAF


@layer("empty")
def no_sequences(x, rows):
    return x + rows if len(x) else x[:, :0]


@layer("start")
def squared(x, rows):
    return x + rows + 1e-3 * x * x


@layer("device", "stays behind", laws=["device"])
def on_the_cpu(x, rows):
    return torch.zeros(x.shape) if x.is_meta else x + rows


@specimen("module", "far", "past the end of 1024")
class ZeroBeyond(Layer):
    def __init__(self, d_model=16):
        super().__init__(d_model)
        self.pe[1024:] = 0

    def add(self, x, rows):
        return torch.where((rows == 0).all(-1, keepdim=True), 0, x + rows)


@specimen("module", "gradient", "exhibit 7")
class Trained(Layer):
    def __init__(self, d_model=16):
        super().__init__(d_model)
        self.pe = nn.Parameter(self.pe)


@specimen("module", "state")
class Negated(Layer):
    def __init__(self, d_model=16):
        super().__init__(d_model)
        self.register_load_state_dict_post_hook(
            lambda layer, _: setattr(layer, "pe", -layer.pe)
        )


@specimen("module", "meta", "reset_parameters")
class Emptied(Layer):
    def reset_parameters(self):
        self.pe.zero_()


# Rotations


def in_numpy(x, positions):
    angles = np.outer(positions, rotary_frequencies(x.shape[-1])[0])
    turned = (x[..., 0::2] + 1j * x[..., 1::2]) * np.exp(1j * angles)
    return (
        np.stack([turned.real, turned.imag], axis=-1).reshape(x.shape).astype(x.dtype)
    )


class Cached(nn.Module):
    """A table of cosines and sines."""

    def __init__(self, d_model=16):
        super().__init__()
        turns = rotary_turns(torch.arange(4096), d_model)
        self.register_buffer("turns", torch.stack(turns))

    def forward(self, x, positions):
        return rotate_pairs(x, turns=tuple(self.turns[:, positions]))


add(in_numpy, "in_numpy is right", "rotary")
add(Cached, "Cached is right", "rotary")
add(Cached(), "a module is right", "rotary", **NARROW)
add(rotate_pairs, "rotate_pairs is right", "rotary")
for extent, pairing, share in itertools.product(
    ("partial", "proportional"), ("halves", "neighbors"), (0.25, 0.75)
):
    add(part(extent, pairing, share), f"{extent} {pairing} {share} is right", "rotary")
add(turn(frequencies=AXIAL), "axial is right", "rotary", **AXES)
add(
    turn(frequencies=AXIAL),
    "axial is told what to declare",
    "rotary",
    "values",
    "base=, frequencies= or convention=",
    axes=2,
)
add(
    turn(attention_factor=1.5),
    "a factor is told what to declare",
    "rotary",
    "values",
    "attention_factor=1.5",
    **NARROW,
)
add(
    turn(attention_factor=1.5),
    "factor is right",
    "rotary",
    **NARROW,
    attention_factor=1.5,
)
add(
    yarn(power=2),
    "factor squared",
    "rotary",
    "values",
    "attention factor squared",
    **OF_YARN,
)
add(
    turn(base=500_000.0),
    "another base than the frequencies",
    "rotary",
    "values",
    "the numbers of another convention",
    frequencies=OMEGA,
)


@specimen("rotary", library=strict)
def of_the_standard(x, p):  # which supports only DLPack
    return strict.asarray(in_numpy(np.from_dlpack(x), np.from_dlpack(p)))


@specimen("rotary")
def backwards_by_quarters(x, p):
    return rotate_pairs(x, -p / 4)


@specimen("rotary", widths=[24])
def from_dimension_eight(x, p):
    return rotate_pairs(x, p, first=8)


@specimen("rotary")
def permuted(x, p):
    """Take neighbors, and return halves, as DeepSeek-V3 does."""
    return rotate_pairs(x.unflatten(-1, (-1, 2)).mT.flatten(-2), p)


@specimen("rotary")
def normed(x, p):
    weights = torch.linspace(0.5, 2, x.shape[-1]).to(x)
    return nn.functional.rms_norm(rotate_pairs(x, p), x.shape[-1:], weights, 1e-6)


add(
    permuted,
    "permuted, undeclared",
    "rotary",
    "values",
    "is permuted",
    convention="rotary, neighbors",
)


@specimen("rotary", "values", "one too many")
def from_one(x, p):
    return rotate_pairs(x, p + 1)


@specimen("rotary", "start")
def kept_by_length(x, p):
    return rotate_pairs(x, KEPT.setdefault(len(p), p))


@specimen("rotary", "start")
def dynamic(x, p):
    return rotate_pairs(x, p, base=10_000.0 * max(x.shape[-2] / 8 - 7, 1) ** 1.1)


@specimen("rotary", "steps", "step too many")
def step_late(x, p):
    return rotate_pairs(x, p + (x.shape[-2] == 1))


@specimen("rotary", "steps", "mixed layouts")
def two_paths(x, p):
    return rotate_pairs(x, p, pairing="halves" if x.shape[-2] == 1 else "neighbors")


@specimen("rotary", "batch")
def up_to_three(x, p):
    return rotate_pairs(x, p * (x.ndim < 3 or len(x) < 4))


@specimen("rotary", "batch")
def up_to_eight_heads(x, p):
    return rotate_pairs(x, p * (x.ndim < 4 or x.shape[1] < 8))


@specimen("rotary", "far", "wrap at 2048")
def wraps(x, p):
    return rotate_pairs(x, p % 2048)


@specimen("rotary", "far", "end at 2048")
def clamped(x, p):
    return rotate_pairs(x, p.clamp(max=2047))


@specimen("rotary", "repeat")
def overwritten(x, p):
    return torch.mul(rotate_pairs(x, p), 1, out=KEPT.setdefault(x.shape, 0 * x))


@specimen("rotary", "odd")
def odd_doubled(x, p):
    return 2 * x if x.shape[-1] % 2 else rotate_pairs(x, p)


@specimen("rotary", "compile", "raises", laws=["compile"])
def printing(x, p):
    print(end="")
    return rotate_pairs(x, p)


@specimen("rotary", "axes", "", axes=2)
def one_axis_alone(x, p):
    return rotate_pairs(x, p[..., 0])


SWAPPED = np.kron([[0, 1], [1, 0]], rotary_frequencies(8, base=100)[0])
add(
    turn(frequencies=SWAPPED),
    "axes swapped",
    "rotary",
    "axes",
    "axes are swapped",
    **AXES,
)


@specimen("rotary", "values", "no positions")
def standing(x, p):
    return x.clone()


@specimen("rotary", "values")
def nearly_turned(x, p):
    return rotate_pairs(x, p) + 1e-5 * torch.sin(
        17.0 * p[..., None] + torch.arange(x.shape[-1])
    )


# Biases


def distance(seq_len):
    return np.abs(np.arange(seq_len) - np.arange(seq_len)[:, None])


def buckets(causal, shift=0):
    values = np.random.default_rng(0).normal(size=(2, 32))

    def bias(n):
        offsets = np.arange(n) - np.arange(n)[:, None] - shift
        return values[:, t5_buckets(offsets, bidirectional=not causal)]

    return bias


def alibi(n):
    return alibi_bias(12, n)


add(alibi, "alibi is right", "bias", expected="alibi")
for causal in (False, True):
    options = {"expected": "t5", "tags": ["learned"], "causal": causal}
    add(buckets(causal), f"T5, causal={causal}: right", "bias", **options)
add(
    buckets(False, 1),
    "buckets shifted",
    "bias",
    "values",
    expected="t5",
    tags=["learned"],
)


@specimen("bias", causal=True)
def signed(n):
    return 0.25 * (np.arange(n) - np.arange(n)[:, None])


add(signed, "signed, without causal=True", "bias", "mirror", "signed")


@specimen("bias")
def stops_growing(n):
    return -0.5 * np.minimum(distance(n), 8)


@specimen("bias", "offset")
def of_product(n):
    return -np.sqrt(np.outer(np.arange(n), np.arange(n))) / 9


@specimen("bias", "start")
def by_length(n):
    return -distance(n) / n


@specimen("bias", "penalty")
def none(n):
    return -0.0 * distance(n)


@specimen("bias", "values", "slopes are 2^-h", expected="alibi")
def slopes_of_eight(n):
    return -(2.0 ** -np.arange(1, 13))[:, None, None] * distance(n)


# Builders of position ids


@specimen("positions", expected="left padding")
def words(mask):
    return mask.long().cumsum(-1) - 1


@specimen("positions", "values", "columns are counted", expected="left padding")
def columns(mask):
    return torch.arange(mask.shape[1]).expand(mask.shape)


@specimen("positions", "values", "continue from the text before", expected="packing")
def continued(segments):
    return np.indices(segments.shape)[1]


@specimen("positions", expected="images")
def grid(sizes):
    return np.indices(tuple(sizes.tolist())).reshape(3, -1)


@specimen("positions", "values", "column by column", expected="images")
def by_columns(sizes):
    frames, height, width = sizes.tolist()
    swapped = np.indices((frames, width, height)).reshape(3, -1)
    return swapped[[0, 2, 1]]


def of_two_coordinates(height, width, d_model):
    rows, columns = (table(n, d_model // 2) for n in (height, width))
    size = (height, width, d_model // 2)
    both = [np.broadcast_to(rows[:, None], size), np.broadcast_to(columns, size)]
    return np.concatenate(both, axis=-1)


for axis in (0, 1):
    add(
        checks.axis_of(of_two_coordinates, axis),
        f"axis {axis} of two is right",
        "table",
    )


# Decoders


def counting_up(place):
    """Begin steps at `place(n, more)`, given the counts of cached and of new tokens."""

    def step(tokens, cache):
        held = cache[0][0].shape[2] if cache else 0
        return DECODER.step(
            tokens, cache, counted(tokens, place(held, tokens.shape[1]))
        )

    return Pair(DECODER.full, step)


ABSOLUTE = tiny.Decoder(DECODER.weights, "sinusoidal")
OFF_BY_ONE = counting_up(lambda n, _: n + (n > 0))
add(Pair(lambda t: torch.tensor(DECODER.full(t.numpy()))), "torch is right", "decoder")
add(DECODER, "a ring cache is right", "decoder", tags=["ring cache"])
add(
    Pair(lambda t: np.repeat(DECODER.full(t[:1]), len(t), 0)),
    "repeated",
    "decoder",
    "batch",
)
add(
    Pair(lambda t: 0 * DECODER.full(t) + np.arange(16.0)),
    "constant",
    "decoder",
    "order",
    "never reach",
)
add(
    Pair(lambda t: DECODER.full(t) + 0.1 * t[:, -1:, None]),
    "looks ahead",
    "decoder",
    "causal",
)
add(OFF_BY_ONE, "off by one", "decoder", "steps", "one too large")
add(
    counting_up(lambda n, _: n % 16),
    "wrapping",
    "decoder",
    "steps",
    "begin again at 16",
)
add(
    counting_up(lambda n, more: n * (more == 1)),
    "chunks from 0",
    "decoder",
    "chunks",
    "several tokens begin at position 0",
)
add(
    Pair(lambda t, positions=None, mask=None: DECODER.full(t, positions)),
    "padding seen",
    "decoder",
    "padded",
    "padding is attended to",
)
add(ABSOLUTE, "absolute, undeclared", "decoder", "moved")
add(ABSOLUTE, "absolute is right", "decoder", relative=False)
add(
    Pair(DECODER.full, lambda t, cache: DECODER.full(t)), "no cache", "decoder", "steps"
)

for bug in recall.BUGS:
    add(bug.right, f"right: {bug.says}", bug.kind, **bug.options)
    if bug.law:
        add(bug.wrong, bug.says, bug.kind, bug.law, bug.cause, **bug.options)
