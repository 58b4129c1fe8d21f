"""Correct encodings, and wrong ones with the law that each is about.

The public bugs of `recall` are among them; correct decoders are in `test_tiny`.
"""

import itertools
import math
import sys
from functools import partial
from pathlib import Path

import array_api_strict as strict
import numpy as np
import torch
from torch import nn

from posenc import checks, rotary_frequencies, sinusoidal_encoding, t5_buckets
from posenc.book import hunt, tiny
from posenc.checks import calls
from posenc.conventions import Convention
from posenc.nn import (
    SinusoidalPositionalEncoding,
    alibi_slopes,
    rotary_turns,
    rotate_pairs,
)

sys.path.append(
    str(Path(__file__).parents[1] / "notebooks")
)  # for `python tests/test_checks.py`
import recall
from recall import (
    BUGS,
    DECODER,
    NARROW,
    OF_YARN,
    OMEGA,
    Pair,
    Rotary,
    counted,
    part,
    turn,
    yarn,
)

QUICK = {
    "longest": 5000,
    "length": 2500,
}  # float16 rounds from 2048 on, bfloat16 from 256 on

# Each shape costs a call per sequence and head: of those drawn, faults of batches need these.
for drawn in (calls.DRAWN, calls.BATCHES):
    drawn[:] = [drawn[k] for k in (0, 1, 2, 7, 9)]


def judge(kind, subject, **options):
    """Check quickly, and without `compile`, which loads a compiler."""
    laws = {"laws": [law for law in checks.laws_of(kind) if law != "compile"]}
    quick = {} if kind in ("bias", "decoder") else QUICK
    return recall.check(subject, kind, **laws | quick | options)


def table(seq_len, d_model):
    return sinusoidal_encoding(seq_len, d_model)


def in_torch(seq_len, d_model, dtype=torch.float32):
    return torch.tensor(table(seq_len, d_model)).to(dtype)


def waves(seq_len, omega, start=0):
    """Interleave sines and cosines of any frequencies, which begin at any angle."""
    angles = np.outer(np.arange(seq_len), omega) + start
    return np.stack((np.sin(angles), np.cos(angles)), axis=-1).reshape(
        seq_len, 2 * len(omega)
    )


def tensor2tensor(length, channels):
    """All in float32, with a reciprocal: the order of operations with the most rounding."""
    steps = np.arange(channels // 2, dtype=np.float32) / np.float32(channels // 2 - 1)
    omega = 1 / np.exp(steps * np.log(np.float32(10_000)))
    angles = np.arange(length, dtype=np.float32)[:, None] * omega
    signal = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
    return np.pad(signal, [[0, 0], [0, channels % 2]])[None]


def learned(seq_len, d_model):
    """A learned table of 64 rows, resized."""
    rows = np.random.default_rng(d_model).normal(size=(64, d_model))
    return np.stack(
        [np.interp(np.linspace(0, 63, seq_len), range(64), y) for y in rows.T], axis=1
    )


class Layer(nn.Module):
    """A right layer, unless it adds or is changed in another way."""

    def __init__(self, d_model=16, max_len=3000, add=torch.add, change=id):
        super().__init__()
        self.d_model, self.add = d_model, add
        self.register_buffer("pe", in_torch(max_len, d_model), persistent=False)
        change(self)

    def forward(self, x, positions=None):
        rows = self.pe[: x.size(1)] if positions is None else self.pe[positions]
        return self.add(x, rows.to(x.dtype))


class BatchForSequence(Layer):
    def forward(self, x):
        return x + self.pe[: x.size(0), None].to(x.dtype)


def in_numpy(x, positions):
    angles = np.outer(positions, rotary_frequencies(x.shape[-1])[0])
    turned = (x[..., 0::2] + 1j * x[..., 1::2]) * np.exp(1j * angles)
    return (
        np.stack([turned.real, turned.imag], axis=-1).reshape(x.shape).astype(x.dtype)
    )


def permuted(x, positions):
    """Take neighbors, and return halves, as DeepSeek-V3 does."""
    return rotate_pairs(x.unflatten(-1, (-1, 2)).mT.flatten(-2), positions)


class Cached(nn.Module):
    """A table of cosines and sines."""

    def __init__(self, d_model=16):
        super().__init__()
        self.register_buffer(
            "turns", torch.stack(rotary_turns(torch.arange(4096), d_model))
        )

    def forward(self, x, positions):
        return rotate_pairs(x, turns=tuple(self.turns[:, positions]))


def mixed_the_other_way(x, positions):
    """Turn neighbors by the angles of halves."""
    angles = (positions[:, None] * torch.from_numpy(OMEGA)).repeat(1, 2)
    turned = torch.stack((-x[..., 1::2], x[..., 0::2]), dim=-1).flatten(-2)
    return x * angles.cos().to(x.dtype) + turned * angles.sin().to(x.dtype)


def offsets(seq_len, shift=0):
    return np.arange(seq_len) - np.arange(seq_len)[:, None] - shift


def distance(seq_len):
    return np.abs(offsets(seq_len))


def alibi(heads, seq_len):
    return -alibi_slopes(heads)[:, None, None].numpy() * distance(seq_len)


def buckets(seq_len, causal=False, shift=0):
    values = np.random.default_rng(0).normal(size=(2, 32))
    return values[:, t5_buckets(offsets(seq_len, shift), bidirectional=not causal)]


ABSOLUTE, UNTURNED = (
    tiny.Decoder(DECODER.weights, name) for name in ("sinusoidal", "none")
)
PLAIN = Pair(lambda tokens: DECODER.full(tokens))


def counting_up(place, decoder=DECODER):
    """Begin steps at `place(n, more)`, given the counts of cached and of new tokens."""

    def step(tokens, cache):
        held = cache[0][0].shape[2] if cache else 0
        return decoder.step(
            tokens, cache, counted(tokens, place(held, tokens.shape[1]))
        )

    return Pair(decoder.full, step)


OFF_BY_ONE, CALLS = counting_up(lambda n, _: n + (n > 0)), itertools.count()
UNFILLED, STILL, UNSIGNED = Rotary(), Rotary(), partial(table)
UNFILLED.reset_parameters, UNSIGNED.__signature__ = None, 3
STILL.omega.zero_()
LEAF = torch.zeros((), requires_grad=True)  # another leaf that gradients reach
KEPT, MEMORY = {}, np.zeros(500_000, np.float32)
AXIAL = np.kron(np.eye(2), rotary_frequencies(8, base=100)[0])
BY_AXES = turn(frequencies=AXIAL)
AXES, SHORT = {"axes": 2} | NARROW, {"longest": 600, "length": 600}
OF_T5 = {"expected": "t5", "tags": ["learned"]}


# fmt: off
RIGHT = {  # by kind: words of the report, if any, the subject, and options of the check
    "table": [
        ("", in_torch), ("sin, cos; exponent i/(d/2 - 1)", tensor2tensor, {"longest": 200_000}),
        ("", lambda n, d: table(n, d)[:, None] * np.float32(d**-0.5)),
        *(("", encode, SHORT) for encode in hunt.RIGHT.values()),
        *((f"{known}", known.table, SHORT | {"convention": name})
          for name, known in checks.KNOWN.items() if not name.startswith("rotary")),
        ("base 50004", lambda n, d: sinusoidal_encoding(
            (np.arange(n) + 1 / 3) * 0.1234567891, d, base=500_042.25),
         {"length": 300, "longest": 50_000}),
        ("no argument `dtype`", UNSIGNED),
        ("from 0 down", lambda n, d, dtype=np.float32:
         checks.KNOWN["Transformer-XL"].table(n, d).astype(dtype)),
        ("another kind: freq", lambda n, d: waves(n, np.pi * 2.0 ** np.arange(d // 2) / (n or 1))),
        ("another kind: its col", learned),
        ("another kind: a learned table", learned, {"tags": ["learned"]}),
        ("is in half precision", lambda n, d: in_torch(n, d).bfloat16()),
        (", of 32", lambda n, d: table(min(n, 40), d)),
    ],
    "module": [
        ("", Layer),
        ("", partial(Layer, add=lambda x, rows: (x * x.size(-1) ** 0.5 + rows, None))),
        ("", partial(Layer, change=lambda layer: setattr(layer, "scale", nn.Parameter(LEAF)))),
        ("", SinusoidalPositionalEncoding(32, batch_first=False)),
        ("(paper)", SinusoidalPositionalEncoding, {"laws": None}),  # compiled, too
        ("far positions are refused", Layer(16, 260)),
        ("created on meta: ", partial(Layer, change=lambda layer: layer.pe.sum().item())),
        ("takes no positions of shape", partial(Layer, add=lambda x, rows: (x + rows)[:2]),
         {"laws": ["rows"]}),
    ],
    "rotary": [
        ("numpy arrays", in_numpy),
        ("(rotary, neighbors)", lambda x, p: strict.asarray(  # which supports only DLPack
            in_numpy(np.from_dlpack(x), np.from_dlpack(p))), {"library": strict}),
        ("(rotary, halves)", rotate_pairs, {"laws": None}),
        ("(rotary, neighbors)", turn(pairing="neighbors")),
        ("turned backwards in steps of 0.25", lambda x, p: rotate_pairs(x, -p / 4)),
        ("partial, 0.6667 of the width", lambda x, p: rotate_pairs(
            x, torch.arange(100, device=x.device)[p], first=8), {"widths": [24]}),
        ("", BY_AXES, AXES), ("", turn(frequencies=AXIAL, attention_factor=1.5),
         AXES | {"frequencies": AXIAL, "attention_factor": 1.5}),
        ("", part("proportional", "neighbors"),
         NARROW | {"frequencies": OMEGA * (np.arange(8) < 4)}),
        *((f"{layout}; exponent i/(d/2); base 10000; turned forwards; {extent}, {share} of the ",
           part(extent, layout, share), {"laws": ["convention"]})
          for extent in ("partial", "proportional")
          for layout, share in (("halves", 0.25), ("neighbors", 0.75))),
        ("rotary, neighbors", permuted),
        ("halves; exponent", lambda x, p: rotate_pairs(x, p).unflatten(-1, (2, -1)).mT.flatten(-2)),
        ("rotary, halves", Cached), ("rotary, halves", Cached(), NARROW),
        ("a norm follows the rotation", lambda x, p: nn.functional.rms_norm(
            rotate_pairs(x, p), x.shape[-1:], torch.linspace(0.5, 2, x.shape[-1]).to(x), 1e-6)),
        ("partial, 0.5 of the width", turn(frequencies=rotary_frequencies(8)[0]), NARROW),
        ("reinitializes its", UNFILLED, {"laws": ["meta"]}),
        ("no pairs to read", STILL, {"laws": ["cast"]}),
        ("2 pairs turn; a base takes at least 3", part("partial"), {"widths": [8]}),
        ("turns 1 pairs", turn(frequencies=AXIAL[:, ::4]), {"axes": 2}),
        ("no convention to compare with", part("partial"),
         {"frequencies": 1 / (1 + np.arange(8.0)), "laws": ["float32"]}),
    ],
    "bias": [
        ("", lambda n: torch.from_numpy(alibi(8, n))),
        ("", lambda n: -0.5 * np.minimum(distance(n), 8)), ("", offsets, {"causal": True}),
        *(("", partial(alibi, n), {"expected": "alibi"}) for n in (8, 12)),
        ("", partial(alibi, 8), {"expected": partial(alibi, 8)}),
        *(("", partial(buckets, causal=c), OF_T5 | {"causal": c}) for c in (False, True)),
        ("most buckets", lambda n: 0.0 * distance(n), {"expected": "t5", "laws": ["values"]}),
    ],
    "decoder": [
        ("torch, ", Pair(lambda t: torch.tensor(DECODER.full(t.numpy())))),
        ("no argument for mask", PLAIN), ("ring cache", DECODER, {"tags": ["ring cache"]}),
    ],
}
WRONG = {  # by kind: the law that each is about, the subject, and options
    "table": [
        ("shape", lambda n, d: table(n, d).astype(int)),
        ("shape", lambda n, d: np.tile(table(n, d), 2)),
        ("shape", lambda n, d: table(n, d)[:, :-1]), ("shape", dict),
        ("norm", lambda n, d: table(n, d) * (np.arange(n) != 100)[:, None]),
        ("norm", lambda n, d: table(n, d) / d),
        ("norm", lambda n, d: -(table(n, d) ** 2), {"convention": "paper"}),
        ("norm", learned, {"base": 10_000}),
        ("shift", lambda n, d: table(n, d)[np.arange(n) // 2]),
        ("identity", lambda n, d: waves(n, 10_000.0 ** (-np.arange(0, d, 2) / d), 0.1)),
        ("frequencies", lambda n, d: waves(n, 10_000.0 ** (-np.arange(1, d, 2) / d))),
        ("frequencies", lambda n, d: waves(n, np.ones(d // 2), np.linspace(0, 1, d // 2))),
        ("frequencies", lambda n, d: table(n, d)[np.zeros(n, int)]),
        ("frequencies", table, {"base": 10_010}), ("convention", table, {"convention": "Marian"}),
        ("empty", lambda n, d: table(n + (n == 1), d)),
        ("float32", lambda n, d: waves(n, (1 + 1e-6) * 10_000.0 ** (-np.arange(0, d, 2) / d))),
        ("half", lambda n, d, dtype=np.float32:
         np.tile(table(n, d).astype(dtype), 1 + (dtype != np.float32))),
        ("half", lambda n, d, dtype=torch.float32: torch.tensor(
            sinusoidal_encoding(torch.arange(n).to(dtype).double().numpy(), d)).to(dtype)),
        ("odd", lambda n, d: table(n, d - d % 2)),
        ("repeat", lambda n, d: np.add(table(n, d), 0, out=MEMORY[: n * d].reshape(n, d))),
        *((bug.law, hunt.BUGS[name]) for name, bug in checks.MUSEUM.items() if name in hunt.BUGS),
        # slightly wrong: bounds that are too loose would let it pass
        ("norm", lambda n, d: table(n, d)
         + 1e-5 * np.sin(17 * np.arange(n)[:, None] + np.arange(d)).astype("f4")),
    ],
    "module": [
        *((law, partial(Layer, add=add)) for law, add in [
            ("shape", lambda x, rows: x + rows[: x.size(0)]),
            ("norm", lambda x, rows: x), ("batch", lambda x, rows: x + rows / x.size(0)),
            ("repeat", lambda x, rows: x.add_(rows)),
            ("masked", lambda x, rows: x + rows + x.sum() * 0),
            ("half", lambda x, rows: (x + rows).float()),
            ("strided", lambda x, rows: x.view(-1, x.size(-1)).view(x.shape) + rows),
            ("gradient", lambda x, rows: x.detach() + rows + LEAF),
            ("device", lambda x, rows: torch.zeros(x.shape) if x.is_meta else x + rows),
            ("empty", lambda x, rows: x + rows if len(x) else x[:, :0]),
            ("adds", lambda x, rows: x + rows + 1e-3 * x * x),
        ]),
        *((law, partial(Layer, change=change)) for law, change in [
            ("far", lambda layer: layer.pe[300:].zero_()),
            ("far", lambda layer: layer.pe[1000:].fill_(math.nan)),
            ("gradient", lambda layer: setattr(layer, "pe", nn.Parameter(layer.pe))),
            ("state", lambda layer: layer.register_load_state_dict_post_hook(
                lambda module, _: setattr(module, "pe", -module.pe))),
            ("meta", lambda layer: setattr(layer, "reset_parameters", lambda: layer.pe.zero_())),
            ("device", lambda layer: vars(layer).update(pe=layer._buffers.pop("pe"))),
        ]),
        ("batch", BatchForSequence),
        ("batch", SinusoidalPositionalEncoding(16, batch_first=False), {"batch_first": True}),
        ("odd", lambda d_model: nn.Identity() if d_model % 2 else Layer(d_model)),
        ("compile", partial(Layer, add=lambda x, rows: (x + rows, print(end=""))[0]),
         {"laws": None}),
    ],
    "rotary": [
        ("shape", lambda x, p: rotate_pairs(x, p).flatten()),
        ("norm", yarn(), NARROW), ("norm", yarn(power=2), OF_YARN),
        ("norm", mixed_the_other_way, NARROW),
        ("shift", lambda x, p: rotate_pairs(x, p // 2)),
        ("identity", lambda x, p: rotate_pairs(x, p + 1)),
        ("frequencies", turn(base=500_000.0), {"frequencies": OMEGA} | NARROW),
        ("frequencies", yarn(), OF_YARN | {"frequencies": 1.00001 * OF_YARN["frequencies"]}),
        ("frequencies", turn(), {"frequencies": [1.0, 0.5]} | NARROW),
        ("frequencies", turn(frequencies=AXIAL * [1, 2.5, 1, 1, 1, 1, 1, 1]), AXES),
        ("convention", permuted, {"convention": "rotary, neighbors"}),
        ("convention", turn(first=8), NARROW | {
            "convention": Convention("halves", extent="partial", share=0.5)}),
        ("start", lambda x, p: rotate_pairs(x, KEPT.setdefault(len(p), p))),
        ("start", lambda x, p: rotate_pairs(x, p)[..., : 3 if x.shape[-2] == 4 else None, :]),
        ("start", lambda x, p: rotate_pairs(
            x, p, base=10_000.0 * max(x.shape[-2] / 8 - 7, 1) ** 1.1)),
        ("steps", lambda x, p: rotate_pairs(x, p + (x.shape[-2] == 1))),
        ("steps", lambda x, p: rotate_pairs(
            x, p, pairing="halves" if x.shape[-2] == 1 else "neighbors")),
        ("batch", lambda x, p: rotate_pairs(x, p * (x.ndim < 3 or len(x) < 4))),
        ("batch", lambda x, p: rotate_pairs(x, p * (x.ndim < 4 or x.shape[1] < 8))),
        ("batch", lambda x, p: rotate_pairs(x, p * (x.ndim < 4 or x.shape[2] % 2 == 0))),
        ("far", lambda x, p: rotate_pairs(x, p % 2048)),
        ("far", lambda x, p: rotate_pairs(x, p.clamp(max=2047))),
        ("masked", lambda x, p: rotate_pairs(x + 0 * x.sum(), p)),
        ("gradient", lambda x, p: rotate_pairs(x.detach() + LEAF, p)),
        ("gradient", lambda x, p: rotate_pairs(x, p)[..., 2 * x.requires_grad :]),
        ("repeat", lambda x, p: torch.mul(
            rotate_pairs(x, p), 1, out=KEPT.setdefault(x.shape, 0 * x))),
        ("odd", lambda x, p: 2 * x if x.shape[-1] % 2 else rotate_pairs(x, p)),
        ("empty", lambda x, p: rotate_pairs(x, p) if x.numel() else x[:1]),
        ("compile", lambda x, p: (rotate_pairs(x, p), print(end=""))[0], {"laws": None}),
        ("meta", UNFILLED, NARROW | {"tags": ["made on meta"]}),
        ("device", lambda x, p: torch.zeros(x.shape) if x.is_meta else rotate_pairs(x, p)),
        ("axes", lambda x, p: rotate_pairs(x, p[..., 0]), AXES),
        ("frequencies", lambda x, p: x.clone(), AXES),
        # slightly wrong: bounds that are too loose would let them pass
        ("norm", lambda x, p: turn(pairing="neighbors")(x, p)
         + 1e-5 * torch.sin(17.0 * p[..., None] + torch.arange(x.shape[-1]))),
        ("batch", lambda x, p: rotate_pairs(x, p)
         + 1e-4 * torch.arange(len(x)).reshape(-1, *[1] * (x.ndim - 1))),
    ],
    "bias": [
        ("shape", lambda n: -distance(n)[1:]),
        ("offset", lambda n: -np.sqrt(np.outer(np.arange(n), np.arange(n))) / 9),
        ("offset", lambda n: -distance(n) - 1e-4 * (np.arange(n) % 2)),  # by 20 times the bound
        ("start", lambda n: -distance(n) / n),
        ("mirror", lambda n: offsets(n) * 0.25), ("penalty", lambda n: -0.0 * distance(n)),
        ("values", partial(alibi, 8), {"expected": partial(alibi, 12)}),
        ("values", lambda n: -(2.0 ** -np.arange(1, 13))[:, None, None] * distance(n),
         {"expected": "alibi"}),
        ("values", partial(buckets, shift=1), OF_T5),
        ("values", lambda n: np.maximum(t5_buckets(offsets(n)), 1), {"expected": "t5"}),
    ],
    "decoder": [
        ("shape", Pair(lambda t: DECODER.full(np.pad(t, [(0, 0), (1, 0)])))),
        ("batch", Pair(lambda t: np.repeat(DECODER.full(t[:1]), len(t), 0))),
        ("order", Pair(lambda t: 0 * DECODER.full(t) + np.arange(16.0))),
        ("causal", Pair(lambda t: DECODER.full(t) + 0.1 * t[:, -1:, None])),
        ("steps", OFF_BY_ONE), ("steps", counting_up(lambda n, _: n % 16)),
        ("steps", Pair(PLAIN.full, UNTURNED.step)),
        ("steps", Pair(DECODER.full, lambda t, kv: (ABSOLUTE if kv else DECODER).step(t, kv))),
        ("chunks", counting_up(lambda n, more: n * (more == 1))),
        ("padded", Pair(lambda t, positions=None, mask=None: DECODER.full(t, positions))),
        ("moved", ABSOLUTE),
        ("repeat", counting_up(lambda *_: next(CALLS), ABSOLUTE), {"relative": False}),
        ("steps", Pair(DECODER.full, lambda t, cache: DECODER.full(t))),
    ],
}

# fmt: on

for bug in {bug.right: bug for bug in BUGS}.values():
    RIGHT[bug.kind].append(("", bug.right, bug.options))
for bug in BUGS[:-1]:  # no law catches the last
    WRONG[bug.kind].append((bug.law, bug.wrong, bug.options))
SPECIMENS = {
    f"{group} {kind} {number}": (kind, expected, subject, *(options or [{}]))
    for group, kinds in {"right": RIGHT, "wrong": WRONG}.items()
    for kind, rows in kinds.items()
    for number, (expected, subject, *options) in enumerate(rows, 1)
}
