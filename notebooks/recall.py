"""Twenty bugs reported publicly in 2025 and 2026, for `19_check_your_own`.

Each is a short function, layer or decoder that fails in the same way, beside a
right one. No code is copied; the report is an address on GitHub.
"""

from collections import namedtuple
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from posenc import checks, rotary_frequencies
from posenc.book import tiny
from posenc.nn import rotate_pairs
from torch import nn

OMEGA = rotary_frequencies(16)[0]
YARN = {"rope_type": "yarn", "factor": 16.0, "rope_theta": 1_000_000.0}
YARN |= {"original_max_position_embeddings": 4096}
CONFIG = {"rope_parameters": {"rope_theta": 500_000.0}}
DECODER = tiny.Decoder(tiny.initial_weights(0))
Pair = namedtuple("Pair", "full step", defaults=(None,))  # of a decoder

# What right and wrong functions are made of


def turn(**options):
    """Return `rotate_pairs` with some options."""
    return lambda x, positions: rotate_pairs(x, positions, **options)


def yarn(base=1_000_000.0, power=1):
    """Scale with YaRN: the ramp of `base`, the attention factor to a power."""
    ramp, factor = rotary_frequencies(16, scaling=YARN | {"rope_theta": base})
    share = ramp / rotary_frequencies(16, base=base)[0]
    omega = rotary_frequencies(16, base=1_000_000.0)[0] * share
    return turn(frequencies=omega, attention_factor=factor**power)


def part(extent, layout="halves", share=0.5):
    """Turn a share of each head, "partial" or "proportional"."""
    kind = "proportional" if extent == "proportional" else "default"
    scaling = {"rope_type": kind, "partial_rotary_factor": share}

    def rotate(x, positions):
        omega = rotary_frequencies(x.shape[-1], scaling=scaling)[0]
        return rotate_pairs(x, positions, frequencies=omega, pairing=layout)

    return rotate


def by_axis(owner):
    """Return the frequencies of pairs that each turn by one coordinate."""
    frequencies = np.zeros((3, 8))
    frequencies[owner, np.arange(8)] = OMEGA
    return frequencies


def counted(tokens, begin):
    """Return positions for tokens, starting at `begin`."""
    return np.broadcast_to(begin + np.arange(tokens.shape[1]), tokens.shape)


# The bugs that take more than a line


def mixed_up(x, positions):
    angles = positions[:, None] * torch.tensor(OMEGA)
    angles = angles.repeat_interleave(2, dim=-1)
    first, second = x.chunk(2, dim=-1)
    turned = torch.cat((-second, first), dim=-1)
    return x * angles.cos().to(x.dtype) + turned * angles.sin().to(x.dtype)


def first_row_alone(x, positions):
    turned = rotate_pairs(x, positions)
    if x.ndim > 2 and x.shape[-2] == 1 and x.shape[0] > 1:
        turned = torch.cat((turned[:1], torch.zeros_like(turned[1:])))
    return turned


def by_product(x, positions):
    omega = torch.tensor(OMEGA).float().to(x.device)
    angles = positions.float()[:, None] @ omega[None]
    pairs = torch.view_as_complex(x.float().unflatten(-1, (-1, 2)))
    turned = pairs * torch.polar(torch.ones(()), angles.float())
    return torch.view_as_real(turned).flatten(-2).to(x.dtype)


class Added(nn.Module):
    def __init__(self, d_model=16):
        super().__init__()
        self.d_model = d_model
        self.fill()

    def fill(self):
        rows = torch.tensor(checks.KNOWN["paper"].table(600, self.d_model))
        self.register_buffer("pe", rows.float(), persistent=False)

    def forward(self, x):
        return x + self.pe[: x.shape[1]].to(x.dtype)


class Refilled(Added):
    reset_parameters = Added.fill


class Rotary(nn.Module):
    def __init__(self):
        super().__init__()
        self.reset_parameters()

    def reset_parameters(self):
        omega = torch.tensor(OMEGA).float()
        self.register_buffer("omega", omega, persistent=False)

    def forward(self, x, positions):
        return rotate_pairs(x, positions, frequencies=self.omega.float())


class Recomputed(Rotary):
    def forward(self, x, positions):
        self.reset_parameters()
        return super().forward(x, positions)


def one_offset(tokens, cache, positions=None, mask=None):
    if cache:
        positions = counted(tokens, cache.positions.shape[1])
    return DECODER.step(tokens, cache, positions, mask)


class Bug(NamedTuple):
    """A bug, and the subjects that have it and don't."""

    says: str  # what goes wrong
    report: str  # its path on GitHub
    law: str  # what catches it, or ""
    cause: str  # what a check says of it, or "" if no known fault does the same
    wrong: Any
    right: Any = rotate_pairs
    options: dict[str, Any] = {}  # noqa: RUF012 - read-only, of the check
    kind: str = "rotary"

    @property
    def address(self):
        return f"https://github.com/{self.report}"

    def failed(self, subject):
        """Check what is wrong, or right, with this law, or with all."""
        options = {"laws": [self.law] if self.law else None} | self.options
        if self.kind != "decoder":
            options |= {"longest": 5000}
        report = check(subject, self.kind, **options)
        return [row for row in report if row.status == "failed"]


def check(subject, kind, **options):
    """Check anything; a decoder is a pair."""
    if kind == "decoder":
        subject, options = subject.full, options | {"step": subject.step}
    return checks.check(subject, kind, **options)


YARNED, NARROW = yarn(), {"widths": [16]}
STRETCHED, FACTOR = rotary_frequencies(16, scaling=YARN)
OF_YARN = {"frequencies": STRETCHED, "attention_factor": FACTOR} | NARROW
half = partial(checks.Convention, "halves", share=0.5)
SECTIONS = [0, 0, 0, 0, 1, 1, 2, 2]
INTERLEAVED = by_axis([0, 1, 2, 0, 1, 2, 0, 0])
BUGS = [
    Bug(
        says="the base of the configuration is lost",
        report="lyogavin/airllm/pull/369",
        law="values",
        cause="lost setting",
        wrong=turn(base=CONFIG.get("rope_theta", 10_000.0)),
        right=turn(base=500_000.0),
        options={"base": 500_000},
    ),
    Bug(
        says="YaRN's attention factor is lost",
        report="turboderp-org/exllamav3/issues/259",
        law="values",
        cause="attention factor",
        wrong=yarn(power=0),
        right=YARNED,
        options=OF_YARN,
    ),
    Bug(
        says="YaRN's ramp comes from another base",
        report="paiml/aprender/pull/2161",
        law="values",
        cause="other frequencies",
        wrong=yarn(base=10_000.0),
        right=YARNED,
        options=OF_YARN,
    ),
    Bug(
        says="halves are turned by the angles of neighbors",
        report="raiyanyahya/how-to-train-your-gpt/pull/7",
        law="values",
        cause="dimension 1 is +cos0*x1 -sin0*x9 for +cos1*x1 -sin1*x9",
        wrong=mixed_up,
        options=NARROW,
    ),
    Bug(
        says="frequencies are cast before the angle",
        report="sgl-project/sglang-jax/issues/1472",
        law="half",
        cause="frequencies in bfloat16",
        wrong=lambda x, positions: rotate_pairs(
            x, positions, frequencies=torch.tensor(OMEGA, dtype=x.dtype).float()
        ),
        options=NARROW,
    ),
    Bug(
        says="prompt and steps are scaled differently",
        report="ggml-org/llama.cpp/pull/24875",
        law="steps",
        cause="4*position is taken",
        wrong=lambda x, positions: rotate_pairs(
            x, positions / (4 if x.shape[-2] > 1 else 1)
        ),
        right=lambda x, positions: rotate_pairs(x, positions / 4),
        options={"convention": checks.Convention("halves", step=0.25)},
    ),
    Bug(
        says="the result isn't cast back",
        report="huggingface/transformers/issues/38451",
        law="half",
        cause="the result isn't cast back",
        wrong=lambda x, positions: rotate_pairs(x.float(), positions),
    ),
    Bug(
        says="a partial rotation pairs across the whole head",
        report="pie-project/pie/issues/602",
        law="values",
        cause="halves; exponent",
        wrong=part("proportional"),
        right=part("partial"),
        options={"convention": half(extent="partial")},
    ),
    Bug(
        says="a proportional rotation pairs within its part",
        report="apple/coreai-models/issues/66",
        law="values",
        cause="within the part",
        wrong=turn(frequencies=OMEGA[:4]),
        right=part("proportional"),
        options=NARROW | {"convention": half(extent="proportional")},
    ),
    Bug(
        says="with one token per sequence, only the first sequence is right",
        report="ml-explore/mlx/issues/3949",
        law="batch",
        cause="fail have zeros: a pair gives 0",
        wrong=first_row_alone,
    ),
    Bug(
        says="positions beyond a table of 4096 rows are read out of bounds",
        report="pegainfer-project/pegainfer/issues/220",
        law="far",
        cause="fail have zeros: a pair gives 0",
        wrong=lambda x, positions: (
            rotate_pairs(x, positions) * (positions < 4096)[..., None]
        ),
    ),
    Bug(
        says="one sequence's positions are used for all",
        report="Blaizzy/mlx-vlm/issues/1883",
        law="rows",
        cause="first sequence's position",
        wrong=lambda x, positions: rotate_pairs(
            x, positions[0] if positions.ndim == 2 else positions
        ),
    ),
    Bug(
        says="autocast rounds the angles, since they are a product of matrices",
        report="huggingface/diffusers/pull/13922",
        law="reduced",
        cause="product in bfloat16",
        wrong=by_product,
        options=NARROW,
    ),
    Bug(
        says="a table created on the meta device is never initialized",
        report="pytorch/torchtitan/issues/4783",
        law="meta",
        cause="reset_parameters",
        wrong=Added,
        right=Refilled,
        options={"laws": ["meta"]},
        kind="module",
    ),
    Bug(
        says="the frequency buffer is cast along with its model",
        report="NVIDIA-NeMo/Automodel/issues/2606",
        law="half",
        cause="frequencies in bfloat16",
        wrong=Rotary(),
        right=Recomputed(),
        options=NARROW,
    ),
    Bug(
        says="sections of several coordinates are in the wrong order",
        report="alibaba/MNN/issues/4133",
        law="axes",
        cause="axes are swapped",
        wrong=turn(frequencies=by_axis(SECTIONS)),
        right=turn(frequencies=INTERLEAVED),
        options={"frequencies": INTERLEAVED},
    ),
    Bug(
        says="padded texts all continue from the same offset",
        report="unslothai/unsloth/pull/4078",
        law="ragged",
        cause="calls begin behind the padding, in all texts alike",
        wrong=Pair(DECODER.full, one_offset),
        right=DECODER,
        kind="decoder",
    ),
    Bug(
        says="packed texts attend to one another",
        report="axolotl-ai-cloud/axolotl/issues/3608",
        law="packed",
        cause="packed texts seen",
        wrong=Pair(
            lambda tokens, positions=None, segments=None: DECODER.full(
                tokens, positions
            ),
            DECODER.step,
        ),
        right=DECODER,
        kind="decoder",
    ),
    Bug(
        says="a chunk ignores the offset of the cache",
        report="Blaizzy/mlx-vlm/issues/1741",
        law="steps",
        cause="calls begin at 0",
        wrong=Pair(
            DECODER.full,
            lambda tokens, cache: DECODER.step(
                tokens, cache, counted(tokens, 0)
            ),
        ),
        right=DECODER,
        kind="decoder",
    ),
    # A rotation never sees the score, so no law of rotations catches this one.
    Bug(
        says="the score's own multiplier under YaRN is missing",
        report="onnxruntime/mobius/pull/548",
        law="",
        cause="",
        wrong=YARNED,
        right=YARNED,
        options=OF_YARN,
    ),
]
