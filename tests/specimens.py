"""Correct encodings, and wrong ones with the laws that they break.

The tables of the bug hunt are included. The public bugs of chapter 19 (`recall`) aren't: they come
with their laws, and with a correct counterpart each. Correct decoders are in `test_tiny`.
"""

import sys
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from posenc import checks, rotary_frequencies, sinusoidal_encoding, t5_buckets
from posenc.book import hunt, tiny
from posenc.checks.conventions import EXTENTS, ROTARY_LAYOUTS, Convention
from posenc.nn import SinusoidalPositionalEncoding, alibi_slopes, rotate_pairs

sys.path.append(str(Path(__file__).parents[1] / "notebooks"))  # for `python tests/verdicts.py`
import recall

# Correct

TABLE = """
def subject(seq_len, d_model, dtype=np.float32):
    if d_model % 2:
        raise ValueError("odd")
    position = np.arange(seq_len)[:, None]
    omega = 10_000.0 ** (-np.arange(0, d_model, 2) / d_model)
    angles = position * omega
    table = np.zeros((seq_len, d_model), dtype)
    table[:, 0::2] = np.sin(angles)
    table[:, 1::2] = np.cos(angles)
    return table
"""

LAYER = """
class subject(nn.Module):
    def __init__(self, d_model=16, max_len=3000):
        super().__init__()
        if d_model % 2:
            raise ValueError("odd")
        position = torch.arange(max_len, dtype=torch.float64)[:, None]
        omega = 10_000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
        angles = position * omega
        table = torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1).float()
        self.register_buffer("pe", table, persistent=False)

    def forward(self, x, positions=None):
        rows = self.pe[: x.size(1)] if positions is None else self.pe[positions]
        return x + rows.to(x.dtype)
"""

ROTARY = """
def subject(x, positions):
    d = x.shape[-1]
    if d % 2:
        raise ValueError("odd")
    omega = 10_000.0 ** (-torch.arange(0, d, 2, dtype=torch.float64, device=x.device) / d)
    angles = positions.double()[:, None] * omega
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    first, second = x.chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, first * sin + second * cos), dim=-1)
"""


def made(text, old="", new=""):
    """Run a program's source, with one replacement, and return its `subject`."""
    assert not old or text.count(old) == 1, old
    space = {"np": np, "torch": torch, "nn": nn, "__name__": "specimen"}
    space |= {"kept": {}, "memory": np.zeros(500_000, np.float32)}
    exec(text.replace(old, new) if old else text, space)
    return space["subject"]


def table(seq_len, d_model):
    return sinusoidal_encoding(seq_len, d_model)


def in_torch(seq_len, d_model, dtype=torch.float32):
    return torch.from_numpy(table(seq_len, d_model)).to(dtype)


def tensor2tensor(length, channels):
    """All in float32, with a reciprocal: the order of operations with the most rounding."""
    steps = np.arange(channels // 2, dtype=np.float32) / np.float32(channels // 2 - 1)
    omega = 1 / np.exp(steps * np.log(np.float32(10_000)))
    angles = np.arange(length, dtype=np.float32)[:, None] * omega
    signal = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
    return np.pad(signal, [[0, 0], [0, channels % 2]])[None]


def in_numpy(x, positions):
    angles = np.outer(positions, rotary_frequencies(x.shape[-1])[0])
    turned = (x[..., 0::2] + 1j * x[..., 1::2]) * np.exp(1j * angles)
    return np.stack([turned.real, turned.imag], axis=-1).reshape(x.shape).astype(x.dtype)


def last_part(x, positions):
    """Rotate the last dimensions of a head; only one width, and positions up to 99, are valid."""
    if x.shape[-1] != 24:
        raise ValueError("not mine")
    where = torch.arange(100, device=x.device)[positions]
    return torch.cat((x[..., :8], rotate_pairs(x[..., 8:], where, pairing="halves")), dim=-1)


def distance(seq_len):
    k = np.arange(seq_len)
    return np.abs(k[:, None] - k)


def permuted(x, positions):
    """Take neighbors, and return halves, as DeepSeek-V3 does."""
    return rotate_pairs(torch.cat((x[..., 0::2], x[..., 1::2]), dim=-1), positions)


def to_neighbors(x, positions):
    """Take halves, and return neighbors."""
    return torch.stack(rotate_pairs(x, positions).chunk(2, dim=-1), dim=-1).flatten(-2)


def normed(x, positions):
    """A norm with weights follows the rotation."""
    y = rotate_pairs(x, positions)
    size = (y.float().square().mean(dim=-1, keepdim=True) + 1e-6).rsqrt().to(y.dtype)
    return y * size * torch.linspace(0.5, 2, x.shape[-1], dtype=y.dtype, device=y.device)


def part(first, last):
    """Rotate some dimensions of a head."""
    return lambda x, positions: torch.cat(
        (x[..., :first], rotate_pairs(x[..., first:last], positions), x[..., last:]), dim=-1
    )


def nerf(seq_len, d_model):
    angles = np.linspace(0, 1, seq_len)[:, None] * np.pi * 2.0 ** np.arange(d_model // 2)
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1)


def learned(seq_len, d_model):
    """A learned table of 64 rows, resized."""
    rows = np.random.default_rng(d_model).normal(size=(64, d_model))
    return np.stack([np.interp(np.linspace(0, 63, seq_len), range(64), y) for y in rows.T], axis=1)


class Cached(nn.Module):
    """A rotation with a table of cosines and sines."""

    def __init__(self, d_model=16):
        super().__init__()
        angles = torch.outer(torch.arange(4096.0), torch.from_numpy(rotary_frequencies(d_model)[0]))
        self.register_buffer("turns", torch.stack((angles.cos(), angles.sin())).float())

    def forward(self, x, positions):
        (cos, sin), (a, b) = self.turns[:, positions].to(x.dtype), x.chunk(2, dim=-1)
        return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)


def unsigned(seq_len, d_model):
    return table(seq_len, d_model)


unsigned.__signature__ = 3


def t5(seq_len, bidirectional=True, shift=0):
    offsets = np.arange(seq_len) - np.arange(seq_len)[:, None] - shift
    return t5_buckets(offsets, bidirectional=bidirectional)


def buckets(seq_len, causal=False, shift=0):
    values = np.random.default_rng(0).normal(size=(2, 32))
    return values[:, t5(seq_len, not causal, shift)]


def alibi(heads, seq_len):
    return -alibi_slopes(heads)[:, None, None].numpy() * distance(seq_len)


DECODER = recall.DECODER
ABSOLUTE, UNTURNED = (tiny.Decoder(DECODER.model.weights, name) for name in ("sinusoidal", "none"))


def counted(step, base, first):
    """A table with another first position and another step."""
    return lambda n, d: sinusoidal_encoding((np.arange(n) + first) * step, d, base=base)


turn = recall.turn
ADD, STORE = "x + rows.to(x.dtype)", 'self.register_buffer("pe", table, persistent=False)'
AXIAL = np.kron(np.eye(2), rotary_frequencies(8, base=100)[0])
SHARED = {"widths": [16], "frequencies": rotary_frequencies(16)[0] * (np.arange(8) < 4)}
AXES = {"axes": 2, "widths": [16]}
SHORT = {"length": 300, "longest": 50_000}
NARROW = {"widths": [16]}
OF_T5 = {"expected": "t5", "tags": ["learned"]}
OF_XL = checks.KNOWN["Transformer-XL"].table
RIGHT = [  # kind, subject, part of its reported convention, options
    ("table", made(TABLE), "", {}),
    ("table", in_torch, "", {}),
    ("table", tensor2tensor, "sin, cos; exponent i/(d/2 - 1)", {"longest": 1_000_000}),
    ("table", lambda n, d: table(n, d)[:, None] * np.float32(d**-0.5), "", {}),
    *(("table", encode, "", {"longest": 600, "length": 600}) for encode in hunt.RIGHT.values()),
    *(("table", known.table, f"{known}", {"convention": name})
      for name, known in checks.KNOWN.items() if not name.startswith("rotary")),
    ("table", counted(1 / 3, 12.5, 0), "base 12.5; counted from 0 up in steps of 0.33333", SHORT),
    ("table", counted(0.1234567891, 500_042.25, 1 / 3), "base 50004", SHORT),
    ("table", unsigned, "", {}),
    ("table", lambda n, d, dtype=np.float32: OF_XL(n, d).astype(dtype), "from 0 down", {}),
    *(("table", encode, "another kind: ", {}) for encode in (nerf, learned)),
    ("table", learned, "another kind: a learned table", {"tags": ["learned"]}),
    ("module", made(LAYER), "", {}),
    ("module", made(LAYER, ADD, "(x * x.size(-1) ** 0.5 + rows.to(x.dtype), None)"), "", {}),
    ("module", recall.Refilled, "", {}),
    ("module", SinusoidalPositionalEncoding(32, batch_first=False), "", {}),
    ("module", SinusoidalPositionalEncoding, "(paper)", {"laws": None}),  # compiled, too
    ("rotary", made(ROTARY), "(rotary, halves)", {}),
    ("rotary", in_numpy, "", {}),
    ("rotary", rotate_pairs, "(rotary, halves)", {"laws": None}),
    ("rotary", turn(pairing="neighbors"), "(rotary, neighbors)", {}),
    ("rotary", lambda x, p: rotate_pairs(x, -p / 4), "turned backwards in steps of 0.25", {}),
    ("rotary", last_part, "", {}),
    ("rotary", turn(frequencies=AXIAL), "", AXES),
    ("rotary", turn(frequencies=AXIAL), "", AXES | {"frequencies": AXIAL}),
    ("rotary", recall.part("proportional", "neighbors"), "", SHARED),
    *(("rotary", recall.part(extent, layout, share),
       f"{layout}; exponent i/(d/2); base 10000; turned forwards; {extent}, {share} of the width",
       {"widths": [16, 32]})
      for extent, layout, share in product(EXTENTS[1:], ROTARY_LAYOUTS, (0.25, 0.75))),
    ("rotary", permuted, "rotary, neighbors", {}),
    *(("rotary", rotate, "rotary, halves", {}) for rotate in (to_neighbors, Cached)),
    ("rotary", normed, "rotary, halves", {}),
    ("rotary", part(0, 8), "partial, 0.5 of the width", NARROW),
    ("rotary", Cached(), "rotary, halves", NARROW),
    ("bias", lambda n: torch.from_numpy(alibi(8, n)), "", {}),
    ("bias", lambda n: -0.5 * np.minimum(distance(n), 8), "", {}),
    ("bias", lambda n: np.subtract.outer(-np.arange(n), -np.arange(n)), "", {"causal": True}),
    *(("bias", partial(alibi, n), "", {"expected": "alibi"}) for n in (8, 12)),
    ("bias", partial(alibi, 8), "", {"expected": partial(alibi, 8)}),
    *(("bias", partial(buckets, causal=c), "", OF_T5 | {"causal": c}) for c in (False, True)),
]  # fmt: skip


# Wrong


class Wrong(NamedTuple):
    """A wrong function, and the laws that it is about; `verdicts.txt` has all that it fails."""

    kind: str
    laws: str
    subject: Any
    options: dict = {}  # noqa: RUF012 - read-only


def changed(kind, text, rows):
    """Mutants of a correct program, by rows of laws, old text and new text."""
    for laws, old, new in rows:
        yield Wrong(kind, laws, made(text, old, new), {"base": 10_000})


ANGLES, RETURN, ODD = "position * omega", "return table", 'raise ValueError("odd")'
PLACES, HALVES = "positions.double()", "x.chunk(2, dim=-1)"
LEAF = "torch.zeros((), requires_grad=True)"  # another leaf that gradients reach
TABLES = changed("table", TABLE, [
    ("shape …", "_model), dtype)", "_model), np.int32)"),
    ("shape …", RETURN, "return np.tile(table, 2)"),
    ("norm shift offset frequencies", RETURN, "table[100:101] = 0; return table"),
    ("norm", RETURN, "return table / d_model"),
    ("shift offset unique float32", RETURN, "return table[np.arange(seq_len) // 2]"),
    ("identity start steps float32 empty", ANGLES, "position * omega + 0.1"),
    ("frequencies", "(-np.arange(0", "(-np.arange(1"),
    ("frequencies", ANGLES, "position + omega"),
    ("frequencies unique", ANGLES, "0 * position * omega"),
    ("shape …", RETURN, "return table[:, :-1]"),
    ("empty", RETURN, "return np.repeat(table, 1 + (seq_len == 1), 0)"),
    ("float32", "omega = ", "omega = (1 + 1e-6) * "),
    ("half", RETURN, "return np.tile(table, 1 + (dtype != np.float32))"),
    ("odd", ODD, "return np.zeros((seq_len, d_model))"),
    ("half repeat", "np.zeros((seq_len, d_model), dtype)", "memory[: seq_len * d_model].reshape("
     "seq_len, d_model)"),
])  # fmt: skip
LAYERS = changed("module", LAYER, [
    ("shape …", "x.size(1)", "x.size(0)"),
    ("norm frequencies unique", ADD, "x"),
    ("norm steps batch token rows far half reduced", ADD, "x + rows / x.size(0)"),
    ("frequencies unique start steps batch …", "[: x.size(1)]", "[: x.size(0), None]"),
    ("unique far float32", "persistent=False)", "persistent=False); table[300:] = 0"),
    ("steps token reduced strided repeat gradient", ADD, "x.add_(rows)"),
    ("masked", ADD, "x + rows + x.sum() * 0"),
    ("far", "self.pe[positions]", "self.pe[positions] + 0 / (positions < 1000)[..., None]"),
    ("half device", ADD, "(x + rows).float()"),
    ("strided", ADD, "x.view(-1, x.size(-1)).view(x.shape) + rows.to(x.dtype)"),
    ("odd", ODD, "self.forward = lambda x: x"),
    ("gradient", ADD, f"x.detach() + rows.to(x.dtype) + {LEAF}"),
    ("gradient", STORE, "self.pe = nn.Parameter(table)"),
    ("state", STORE, f"{STORE}; self.register_load_state_dict_post_hook("
     "lambda module, _: setattr(module, 'pe', -module.pe))"),
    ("meta device", STORE, "self.pe = table"),
    ("empty", ADD, f"{ADD} if len(x) else x[:, :0]"),
    ("device", ADD, f"{ADD} if not x.is_meta else torch.zeros(x.shape)"),
    ("repeat …", ADD, f"torch.from_numpy(memory)[: x.numel()].view(x.shape).copy_({ADD})"),
    ("compile", ADD, "(x + rows.to(x.dtype), print(end=''))[0]"),
])  # fmt: skip
ROTATIONS = changed("rotary", ROTARY, [
    ("shape …", "second * cos), dim=-1)", "second * cos), dim=-2)"),
    ("shift offset unique float32 half", PLACES, "(positions // 2).double()"),
    ("norm half", "angles.cos().to(x.dtype)", "angles.to(x.dtype).cos()"),
    ("start steps …", PLACES, "kept.setdefault(len(positions), positions).double()"),
    ("start strided", "cos), dim=-1)", "cos), dim=-1)[..., : 3 if x.shape[-2] == 4 else None, :]"),
    ("masked …", HALVES, "(x + 0 * x.sum()).chunk(2, dim=-1)"),
    ("gradient", HALVES, f"(x.detach() + {LEAF}).chunk(2, dim=-1)"),
    ("repeat …", HALVES, "x.mul_(1.0).add_(1e-9).chunk(2, dim=-1)"),
    ("half repeat …", "cos), dim=-1)", "cos), dim=-1, out=kept.setdefault(x.shape, 0 * x))"),
    ("odd", ODD, "x = x[..., :-1]; d -= 1"),
    ("empty", "return torch", "return x[:1] if not x.numel() else torch"),
    ("compile", PLACES, "(positions, print(end=''))[0].double()"),
])  # fmt: skip


def early(seq_len, d_model, dtype=torch.float32):
    """Cast positions before the sine."""
    where = torch.arange(seq_len).to(dtype).double().numpy()
    return torch.from_numpy(sinusoidal_encoding(where, d_model)).to(dtype)


def at(place):
    """Steps that begin at `place(n, more)`, given the counts of cached and of new tokens."""

    def step(tokens, cache):
        begin = place(recall.count(cache), tokens.shape[1])
        return DECODER.step(tokens, cache, recall.counted(tokens, begin))

    return recall.pair(step=step)


def sticky():
    read = []

    def step(tokens, cache):
        read.append(tokens.shape[1])
        return ABSOLUTE.step(tokens, cache, recall.counted(tokens, sum(read[:-1])))

    return recall.pair(ABSOLUTE.full, step)


def whole(full):
    return {"full": full, "step": None}


plain = whole(lambda tokens: DECODER.full(tokens))
FAULTS = [Wrong("decoder", *fault) for fault in [
    ("steps chunks", at(lambda n, _: n + (n > 0))),
    ("steps", at(lambda n, _: n % 16)),
    ("steps chunks ragged", recall.pair(plain["full"], UNTURNED.step)),
    ("steps chunks", recall.pair(step=lambda t, cache: (ABSOLUTE if cache else DECODER).step(
        t, cache))),
    ("chunks", at(lambda n, more: n * (more == 1))),
    ("padded", whole(lambda t, positions=None, mask=None: DECODER.full(t, positions))),
    ("moved", recall.pair(ABSOLUTE.full, ABSOLUTE.step)),
    ("steps chunks repeat", sticky(), {"relative": False}),
    ("causal", whole(lambda t: DECODER.full(t) + 0.1 * t[:, -1:, None])),
    ("batch causal", whole(lambda t: np.repeat(DECODER.full(t[:1]), len(t), 0))),
    ("order", whole(lambda t: 0 * DECODER.full(t) + np.arange(16.0))),
    ("shape …", whole(lambda t: DECODER.full(np.pad(t, [(0, 0), (1, 0)])))),
]]  # fmt: skip


def spoiled(wrong):
    """A rotation that is wrong for some shapes."""

    def rotate(x, positions):
        turned = rotate_pairs(x, positions)
        return torch.cat((turned[..., :1, :], x[..., 1:, :]), dim=-2) if wrong(x) else turned

    return rotate


def mixed_the_other_way(x, positions):
    """Turn neighbors by the angles of halves."""
    angles = (positions[:, None] * torch.from_numpy(rotary_frequencies(x.shape[-1])[0])).repeat(
        1, 2
    )
    half = torch.stack((-x[..., 1::2], x[..., 0::2]), dim=-1).flatten(-2)
    return x * angles.cos().to(x.dtype) + half * angles.sin().to(x.dtype)


def slipped(seq_len, d_model):
    angles = np.arange(seq_len)[:, None] * 10_000.0 ** -(np.arange(d_model) // 2 / 8)
    return np.where(np.arange(d_model) % 2, np.cos(angles), np.sin(angles))


OF_YARN = recall.yarn_options()
OTHER = OF_YARN | {"frequencies": OF_YARN["frequencies"] * 1.01}
NO_BASE = turn(frequencies=AXIAL * np.array([1, 2.5, 1, 1, 1, 1, 1, 1]))
HALF = {"convention": Convention("halves", extent="partial", share=0.5)} | NARROW
UNSCALED = {"frequencies": rotary_frequencies(16)[0]} | NARROW
FAULTY = [  # the cause of each is in the record
    ("identity", lambda x, p: rotate_pairs(x, p + 1)),
    ("steps", lambda x, p: rotate_pairs(x, p + (x.shape[-2] == 1))),
    ("far", lambda x, p: rotate_pairs(x, p % 2048)),
    ("far", lambda x, p: rotate_pairs(x, p.clamp(max=2047))),
    ("convention", permuted, {"convention": "rotary, neighbors"}),
    ("start", lambda x, p: rotate_pairs(
        x, p, base=10_000.0 * max(x.shape[-2] / 8 - 7, 1) ** 1.1)),
    ("norm", recall.yarn(power=0), OF_YARN),
    ("norm", recall.yarn(), NARROW),
    ("frequencies", recall.yarn(base=10_000.0), OF_YARN),
    ("norm", recall.mixed_up),
    ("norm", mixed_the_other_way),
    ("frequencies", recall.turn(base=500_000.0), UNSCALED),
    ("odd", lambda x, p: 2 * x if x.shape[-1] % 2 else rotate_pairs(x, p)),
    ("convention", part(8, 16), HALF),
    ("batch", spoiled(lambda x: x.ndim > 2 and len(x) > 3)),
    ("batch", spoiled(lambda x: x.ndim == 4 and x.shape[1] > 7)),
    ("batch", spoiled(lambda x: x.ndim == 4 and x.shape[2] % 2)),
]  # fmt: skip
BIASED = [
    ("values", lambda n: -(2.0 ** -np.arange(1, 13))[:, None, None] * distance(n),
     {"expected": "alibi"}),
    ("values", partial(alibi, 8), {"expected": partial(alibi, 12)}),
    *(("values", partial(buckets, causal=c, shift=1), OF_T5 | {"causal": c})
      for c in (False, True)),
    ("values", lambda n: np.maximum(t5(n), 1), {"expected": "t5"}),
    ("offset", lambda n: -distance(n) - 1e-4 * (np.arange(n) % 2)),  # by 20 times the bound
]  # fmt: skip
WRONG = [
    *TABLES, *LAYERS, *ROTATIONS, *FAULTS,
    *(Wrong("table", f"{bug.law} …", hunt.BUGS[name])
      for name, bug in checks.MUSEUM.items() if name in hunt.BUGS),
    Wrong("table", "convention", table, {"convention": "Marian"}),
    Wrong("table", "frequencies", table, {"base": 10_010}),
    Wrong("table", "norm …", lambda n, d: -(table(n, d) ** 2),
          {"convention": "paper"}),
    Wrong("table", "half", early),
    Wrong("table", "shape …", dict),
    Wrong("rotary", "cast meta", recall.Rotary(refill=False),
          {"widths": [16]}),
    Wrong("rotary", "steps token far empty", lambda x, p: rotate_pairs(
        x, p, pairing="halves" if x.shape[-2] == 1 else "neighbors")),
    # slightly wrong: bounds that are too loose would let them pass
    Wrong("rotary", "norm shift identity frequencies …", lambda x, p:
          turn(pairing="neighbors")(x, p)
          + 1e-5 * torch.sin(17.0 * p[..., None] + torch.arange(x.shape[-1]))),
    Wrong("rotary", "norm shift offset identity frequencies start steps batch …", lambda x, p:
          rotate_pairs(x, p) + 1e-4 * torch.arange(len(x)).reshape(-1, *[1] * (x.ndim - 1))),
    Wrong("module", "adds gradient", made(LAYER, ADD, f"{ADD} + 1e-3 * x * x")),
    Wrong("table", "norm offset …", lambda n, d: table(n, d)
          + 1e-5 * np.sin(17 * np.arange(n)[:, None] + np.arange(d)).astype("f4")),
    Wrong("rotary", "norm …", recall.yarn(power=2), OF_YARN),
    Wrong("rotary", "frequencies float32 half", recall.yarn(), OTHER),
    Wrong("rotary", "frequencies …", turn(),
          {"widths": [16], "frequencies": [1.0, 0.5]}),
    Wrong("rotary", "device", lambda x, p: torch.zeros(x.shape) if x.is_meta
          else rotate_pairs(x, p)),
    Wrong("rotary", "shape …", lambda x, p: x.flatten()),
    Wrong("rotary", "axes", turn(frequencies=AXIAL), AXES | {"frequencies": AXIAL[::-1]}),
    Wrong("rotary", "axes", turn(frequencies=AXIAL), AXES | {"axes": [0, 1]}),
    Wrong("rotary", "axes", lambda x, p: rotate_pairs(x, p[..., 0]), AXES),
    Wrong("rotary", "axes", lambda x, p: rotate_pairs(x, p.amax(-1)), AXES),
    Wrong("rotary", "frequencies …", lambda x, p: x.clone(), AXES),
    Wrong("bias", "shape …", lambda n: -distance(n)[1:]),
    Wrong("bias", "offset penalty", lambda n: -np.sqrt(np.outer(np.arange(n), np.arange(n))) / 9),
    Wrong("bias", "start", lambda n: -distance(n) / n),
    Wrong("bias", "mirror penalty", lambda n: np.subtract.outer(*2 * [np.arange(n)]) * -0.25),
    Wrong("bias", "penalty", lambda n: -0.0 * distance(n)),
    Wrong("bias", "values", lambda n: -0.5 * distance(n), {"expected": distance}),
    Wrong("rotary", "frequencies", NO_BASE, AXES),
    *(Wrong("rotary", *fault) for fault in FAULTY), *(Wrong("bias", *fault) for fault in BIASED),
    Wrong("table", "frequencies", slipped), Wrong("table", "norm …", learned, {"base": 10_000}),
]  # fmt: skip

# Notes on laws that pass or don't apply


class ReadsNumbers(recall.Added):
    def __init__(self, d_model=16):
        super().__init__(d_model)
        assert self.pe.sum().item() > 0


class Still(nn.Module):
    def forward(self, x, positions):
        return x.clone()


UNFILLED = recall.Rotary()
UNFILLED.reset_parameters = None
NOTED = [
    ("table", "half", lambda n, d: in_torch(n, d).bfloat16(), "is in half precision", {}),
    ("table", "float32", lambda n, d: table(min(n, 40), d), "of 32", {}),
    ("table", "start", checks.KNOWN["DETR, one axis"].table, "the rows share one turn", {}),
    ("module", "odd", made(LAYER, STORE, f"{STORE}; self.d_model = d_model")(16), "one width", {}),
    ("module", "rows", made(LAYER, ADD, f"({ADD})[:2]"), "takes no positions of shape", {}),
    ("module", "far", made(LAYER)(16, 260), "far positions are refused", {}),
    ("module", "meta", ReadsNumbers, "can't be created on meta: ", {}),
    ("rotary", "meta", UNFILLED, "reinitializes its", {"laws": ["meta", "norm"], "widths": [16]}),
    ("rotary", "gradient", in_numpy, "numpy arrays", {}),
    ("rotary", "frequencies", recall.part("partial"), "2 pairs turn; a base takes at least 3",
     {"widths": [8]}),
    ("rotary", "frequencies", turn(frequencies=AXIAL[:, ::4]), "turns 1 pairs", {"axes": 2}),
    ("rotary", "float32", recall.part("partial"), "no convention to compare with",
     {"frequencies": 1 / (1 + np.arange(8.0))}),
    ("rotary", "cast", Still(), "no pairs to read", {}),
    ("bias", "values", lambda n: 0.0 * distance(n), "most buckets", {"expected": "t5"}),
    ("decoder", "shape", whole(lambda t: torch.from_numpy(DECODER.full(t.numpy()))), "torch, ", {}),
    ("decoder", "padded", plain, "no argument for mask", {}),
]  # fmt: skip
