"""Bugs reported publicly in 2025 and 2026, reproduced, with the correct version of each.

Each is a minimal function that fails in the same way. No code is copied: the address is that of the
report. `recall` runs the checks on all of them, and says which law caught the wrong function, and
whether the right one passed. It needs torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from posenc import checks, rotary_frequencies
from posenc.book import tiny
from posenc.nn import rotate_pairs

Rotation = Callable[[Tensor, Tensor], Tensor]
DECODER = tiny.Decoder(tiny.initial_weights(0))
YARN = {"rope_type": "yarn", "factor": 16.0, "original_max_position_embeddings": 4096}
YARN |= {"rope_theta": 1_000_000.0}
LEFT_OUT = ("compile", "device")  # slow: they load a compiler
SECTIONS, INTERLEAVED = [0, 0, 0, 0, 1, 1, 2, 2], [0, 1, 2, 0, 1, 2, 0, 0]


@dataclass(frozen=True)
class Bug:
    """A bug: a description, the address of the report, the wrong function and the right one.

    `law` is the one that should catch it; it is empty if no law can, and `why` says why.
    """

    says: str
    address: str
    kind: str
    wrong: Any
    right: Any
    law: str
    options: dict[str, Any] = field(default_factory=dict)
    why: str = ""


def turn(**options: Any) -> Rotation:
    """Return `rotate_pairs` with some options."""
    return lambda x, positions: rotate_pairs(x, positions, **options)


def lost_base(x: Tensor, positions: Tensor) -> Tensor:
    """Look for the base where the configuration no longer keeps it."""
    config = {"rope_parameters": {"rope_theta": 500_000.0}}
    base: Any = config.get("rope_theta", 10_000.0)
    return rotate_pairs(x, positions, base=base)


def yarn(base: float = 1_000_000.0, power: int = 1) -> Rotation:
    """Scale with YaRN, with the ramp of `base` and the attention factor to a power."""
    factor = rotary_frequencies(16, scaling=YARN)[1]
    ramp = rotary_frequencies(16, scaling=YARN | {"rope_theta": base})[0]
    plain = [rotary_frequencies(16, base=each)[0] for each in (1_000_000.0, base)]
    share = ramp / plain[1]  # what remains of each frequency
    return turn(frequencies=plain[0] * share, attention_factor=factor**power)


def yarn_options() -> dict[str, Any]:
    """Return the options that this YaRN should pass with."""
    omega, factor = rotary_frequencies(16, scaling=YARN)
    return {"frequencies": omega, "attention_factor": factor, "widths": [16]}


def mixed_up(x: Tensor, positions: Tensor) -> Tensor:
    """Turn halves by frequencies laid out for neighbors."""
    omega = torch.from_numpy(rotary_frequencies(x.shape[-1])[0])
    angles = (positions[:, None] * omega).repeat_interleave(2, dim=-1)
    first, second = x.chunk(2, dim=-1)
    half = torch.cat((-second, first), dim=-1)
    return x * angles.cos().to(x.dtype) + half * angles.sin().to(x.dtype)


def half_angles(x: Tensor, positions: Tensor) -> Tensor:
    """Cast the frequencies to the query's dtype before computing the angle."""
    omega = torch.from_numpy(rotary_frequencies(x.shape[-1])[0]).to(x.dtype)
    return rotate_pairs(x, positions, frequencies=omega)


def scaled_in_prefill(x: Tensor, positions: Tensor) -> Tensor:
    """Interpolate in the prompt, but not in the steps after it."""
    return rotate_pairs(x, positions / (4 if x.shape[-2] > 1 else 1))


def upcast(x: Tensor, positions: Tensor) -> Tensor:
    """Return float32 for any input dtype."""
    return rotate_pairs(x.float(), positions)


def part(extent: str, layout: str = "halves", share: float = 0.5) -> Rotation:
    """Turn a share of each head, with a partial or a proportional rotation."""

    def rotate(x: Tensor, positions: Tensor) -> Tensor:
        kind = "proportional" if extent == "proportional" else "default"
        scaling = {"rope_type": kind, "partial_rotary_factor": share}
        omega = rotary_frequencies(x.shape[-1], scaling=scaling)[0]
        return rotate_pairs(x, positions, frequencies=omega, pairing=layout)

    return rotate


def part_options(extent: str) -> dict[str, Any]:
    """Return options that ask for half of each head."""
    return {"convention": checks.Convention("halves", extent=extent, share=0.5)}


def proportional_in_a_block(x: Tensor, positions: Tensor) -> Tensor:
    """Use a proportional rotation's frequencies with the pairs of a partial one."""
    scaling = {"rope_type": "proportional", "partial_rotary_factor": 0.5}
    omega = rotary_frequencies(x.shape[-1], scaling=scaling)[0][: x.shape[-1] // 4]
    return rotate_pairs(x, positions, frequencies=omega, pairing="halves")


def first_row_alone(x: Tensor, positions: Tensor) -> Tensor:
    """Write only the first sequence if each has a single token."""
    turned = rotate_pairs(x, positions)
    if x.ndim > 2 and x.shape[-2] == 1 and x.shape[0] > 1:
        turned = torch.cat((turned[:1], torch.zeros_like(turned[1:])))
    return turned


def past_the_end(x: Tensor, positions: Tensor) -> Tensor:
    """Read past the end of a table of 4096 rows; whatever lies there, here it is zeros."""
    return rotate_pairs(x, positions) * (positions < 4096)[..., None]


def one_for_all(x: Tensor, positions: Tensor) -> Tensor:
    """Use the first sequence's positions for all of them."""
    return rotate_pairs(x, positions[0] if positions.ndim == 2 else positions)


def by_product(x: Tensor, positions: Tensor) -> Tensor:
    """Compute the angles as a matrix product, which autocast rounds."""
    omega = torch.from_numpy(rotary_frequencies(x.shape[-1])[0]).float().to(x.device)
    angles = positions.float()[:, None] @ omega[None]
    turned = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    turned = turned * torch.polar(torch.ones(()), angles.float())
    return torch.view_as_real(turned).flatten(-2).to(x.dtype)


class Rotary(nn.Module):
    """A rotation with its frequencies in a buffer, or recomputed in each call (`keep`)."""

    def __init__(self, keep: bool = False, refill: bool = True, d_model: int = 16) -> None:
        super().__init__()
        self.keep, self.refill, self.d_model = keep, refill, d_model
        self.register_buffer("omega", self.made(), persistent=False)

    def made(self) -> Tensor:
        """Compute the frequencies."""
        return torch.from_numpy(rotary_frequencies(self.d_model)[0]).float()

    def reset_parameters(self) -> None:
        """Fill the buffer, or forget to."""
        if self.refill:
            self.omega = self.made()

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        """Rotate `x`."""
        omega = self.made() if self.keep else self.omega
        return rotate_pairs(x, positions, frequencies=omega)


class Added(nn.Module):
    """A layer whose table is a non-persistent buffer."""

    pe: Tensor

    def __init__(self, d_model: int = 16, max_len: int = 600) -> None:
        super().__init__()
        self.shape = max_len, d_model
        self.register_buffer("pe", self.made(), persistent=False)

    def made(self) -> Tensor:
        """Compute the table, on the default device."""
        rows = checks.KNOWN["paper"].table(*self.shape)
        return torch.tensor(rows, dtype=torch.float32)

    def forward(self, x: Tensor) -> Tensor:
        """Add the table."""
        return x + self.pe[: x.shape[1]].to(x.dtype)


class Refilled(Added):
    """The same, with a method that refills the buffer."""

    def reset_parameters(self) -> None:
        """Compute the table again."""
        self.pe = self.made()


def axes(owner: list[int]) -> Rotation:
    """Turn each pair by the coordinate of its axis."""
    frequencies = np.zeros((3, 8))
    frequencies[owner, np.arange(8)] = rotary_frequencies(16)[0]
    return turn(frequencies=frequencies, pairing="halves")


def count(cache: Any) -> int:
    """Count the tokens in a cache."""
    return 0 if cache is None else int(cache[0][0].shape[2])


def counted(tokens: Any, begin: int) -> Any:
    """Return positions for tokens, starting at `begin`."""
    return np.broadcast_to(begin + np.arange(tokens.shape[1]), tokens.shape)


def from_zero(tokens: Any, cache: Any) -> Any:
    """Count positions from 0 in each call."""
    return DECODER.step(tokens, cache, counted(tokens, 0))


def one_offset(tokens: Any, cache: Any, positions: Any = None, mask: Any = None) -> Any:
    """Continue all rows from the same offset, regardless of their padding."""
    if count(cache):
        positions = counted(tokens, count(cache))
    return DECODER.step(tokens, cache, positions, mask)


def across(tokens: Any, positions: Any = None, segments: Any = None) -> Any:
    """Let packed texts attend to one another."""
    return DECODER.full(tokens, positions)


def pair(full: Any = None, step: Any = None) -> dict[str, Any]:
    """Return two functions of a decoder, by default the tiny transformer's."""
    return {"full": full or DECODER.full, "step": step or DECODER.step}


BUGS = (
    Bug(
        "the base of the configuration is lost",
        "https://github.com/lyogavin/airllm/pull/369",
        "rotary",
        lost_base,
        turn(base=500_000.0),
        "frequencies",
        {"base": 500_000},
    ),
    Bug(
        "YaRN's attention factor is lost",
        "https://github.com/turboderp-org/exllamav3/issues/259",
        "rotary",
        yarn(power=0),
        yarn(),
        "norm",
        yarn_options(),
    ),
    Bug(
        "YaRN's ramp comes from another base",
        "https://github.com/paiml/aprender/pull/2161",
        "rotary",
        yarn(base=10_000.0),
        yarn(),
        "frequencies",
        yarn_options(),
    ),
    Bug(
        "halves are turned by the angles of neighbors",
        "https://github.com/raiyanyahya/how-to-train-your-gpt/pull/7",
        "rotary",
        mixed_up,
        turn(pairing="halves"),
        "norm",
    ),
    Bug(
        "frequencies are cast before the angle",
        "https://github.com/sgl-project/sglang-jax/issues/1472",
        "rotary",
        half_angles,
        turn(),
        "half",
    ),
    Bug(
        "prompt and steps are scaled differently",
        "https://github.com/ggml-org/llama.cpp/pull/24875",
        "rotary",
        scaled_in_prefill,
        lambda x, positions: rotate_pairs(x, positions / 4),
        "steps",
    ),
    Bug(
        "the result isn't cast back",
        "https://github.com/huggingface/transformers/issues/38451",
        "rotary",
        upcast,
        turn(),
        "half",
    ),
    Bug(
        "a partial rotation pairs across the whole head",
        "https://github.com/pie-project/pie/issues/602",
        "rotary",
        part("proportional"),
        part("partial"),
        "convention",
        part_options("partial"),
    ),
    Bug(
        "a proportional rotation pairs within its part",
        "https://github.com/apple/coreai-models/issues/66",
        "rotary",
        proportional_in_a_block,
        part("proportional"),
        "convention",
        part_options("proportional"),
    ),
    Bug(
        "with one token per sequence, only the first sequence is right",
        "https://github.com/ml-explore/mlx/issues/3949",
        "rotary",
        first_row_alone,
        turn(),
        "token",
    ),
    Bug(
        "positions beyond a table of 4096 rows are read out of bounds",
        "https://github.com/pegainfer-project/pegainfer/issues/220",
        "rotary",
        past_the_end,
        turn(),
        "far",
    ),
    Bug(
        "one sequence's positions are used for all",
        "https://github.com/Blaizzy/mlx-vlm/issues/1883",
        "rotary",
        one_for_all,
        turn(),
        "rows",
    ),
    Bug(
        "autocast rounds the angles, since they are a product of matrices",
        "https://github.com/huggingface/diffusers/pull/13922",
        "rotary",
        by_product,
        turn(),
        "reduced",
    ),
    Bug(
        "a table created on the meta device is never initialized",
        "https://github.com/pytorch/torchtitan/issues/4783",
        "module",
        Added,
        Refilled,
        "meta",
        {"tags": ["made on meta"]},
    ),
    Bug(
        "the frequency buffer is cast along with its model",
        "https://github.com/NVIDIA-NeMo/Automodel/issues/2606",
        "rotary",
        Rotary(),
        Rotary(keep=True),
        "cast",
        {"widths": [16]},
    ),
    Bug(
        "sections of several coordinates are in the wrong order",
        "https://github.com/alibaba/MNN/issues/4133",
        "rotary",
        axes(SECTIONS),
        axes(INTERLEAVED),
        "axes",
        {"axes": INTERLEAVED, "widths": [16]},
    ),
    Bug(
        "padded texts all continue from the same offset",
        "https://github.com/unslothai/unsloth/pull/4078",
        "decoder",
        pair(step=one_offset),
        pair(),
        "ragged",
    ),
    Bug(
        "packed texts attend to one another",
        "https://github.com/axolotl-ai-cloud/axolotl/issues/3608",
        "decoder",
        pair(across),
        pair(),
        "packed",
    ),
    Bug(
        "a chunk ignores the offset of the cache",
        "https://github.com/Blaizzy/mlx-vlm/issues/1741",
        "decoder",
        pair(step=from_zero),
        pair(),
        "steps",
    ),
    Bug(
        "the score's own multiplier under YaRN is missing",
        "https://github.com/onnxruntime/mobius/pull/548",
        "rotary",
        yarn(),
        yarn(),
        "",
        yarn_options(),
        "The multiplier belongs to the score, which a rotation never sees. A model whose "
        "scores are all a third too small breaks no law: it is a different model.",
    ),
)
"""The bugs, in the order of the chapter's table."""


@dataclass(frozen=True)
class Recalled:
    """Result: the law that caught the wrong function, and the laws that the right one broke."""

    bug: Bug
    caught: str
    accused: tuple[str, ...]


def recall(
    bugs: Iterable[Bug] = BUGS, *, quick: bool = False, **options: Any
) -> Iterator[Recalled]:
    """Check the wrong and the right function of each bug.

    Parameters
    ----------
    bugs : iterable of Bug
        Bugs to check.
    quick : bool
        Whether to test only the law that should catch the bug.
    **options
        Passed to the checks of rotations and layers, such as ``longest=5000``.

    Yields
    ------
    Recalled
        With the law that caught the bug: the expected one if it failed, else the first that did.
    """
    for bug in bugs:
        laws = [law for law in checks.laws_of(bug.kind) if law not in LEFT_OUT]
        laws = [bug.law] if quick and bug.law else laws
        given: dict[str, Any] = (
            {"laws": laws} | ({} if bug.kind == "decoder" else options) | bug.options
        )
        failed, accused = (
            checks.check(kind=bug.kind, **named(each, bug.kind), **given).failed
            for each in (bug.wrong, bug.right)
        )
        caught = bug.law if bug.law in failed else next(iter(failed), "")
        yield Recalled(bug, caught, tuple(accused))


def named(subject: Any, kind: str) -> dict[str, Any]:
    """Name the arguments of a check."""
    if kind != "decoder":
        return {"subject": subject}
    return {"subject": subject["full"], "step": subject["step"]}
