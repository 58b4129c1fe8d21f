"""Twenty bugs reported publicly in 2025 and 2026, rebuilt for chapter 19.

Each is a short function that fails in the same way, and says in its docstring
what went wrong. No code is copied; the report is an address on GitHub.
"""

from typing import Any, NamedTuple

import numpy as np
import torch
from posenc import checks, rotary_frequencies
from posenc.book import tiny
from posenc.nn import rotate_pairs
from torch import nn

DECODER = tiny.Decoder(tiny.initial_weights(0))
YARN = {"rope_type": "yarn", "factor": 16.0, "rope_theta": 1_000_000.0}
YARN |= {"original_max_position_embeddings": 4096}
SLOW = ("compile", "device")  # they load a compiler
SECTIONS, INTERLEAVED = [0, 0, 0, 0, 1, 1, 2, 2], [0, 1, 2, 0, 1, 2, 0, 0]


class Bug(NamedTuple):
    """What went wrong, its report, what it is in, and the law that catches it.

    `law` is empty if no law can. `options` are those of the check.
    """

    says: str
    address: str
    kind: str
    law: str
    wrong: Any
    right: Any
    options: dict[str, Any]


BUGS: list[Bug] = []  # in the order of the chapter's list


def bug(law, report, right=rotate_pairs, options=(), *, role=""):
    """Keep a wrong function; a decoder's `role` is "full" or "step"."""

    def keep(wrong):
        subject = pair(**{role: wrong}) if role else wrong
        part = "module" if isinstance(wrong, type) else "rotary"
        said = wrong.__doc__, f"https://github.com/{report}"
        of = "decoder" if role else part, law, subject, right, dict(options)
        BUGS.append(Bug(*said, *of))
        return wrong

    return keep


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


def yarn_options():
    """Return the options that this YaRN should pass with."""
    omega, factor = rotary_frequencies(16, scaling=YARN)
    return {"frequencies": omega, "attention_factor": factor, "widths": [16]}


def part(extent, layout="halves", share=0.5):
    """Turn a share of each head, as a partial or a proportional rotation."""

    def rotate(x, positions):
        kind = "proportional" if extent == "proportional" else "default"
        scaling = {"rope_type": kind, "partial_rotary_factor": share}
        omega = rotary_frequencies(x.shape[-1], scaling=scaling)[0]
        return rotate_pairs(x, positions, frequencies=omega, pairing=layout)

    return rotate


def half(extent):
    """Turn half of each head, and ask for it."""
    asked = checks.Convention("halves", extent=extent, share=0.5)
    return part(extent), {"convention": asked}


def axes(owner):
    """Turn each pair by the coordinate of its axis."""
    frequencies = np.zeros((3, 8))
    frequencies[owner, np.arange(8)] = rotary_frequencies(16)[0]
    return turn(frequencies=frequencies, pairing="halves")


def count(cache):
    """Count the tokens in a cache."""
    return 0 if cache is None else int(cache[0][0].shape[2])


def counted(tokens, begin):
    """Return positions for tokens, starting at `begin`."""
    return np.broadcast_to(begin + np.arange(tokens.shape[1]), tokens.shape)


def pair(full=DECODER.full, step=DECODER.step):
    """Return two functions of a decoder, by default the tiny transformer's."""
    return {"full": full, "step": step}


HALVES, SCALED = turn(pairing="halves"), lambda x, k: rotate_pairs(x, k / 4)
OTHER_BASE = turn(base=500_000.0), {"base": 500_000}
OF_YARN = yarn(), yarn_options()
OF_AXES = axes(INTERLEAVED), {"axes": INTERLEAVED, "widths": [16]}


class Rotary(nn.Module):
    """the frequency buffer is cast along with its model"""

    def __init__(self, keep=False, refill=True):
        super().__init__()
        self.keep, self.refill = keep, refill
        self.register_buffer("omega", self.made(), persistent=False)

    def made(self):
        return torch.from_numpy(rotary_frequencies(16)[0]).float()

    def reset_parameters(self):
        if self.refill:
            self.omega = self.made()

    def forward(self, x, positions):
        omega = self.made() if self.keep else self.omega
        return rotate_pairs(x, positions, frequencies=omega)


class Added(nn.Module):
    """a table created on the meta device is never initialized"""

    def __init__(self, d_model=16, max_len=600):
        super().__init__()
        self.shape = max_len, d_model
        self.register_buffer("pe", self.made(), persistent=False)

    def made(self):
        rows = checks.KNOWN["paper"].table(*self.shape)
        return torch.tensor(rows, dtype=torch.float32)

    def forward(self, x):
        return x + self.pe[: x.shape[1]].to(x.dtype)


class Refilled(Added):
    """The same, with a method that refills the buffer."""

    def reset_parameters(self):
        self.pe = self.made()


# The bugs


@bug("frequencies", "lyogavin/airllm/pull/369", *OTHER_BASE)
def lost_base(x, positions):
    """the base of the configuration is lost"""
    config = {"rope_parameters": {"rope_theta": 500_000.0}}
    base = config.get("rope_theta", 10_000.0)
    return rotate_pairs(x, positions, base=base)


@bug("norm", "turboderp-org/exllamav3/issues/259", *OF_YARN)
def lost_factor(x, positions):
    """YaRN's attention factor is lost"""
    return yarn(power=0)(x, positions)


@bug("frequencies", "paiml/aprender/pull/2161", *OF_YARN)
def wrong_ramp(x, positions):
    """YaRN's ramp comes from another base"""
    return yarn(base=10_000.0)(x, positions)


@bug("norm", "raiyanyahya/how-to-train-your-gpt/pull/7", HALVES)
def mixed_up(x, positions):
    """halves are turned by the angles of neighbors"""
    omega = torch.from_numpy(rotary_frequencies(x.shape[-1])[0])
    angles = (positions[:, None] * omega).repeat_interleave(2, dim=-1)
    first, second = x.chunk(2, dim=-1)
    turned = torch.cat((-second, first), dim=-1)
    return x * angles.cos().to(x.dtype) + turned * angles.sin().to(x.dtype)


@bug("half", "sgl-project/sglang-jax/issues/1472")
def half_angles(x, positions):
    """frequencies are cast before the angle"""
    omega = torch.from_numpy(rotary_frequencies(x.shape[-1])[0]).to(x.dtype)
    return rotate_pairs(x, positions, frequencies=omega)


@bug("steps", "ggml-org/llama.cpp/pull/24875", SCALED)
def scaled_in_prefill(x, positions):
    """prompt and steps are scaled differently"""
    return rotate_pairs(x, positions / (4 if x.shape[-2] > 1 else 1))


@bug("half", "huggingface/transformers/issues/38451")
def upcast(x, positions):
    """the result isn't cast back"""
    return rotate_pairs(x.float(), positions)


@bug("convention", "pie-project/pie/issues/602", *half("partial"))
def across_the_head(x, positions):
    """a partial rotation pairs across the whole head"""
    return part("proportional")(x, positions)


@bug("convention", "apple/coreai-models/issues/66", *half("proportional"))
def within_its_part(x, positions):
    """a proportional rotation pairs within its part"""
    omega = rotary_frequencies(x.shape[-1])[0][: x.shape[-1] // 4]
    return rotate_pairs(x, positions, frequencies=omega, pairing="halves")


@bug("token", "ml-explore/mlx/issues/3949")
def first_row_alone(x, positions):
    """with one token per sequence, only the first sequence is right"""
    turned = rotate_pairs(x, positions)
    if x.ndim > 2 and x.shape[-2] == 1 and x.shape[0] > 1:
        turned = torch.cat((turned[:1], torch.zeros_like(turned[1:])))
    return turned


@bug("far", "pegainfer-project/pegainfer/issues/220")
def past_the_end(x, positions):
    """positions beyond a table of 4096 rows are read out of bounds"""
    return rotate_pairs(x, positions) * (positions < 4096)[..., None]


@bug("rows", "Blaizzy/mlx-vlm/issues/1883")
def one_for_all(x, positions):
    """one sequence's positions are used for all"""
    return rotate_pairs(x, positions[0] if positions.ndim == 2 else positions)


@bug("reduced", "huggingface/diffusers/pull/13922")
def by_product(x, positions):
    """autocast rounds the angles, since they are a product of matrices"""
    omega = torch.from_numpy(rotary_frequencies(x.shape[-1])[0]).float()
    angles = positions.float()[:, None] @ omega[None].to(x.device)
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    turned = pairs * torch.polar(torch.ones(()), angles.float())
    return torch.view_as_real(turned).flatten(-2).to(x.dtype)


report, tags = "pytorch/torchtitan/issues/4783", ["made on meta"]
bug("meta", report, Refilled, {"tags": tags})(Added)
report = "NVIDIA-NeMo/Automodel/issues/2606"
bug("cast", report, Rotary(keep=True), {"widths": [16]})(Rotary())


@bug("axes", "alibaba/MNN/issues/4133", *OF_AXES)
def sections(x, positions):
    """sections of several coordinates are in the wrong order"""
    return axes(SECTIONS)(x, positions)


@bug("ragged", "unslothai/unsloth/pull/4078", pair(), role="step")
def one_offset(tokens, cache, positions=None, mask=None):
    """padded texts all continue from the same offset"""
    if count(cache):
        positions = counted(tokens, count(cache))
    return DECODER.step(tokens, cache, positions, mask)


@bug("packed", "axolotl-ai-cloud/axolotl/issues/3608", pair(), role="full")
def across(tokens, positions=None, segments=None):
    """packed texts attend to one another"""
    return DECODER.full(tokens, positions)


@bug("steps", "Blaizzy/mlx-vlm/issues/1741", pair(), role="step")
def from_zero(tokens, cache):
    """a chunk ignores the offset of the cache"""
    return DECODER.step(tokens, cache, counted(tokens, 0))


@bug("", "onnxruntime/mobius/pull/548", *OF_YARN)
def without_multiplier(x, positions):
    """the score's own multiplier under YaRN is missing"""
    # No law can catch it: a rotation never sees the score.
    return yarn()(x, positions)


# What the checks say of them


class Recalled(NamedTuple):
    """A bug, the law that caught it, and the laws that the right one broke."""

    bug: Bug
    caught: str
    accused: tuple[str, ...]


def recall(bugs=BUGS, *, quick=False, **options):
    """Check the wrong and the right function of each bug.

    With `quick`, try only the law that should catch it. The options are for the
    checks of rotations and layers, such as ``longest=5000``. If several laws
    catch a bug, name the expected one, or else the first.
    """
    for each in bugs:
        laws = [law for law in checks.laws_of(each.kind) if law not in SLOW]
        given = {} if each.kind == "decoder" else options
        given = given | {"laws": [each.law] if quick and each.law else laws}
        given |= {"kind": each.kind} | each.options
        failed, accused = (
            checks.check(**named(one, each.kind), **given).failed
            for one in (each.wrong, each.right)
        )
        caught = each.law if each.law in failed else next(iter(failed), "")
        yield Recalled(each, caught, tuple(accused))


def named(subject, kind):
    """Name the arguments of a check."""
    if kind != "decoder":
        return {"subject": subject}
    return {"subject": subject["full"], "step": subject["step"]}
