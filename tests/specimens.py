"""Encodings that are right, and wrong ones with the law that they break and the cause.

The cause is a part of what a report says, or "" if no known fault gives the same numbers. Public
bugs are in `recall`, those of chapter 14 in `posenc.book.hunt`; right decoders in chapter 19.
"""

from functools import partial
from typing import NamedTuple

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

# float16 rounds from 2048 on, bfloat16 from 256 on
QUICK = {"longest": 5000}
LEAF = torch.zeros((), requires_grad=True)  # another leaf that gradients reach
KEPT = {}
MEMORY = np.zeros(500_000, np.float32)
AXIAL = np.kron(np.eye(2), rotary_frequencies(8, base=100)[0])
AXES = {"frequencies": AXIAL}
LEARNED = {"learned": True}


class Specimen(NamedTuple):
    """A subject, options of its check, and the law that it breaks, if it is wrong."""

    kind: str
    subject: object
    options: dict
    law: str = ""
    cause: str = ""


SPECIMENS = {}


def add(subject, name, kind, law="", cause="", **options):
    """Add a subject; a second one of a name would hide the first."""
    if name in SPECIMENS:
        raise ValueError(f"two specimens are called {name!r}")
    SPECIMENS[name] = Specimen(kind, subject, options, law, cause)


def specimen(kind, law="", cause="", make=lambda function: function, **options):
    """Decorate a function or class: what `make` makes of it is added under its name."""

    def decorate(subject):
        name = subject.__name__ if law else f"{subject.__name__} is right"
        add(make(subject), name, kind, law, cause, **options)
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
    add(encode, f"{name}: right", "table", longest=600)
for name, bug in hunt.BUGS.items():
    add(bug, name, "table", "far" if "float16" in name else "values", name)
add(in_torch, "in_torch is right", "table")
add(learned, "learned is right", "table")
add(learned, "learned, though a base is declared", "table", "values", base=10_000)
OTHER = "the numbers of another convention: interleaved"
add(table, "another convention", "table", "values", OTHER, convention="Marian")
add(table, "another base", "table", "values", "lost setting", base=10_010)


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
    return waves(np.outer(np.linspace(-1, 1, n), np.pi * np.linspace(1, 10, d // 2)))


add(fourier_features, "fourier_features, declared, is right", "table", **LEARNED)


@specimen("table", "values", "learned=True")
def nerf(n, d):
    return waves(np.outer(np.arange(n), np.pi * 2.0 ** np.arange(d // 2) / max(n, 1)))


@specimen("table")
def of_forty_rows(n, d):
    return table(min(n, 40), d)


@specimen("table", widths=[2])
def of_width_two(n, d):
    return table(n, d)


@specimen("table", "values")
def phases(n, d):
    return waves(np.outer(np.arange(n), 10_000.0 ** (-np.arange(0, d, 2) / d)) + 0.1)


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


rows_of = partial(
    specimen, "table", make=lambda change: lambda n, d: change(table(n, d))
)


@rows_of(widths=[16], attention_factor=0.25)
def scaled(rows):
    return rows[:, None] * np.float32(rows.shape[1] ** -0.5)


@rows_of()
def in_half_precision(rows):
    return torch.tensor(rows).bfloat16()


@rows_of("shape")
def whole_numbers(rows):
    return rows.astype(int)


@rows_of("values")
def one_row_is_zero(rows):
    return rows * (np.arange(len(rows)) != 100)[:, None]


@rows_of("values", "rows times 1/d")
def divided(rows):
    return rows / rows.shape[1]


@rows_of("values", "lost half")
def rows_twice(rows):
    return rows[np.arange(len(rows)) // 2]


@rows_of("values")
def nearly(rows):
    return rows + 1e-5 * np.sin(np.arange(rows.size).reshape(rows.shape)).astype("f4")


def of_two_coordinates(height, width, d_model):
    rows, columns = (table(n, d_model // 2) for n in (height, width))
    both = rows[:, None] + 0 * columns, columns + 0 * rows[:, None]
    return np.concatenate(both, axis=-1)


add(
    lambda n, d: of_two_coordinates(n, 3, 2 * d).reshape(3 * n, -1)[::3, :d],
    "height is right",
    "table",
)
add(
    lambda n, d: of_two_coordinates(3, n, 2 * d).reshape(3 * n, -1)[:n, d:],
    "width is right",
    "table",
)


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


def layer_that_adds(method):
    methods = {"add": lambda self, x, rows: method(x, rows)}
    return type(method.__name__, (Layer,), methods)


layer = partial(specimen, "module", make=layer_that_adds)
add(Layer, "Layer is right", "module")
add(Layer(16, 260), "a short layer is right", "module")
add(SinusoidalPositionalEncoding, "SinusoidalPositionalEncoding is right", "module")
FIRST = SinusoidalPositionalEncoding(16, batch_first=False)
add(FIRST, "sequence first is right", "module")
add(
    FIRST,
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


@layer("batch", "raises")
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
    def forward(self, x, positions=None):
        k = torch.arange(x.size(1)) if positions is None else positions
        return super().forward(x, positions) * (k < 1024)[:, None]


@specimen("module", "gradient", "exhibit 7")
class Trained(Layer):
    def __init__(self, d_model=16):
        super().__init__(d_model)
        self.pe = nn.Parameter(self.pe)


@specimen("module", "state")
class Negated(Layer):
    def __init__(self, d_model=16):
        super().__init__(d_model)
        self.register_load_state_dict_post_hook(lambda layer, _: layer.pe.neg_())


@specimen("module", "state", "reset_parameters")
class Emptied(Layer):
    def reset_parameters(self):
        self.pe.zero_()


# Rotations


def in_numpy(x, positions):
    angles = np.outer(positions, rotary_frequencies(x.shape[-1])[0])
    turned = (x[..., 0::2] + 1j * x[..., 1::2]) * np.exp(1j * angles)
    return turned.view(np.float64).astype(x.dtype)


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
for extent in ("partial", "proportional"):
    for pairing in ("halves", "neighbors"):
        for share in (0.25, 0.75):
            rotate = part(extent, pairing, share)
            add(rotate, f"{extent} {pairing} {share} is right", "rotary")
add(turn(frequencies=AXIAL), "axial is right", "rotary", **AXES)
FACTOR = turn(attention_factor=1.5)
add(FACTOR, "factor is right", "rotary", **NARROW, attention_factor=1.5)
for name, rotate, cause, options in (
    ("a factor is told what to declare", FACTOR, "attention_factor=1.5", NARROW),
    ("factor squared", yarn(power=2), "attention factor squared", OF_YARN),
    (
        "another base than the frequencies",
        turn(base=500_000.0),
        "the numbers of another convention",
        {"frequencies": OMEGA},
    ),
):
    add(rotate, name, "rotary", "values", cause, **options)
SWAPPED = turn(frequencies=AXIAL[::-1])
add(SWAPPED, "axes swapped", "rotary", "axes", "axes are swapped", **AXES)

rotary = partial(specimen, "rotary")


@rotary()
def permuted(x, p):
    """Take neighbors, and return halves, as DeepSeek-V3 does."""
    return rotate_pairs(x.unflatten(-1, (-1, 2)).mT.flatten(-2), p)


@rotary()
def permuted_in_part(x, p):
    """Split a part off, permute that alone, and put the rest behind it."""
    turned, rest = x.chunk(2, dim=-1)
    return torch.cat([permuted(turned, p), rest], dim=-1)


@rotary()
def permuted_at_the_end(x, p):
    """Turn the last dimensions, as latent attention does."""
    rest, turned = x.chunk(2, dim=-1)
    return torch.cat([rest, permuted(turned, p)], dim=-1)


DECLARED = {"convention": "rotary, neighbors"}
add(
    permuted,
    "permuted, undeclared",
    "rotary",
    "values",
    "returned as halves",
    **DECLARED,
)


@rotary("values", "a norm follows")
def normed(x, p):
    weights = torch.linspace(0.5, 2, x.shape[-1]).to(x)
    return nn.functional.rms_norm(rotate_pairs(x, p), x.shape[-1:], weights, 1e-6)


@rotary(widths=[24])
def from_dimension_eight(x, p):
    return rotate_pairs(x, p, first=8)


@rotary("start")
def dynamic(x, p):
    return rotate_pairs(x, p, base=10_000.0 * (x.shape[-2] / 257) ** 1.1)


@rotary("steps", "mixed layouts")
def two_paths(x, p):
    return rotate_pairs(x, p, pairing="halves" if x.shape[-2] == 1 else "neighbors")


@rotary("repeat")
def overwritten(x, p):
    return torch.mul(rotate_pairs(x, p), 1, out=KEPT.setdefault(x.shape, 0 * x))


@rotary("odd", "exhibit 6")
def odd_doubled(x, p):
    return 2 * x if x.shape[-1] % 2 else rotate_pairs(x, p)


@rotary("compile", "raises", laws=["compile"])
def printing(x, p):
    print(end="")
    return rotate_pairs(x, p)


@rotary("values")
def nearly_turned(x, p):
    return rotate_pairs(x, p) + 1e-5 * torch.sin(17.0 * p[..., None] + x)


@rotary("values", "no positions")
def standing(x, p):
    return x.clone()


turned_at = partial(
    rotary, make=lambda change: lambda x, p: rotate_pairs(x, change(x, p))
)


@turned_at()
def backwards(x, p):
    return -p


@turned_at("values", "times 0.25")
def by_quarters(x, p):
    return p / 4


@turned_at("values", "one too many")
def from_one(x, p):
    return p + 1


@turned_at("start")
def kept_by_length(x, p):
    return KEPT.setdefault(len(p), p)


@turned_at("steps", "step too many")
def step_late(x, p):
    return p + (x.shape[-2] == 1)


@turned_at("batch")
def up_to_three(x, p):
    return p * (x.ndim < 3 or len(x) < 4)


@turned_at("batch")
def up_to_eight_heads(x, p):
    return p * (x.ndim < 4 or x.shape[1] < 8)


@turned_at("far", "wrap at 2048")
def wraps(x, p):
    return p % 2048


@turned_at("far", "end at 2048")
def clamped(x, p):
    return p.clamp(max=2047)


@turned_at("values", "lost setting", **AXES)
def one_axis_alone(x, p):
    return p[..., 0]


# Biases


def offsets(seq_len):
    return np.arange(seq_len) - np.arange(seq_len)[:, None]


def buckets(causal, shift=0):
    values = np.random.default_rng(0).normal(size=(2, 32))
    return lambda n: values[:, t5_buckets(offsets(n) - shift, bidirectional=not causal)]


bias = partial(specimen, "bias")
T5 = {"expected": "t5", **LEARNED}
add(lambda n: alibi_bias(12, n), "alibi is right", "bias", expected="alibi")
for causal in (False, True):
    add(buckets(causal), f"T5, causal={causal}: right", "bias", **T5, causal=causal)
add(buckets(False, 1), "buckets shifted", "bias", "values", **T5)


@bias(causal=True)
def signed(n):
    return 0.25 * offsets(n)


add(signed, "signed, without causal=True", "bias", "penalty", "signed")


@bias()
def stops_growing(n):
    return -0.5 * np.minimum(abs(offsets(n)), 8)


@bias("offset")
def of_product(n):
    return -np.sqrt(np.outer(np.arange(n), np.arange(n))) / 9


@bias("start")
def by_length(n):
    return -abs(offsets(n)) / n


@bias("penalty")
def none(n):
    return -0.0 * offsets(n)


@bias("values", "slopes 2^-h", expected="alibi")
def slopes_of_eight(n):
    return -(2.0 ** -np.arange(1, 13))[:, None, None] * abs(offsets(n))


# Builders of position ids


@specimen("positions", expected="left padding")
def words(mask):
    return mask.long().cumsum(-1) - 1


@specimen("positions", "values", "columns for words", expected="left padding")
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
    return grid(sizes[[0, 2, 1]])[[0, 2, 1]]


# Decoders


def counting_up(place):
    """Begin steps at `place(n, more)`, given the counts of cached and of new tokens."""

    def step(tokens, cache):
        held = cache.positions.shape[1] if cache else 0
        begin = place(held, tokens.shape[1])
        return DECODER.step(tokens, cache, counted(tokens, begin))

    return Pair(DECODER.full, step)


full = DECODER.full
ABSOLUTE = tiny.Decoder(DECODER.weights, rotary=False)


def spoiled(tokens, positions=None, mask=None, segments=None):
    """Score padding as NaN, as a softmax over nothing does."""
    scores = full(tokens, positions, mask, segments)
    return scores if mask is None else np.where(mask[..., None], scores, np.nan)


add(Pair(spoiled), "NaN at padding is right", "decoder")
OFF_BY_ONE = counting_up(lambda n, more: n + (n > 0))
add(Pair(lambda t: torch.tensor(full(t.numpy()))), "torch is right", "decoder")
add(ABSOLUTE, "absolute is right", "decoder", relative=False)
for name, law, cause, pair in (
    ("repeated", "batch", "", Pair(lambda t: np.repeat(full(t[:1]), len(t), 0))),
    ("constant", "order", "never reach", Pair(lambda t: 0 * full(t) + range(16))),
    ("looks ahead", "causal", "", Pair(lambda t: full(t) + 0.1 * t[:, -1:, None])),
    ("off by one", "steps", "one too large", OFF_BY_ONE),
    ("wrapping", "steps", "wrap at 16", counting_up(lambda n, more: n % 16)),
    (
        "chunks from 0",
        "chunks",
        "several tokens begin at position 0",
        counting_up(lambda n, more: n * (more == 1)),
    ),
    (
        "padding seen",
        "padded",
        "padding seen",
        Pair(lambda t, positions=None, mask=None: full(t, positions)),
    ),
    ("absolute, undeclared", "moved", "", ABSOLUTE),
    ("no cache", "steps", "", Pair(full, lambda t, cache: full(t))),
):
    add(pair, name, "decoder", law, cause)

for bug in recall.BUGS:
    add(bug.right, f"right: {bug.says}", bug.kind, **bug.options)
    if bug.law:
        add(bug.wrong, bug.says, bug.kind, bug.law, bug.cause, **bug.options)
