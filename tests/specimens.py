"""Encodings that are right, and wrong ones with what a report says of them.

Known faults are tried in `test_checks`; public bugs are in `recall`, and others, with right
decoders, in chapters 14 and 19.
"""

from functools import partial

import numpy as np
import recall
import torch
from recall import DECODER, Pair, counted, part, turn
from torch import nn

import posenc
from posenc import (
    alibi_bias,
    checks,
    sinusoidal_encoding,
    t5_buckets,
)
from posenc.book import tiny
from posenc.nn import SinusoidalPositionalEncoding, rotate_pairs

SPECIMENS = []  # of `add`
WITHOUT_POSITIONS = ["shape", "repeat", "values", "batch", "masked", "gradient"]


def add(kind, says, subject, **options):
    """Add a subject, with options of its check.

    `says` has the law that it breaks, and words of the report's note or cause; or "right", and
    words for the reader.
    """
    SPECIMENS.append((kind, says, subject, options))


def add_all(kind, subjects, **options):
    """Add subjects by what is said of them."""
    for says, subject in subjects.items():
        add(kind, says, subject, **options)


# Tables


def table(seq_len, d_model):
    return sinusoidal_encoding(seq_len, d_model)


def in_torch(seq_len, d_model):
    """Return a table whose odd width ends in a column of zeros."""
    rows = torch.tensor(table(seq_len, d_model // 2 * 2))
    return nn.functional.pad(rows, (0, d_model % 2))


def learned(seq_len, d_model):
    return np.random.default_rng(d_model).normal(size=(5000, d_model))[:seq_len]


def tensor2tensor(n, d):
    """With a reciprocal: the order of operations with the most rounding."""
    logarithms = torch.linspace(0, 1, d // 2) * torch.tensor(10_000.0).log()
    angles = torch.arange(n)[:, None] * (1 / logarithms.exp())
    rows = torch.cat([angles.sin(), angles.cos()], dim=1)
    return nn.functional.pad(rows, (0, d % 2))[None]


LENGTHS = [2048]


def growing(n, d):
    """A long call leaves its base behind, as dynamic scaling may."""
    LENGTHS.append(n)
    return sinusoidal_encoding(n, d, base=10_000.0 * max(LENGTHS) / 2048)


def without_one_pair(n, d):
    """Divide by the number of pairs less one."""
    return table(n, d) if d > 2 else np.full((n, d), np.nan)


def padded(n, d):
    """Have a row of zeros, for padding, as fairseq's tables do."""
    return table(n, d) * (np.arange(n) != 1)[:, None]


for name, known in checks.KNOWN.items():
    if not known.rotary:
        add("table", f"right: {name}", known.table, convention=name)
add_all(
    "table",
    {
        "right: learned": learned,
        "right: tensor2tensor": tensor2tensor,
        "right: DETR, with the small number that its code has": lambda n, d: (
            checks.Convention(first=1, step=2 * np.pi / (n + 1e-6)).table(n, d)
        ),
        "right: of forty rows": lambda n, d: table(min(n, 40), d),
        "right: in half precision": lambda n, d: in_torch(n, d).bfloat16(),
        "repeat: depends on earlier calls": growing,
        "values: learned=True": lambda n, d: table(n, d) ** 3,
        "values: dimension 1 is 0 +sin0 for 0 +cos0": lambda n, d: np.repeat(
            table(n, d)[:, ::2], 2, axis=1
        ),
        "values: widths=[24]": lambda n, d: table(n, d) * (1 + (d == 24)),
        "values: all are 0.125 times right, 1/8, as": checks.Convention(
            step=1 / 8
        ).table,
        "values: next row": lambda n, d: np.roll(table(n, d), -1, axis=0),
        "unique: only 100": lambda n, d: learned(100, d)[np.arange(n) % 100],
        "odd: exhibit 6": lambda n, d: table(n, d - d % 2),
        "shape: not finite at width 2": without_one_pair,
        "far: not finite, [3000, 0] of": lambda n, d: np.where(
            np.arange(n)[:, None] < 3000, table(n, d), np.nan
        ),
    },
)
add("table", "right: of one width", without_one_pair, widths=[16, 32])
add("table", "values: pass `lambda n, d: encode(n + 2, d)[..., 2:, :]`, with", padded)
add("table", "right: behind padding", lambda n, d: padded(n + 2, d)[..., 2:, :])
add("table", "values: minus sign", checks.Convention(base=1e-4, first=2).table)
add_all(
    "table",
    {
        # Frequencies are seen but for whole turns.
        "values: no known fault": checks.Convention(
            "sin, cos", "d/2 - 1", base=1 / 500_000
        ).table,
        "values: slipped parenthesis": lambda n, d: checks.Convention(
            "sin, cos", base=np.exp(d)
        ).table(n, d),
    },
    convention="tensor2tensor",
)
add("table", "right: of width two", table, widths=2)
add(
    "table",
    "values: all are 1.0000006 times right",
    lambda n, d: sinusoidal_encoding(np.arange(n) * (1 + 6e-7), d),
    convention="paper",
)


# Layers


class Layer(recall.Added):
    """A right layer of 600 rows, unless it adds otherwise."""

    def __init__(self, d_model=16, add=torch.add):
        super().__init__(d_model)
        self.add = add

    def forward(self, x, positions=None):
        rows = self.pe[: x.shape[1]] if positions is None else self.pe[positions]
        return self.add(x, rows.to(x.dtype))


class Trained(Layer):
    def __init__(self, d_model=16):
        super().__init__(d_model)
        self.pe = nn.Parameter(self.pe)


class PositionsRequired(Layer):
    def forward(self, x, position_ids):
        return super().forward(x, position_ids)


class Emptied(Layer):
    def reset_parameters(self):
        self.pe.zero_()


FIRST = SinusoidalPositionalEncoding(16, batch_first=False)


add_all(
    "module",
    {
        "right: of the package": SinusoidalPositionalEncoding,
        "right: sequence first": FIRST,
        "right: positions required": PositionsRequired(),
        "trained: exhibit 7": Trained,
        "state: reset_parameters": Emptied,
    },
)
add("module", "values: batch for sequence", FIRST, batch_first=True)
ADDING = {
    "right: times root": lambda x, rows: (x * x.size(-1) ** 0.5 + rows, None),
    "shape: it returns its rows alone": lambda x, rows: rows[None],
    "repeat: it is overwritten": lambda x, rows: x.add_(rows),
    "masked: rows beside NaN": lambda x, rows: x + rows + 0 * x.sum(),
    "gradient: the graph is cut": lambda x, rows: x.detach() + rows,
}
for says, function in ADDING.items():
    add("module", says, partial(Layer, add=function))


# Rotations


def permuted(x, p):
    """Take neighbors, and return halves, as DeepSeek-V3 does."""
    return rotate_pairs(x.unflatten(-1, (-1, 2)).mT.flatten(-2), p)


def permuted_at_the_end(x, p):
    """Turn the last dimensions, as latent attention does."""
    rest, turned = x.chunk(2, dim=-1)
    return torch.cat([rest, permuted(turned, p)], dim=-1)


def both(q, k):
    """Count by itself, and turn keys, too."""
    return rotate_pairs(q), rotate_pairs(k)


add_all(
    "rotary",
    {
        "right: in numpy": posenc.rotate_pairs,
        "right: in torch": rotate_pairs,
        "right: permuted": permuted,
        "right: permuted at the end": permuted_at_the_end,
        "right: backwards": lambda x, p: rotate_pairs(x, -p),
        "right: by name": lambda x, *, positions: rotate_pairs(x, positions),
        "right: cut off": lambda x, p: rotate_pairs(x, p.floor()),
        "shape: lambda x, positions: rotate(x, -x)[0]": both,
        "values: attention_factor=1.5": turn(attention_factor=1.5),
        "batch: fail have other positions: 0 is taken": lambda x, p: rotate_pairs(
            x, p * (x.ndim < 4 or x.shape[1] < 8)
        ),
        "values: with 1.172 times the exponent, or NTK-aware scaling by 4": lambda x, p: (
            rotate_pairs(x, p, base=10_000 * 4 ** (x.shape[-1] / (x.shape[-1] - 2)))
        ),
        "far: fail have other positions: 0 is taken": lambda x, p: rotate_pairs(
            x,
            p if x.ndim < 4 or len(p) > 1 else p * (torch.arange(len(x))[:, None] < 1),
        ),
        "steps: fail have mixed layouts": lambda x, p: rotate_pairs(
            x, p, pairing="neighbors" if x.shape[-2] == 1 else "halves"
        ),
    },
)
for extent in ("partial", "proportional"):
    for pairing in ("halves", "neighbors"):
        add("rotary", f"right: {extent}, {pairing}", part(extent, pairing, 0.25))
add("rotary", "right: factor", turn(attention_factor=100.0), attention_factor=100.0)
add(
    "rotary",
    "values: halves); the whole head turns",
    rotate_pairs,
    convention=checks.Convention("halves", extent="proportional", share=0.25),
)
SCALED = recall.OMEGA / np.linspace(1, 8, 8)
add(
    "rotary",
    "values: the rule scales them twice (attention_factor=1, widths=[16])",
    lambda x, p: rotate_pairs(x, p, frequencies=SCALED**2 / recall.OMEGA),
    frequencies=SCALED,
)
add("rotary", "right: compiled, moved", rotate_pairs, laws=["compile", "device"])
add("rotary", "right: both", lambda x, p: both(x, -x)[0], laws=WITHOUT_POSITIONS)
WITH_THEIR_LAW = {
    "half: float64 for float16": lambda x, p: posenc.rotate_pairs(x.astype(float), p),
    "fractions: position 0.5": lambda x, p: rotate_pairs(x, p.round()),
    "device: a tensor stays behind": lambda x, p: torch.zeros(x.shape),
    "compile: your code raises": lambda x, p: print(end="") or rotate_pairs(x, p),
}
for says, subject in WITH_THEIR_LAW.items():
    add("rotary", says, subject, laws=[says.partition(":")[0]])
add("rotary", "right: of its buffer's width", recall.Rotary(), laws=["far"])


# Biases


def offsets(seq_len):
    return np.arange(seq_len) - np.arange(seq_len)[:, None]


LEARNED = np.random.default_rng(0).normal(size=(2, 32))


def buckets(seq_len):
    """Return a learned bias, as T5's."""
    return LEARNED[:, t5_buckets(offsets(seq_len))]


def last_row(seq_len):
    """One row for all queries, (1, heads, 1, seq_len), as MPT has it."""
    return alibi_bias(12, seq_len)[None, :, -1:]


def in_a_window(rows):
    """Return the index of an offset in a window, which grows with it: that of a column of it."""
    return offsets(rows) * 5 + 5 * rows


add(
    "bias",
    "right: in a window",
    in_a_window,
    expected=None,
    laws=["shape", "values", "offset"],
)
add_all(
    "bias",
    {
        "right: ALiBi": partial(alibi_bias, 12),
        "shape: pass causal=True": last_row,
        "right: of forty rows": lambda n: alibi_bias(4, 40)[:, :n, :n],
        "shape: not finite": lambda n: np.where(offsets(n), 0.0, np.nan),
        "shape: (2, 4, 24, 24)": lambda n: np.stack([alibi_bias(4, n)] * 2),
        "values: shape (8, 300, 300) for (2, 300, 300)": (
            lambda n: alibi_bias(2 if n < 99 else 8, n)
        ),
        "values: it is -1 times": lambda n: -alibi_bias(4, n),
        "values: a constant is added to each row": lambda n: alibi_bias(1, n) - 2**-8,
        "values: only the key counts; if a mask": lambda n: 0.0 * offsets(n) + range(n),
        "values: slopes are [0.62996052 0.39685026": lambda n: (
            2.0 ** (-2 / 3 * np.arange(1, 13)[:, None, None]) * -abs(offsets(n))
        ),
        "values: later keys' sign": lambda n: 0.25 * offsets(n),
        "values: heads have the values of the right heads [0, 1, 2, 3, 0, 1, 2, 3]": (
            lambda n: np.tile(alibi_bias(8, n)[:4], (2, 1, 1))
        ),
        "values: where key - query is [ 0  1 -1  2 -2  3], it is what it is compared with where "
        "that is [1 2 0 3 1 4]": lambda n: -abs(offsets(n) + 1) / 256,
    },
)
add("bias", "right: one row", last_row, causal=True)
add_all(
    "bias",
    {
        "right: T5": buckets,
        "values: where key - query is [ 1 -1  2 -2  3 -3], it is what it is compared "
        "with where that is [-1  1 -2  2 -3  3]": lambda n: buckets(n).swapaxes(1, 2),
    },
    expected=buckets,
)
add_all(
    "bias",
    {
        "start: times what it is compared with; mind sign and scale; if a mask": lambda n: (
            -abs(offsets(n)) / n
        ),
        "start: pass laws=['shape', 'values', 'offset']": in_a_window,
        "offset: shifted by one": lambda n: -np.sqrt(np.outer(range(n), range(n))),
    },
    expected=None,
)


# Builders of position ids


def words(mask):
    return mask.long().cumsum(-1) - 1


def as_roberta(mask):
    return 2 * mask + words(mask)


def grid(sizes):
    return np.indices(tuple(sizes.tolist())).reshape(3, -1)


add_all(
    "positions",
    {
        "right: words": words,
        "values: it gives [0 0 2 3 4] for [0 0 0 1 2]": as_roberta,
        "values: shape (5, 2) for (2, 5)": lambda mask: words(mask).T,
    },
    expected="left padding",
)
add(
    "positions",
    "right: as RoBERTa",
    as_roberta,
    expected="left padding",
    right=as_roberta,
)
add(
    "positions",
    "values: [3 4 5 5 5] more than right, and [0 0 0 0 0] more than their number",
    lambda segments: np.indices(segments.shape)[1],
    expected="packing",
)
add_all(
    "positions",
    {
        "right: grid": grid,
        "values: axis 1, patch 1: 1 for 0; it gives [0 1 2 0 1 2]": (
            lambda sizes: grid(sizes[[0, 2, 1]])[[0, 2, 1]]
        ),
    },
    expected="images",
)


# Decoders

full = DECODER.full


def counting_up(place):
    """Begin steps at `place(n, more)`, given the counts of cached and of new tokens."""

    def step(tokens, cache):
        held = cache.positions.shape[1] if cache else 0
        begin = place(held, tokens.shape[1])
        return DECODER.step(tokens, cache, counted(tokens, begin))

    return Pair(full, step)


def spoiled(tokens, mask=None):
    """Score padding as NaN, as a softmax over nothing does."""
    scores = full(tokens, mask=mask)
    return scores if mask is None else np.where(mask[..., None], scores, np.nan)


ABSOLUTE = tiny.Decoder(DECODER.weights, rotary=False)
OFF_BY_ONE = counting_up(lambda n, more: n + (n > 0))
# Whole, its words look ahead; in steps they can't.
AHEAD = Pair(lambda t: full(t) + 0.1 * t[:, -1:, None], DECODER.step)
DROPOUT = np.random.default_rng(0)

READERS = {  # functions `full`
    "right: NaN at padding": spoiled,
    "right: in torch": lambda t: torch.tensor(full(t.numpy())),
    "shape: all tokens get the same": lambda t: 0 * full(t) + range(tiny.VOCABULARY),
    "repeat: call `eval()`": lambda t: full(t) * DROPOUT.integers(0, 2, (*t.shape, 1)),
    "batch: text 1, token": lambda t: np.repeat(full(t[:1]), len(t), axis=0),
    # Slightly more than allowed
    "batch: no known fault": lambda t: full(t) + 0.0003 * len(t),
    "padded: padding seen": lambda t, positions=None, mask=None: full(t, positions),
    "padded: positions ignored": lambda t, positions=None, mask=None: ABSOLUTE.full(
        t, mask=mask
    ),
}
add_all("decoder", {says: Pair(reader) for says, reader in READERS.items()})
add_all(
    "decoder",
    {
        "right: absolute": ABSOLUTE,
        "causal: later words are seen": AHEAD,
        "steps: tried if `full` has an argument `positions`": AHEAD,
        "steps: calls begin 1 late": OFF_BY_ONE,
        "chunks: calls begin 3 early": counting_up(lambda n, more: n and n - 3),
        "steps: the new cache": Pair(full, lambda t, cache: full(t)),
        "chunks: calls begin at twice as many": counting_up(lambda n, more: 2 * n),
        "chunks: calls begin so that they end with the text": counting_up(
            lambda n, more: 24 - more if more > 1 else n
        ),
    },
)
