"""Ways to tell a transformer about positions: the contenders of the experiments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from posenc.attention import t5_buckets
from posenc.book.experiments.settings import HEADS, WIDTH, Settings
from posenc.encoding import sinusoidal_encoding
from posenc.nn import alibi_slopes, rotary_turns, rotate_pairs
from posenc.scaling import rotary_frequencies


class Encoding(nn.Module):
    """No encoding: the base class, with three hooks that contenders override."""

    ends: bool = (
        False  #: Whether it ends at the trained length, which rules out longer input
    )
    between: bool = (
        True  #: Whether fractional positions are meaningful, and can be interpolated
    )

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.settings: Settings = settings

    def in_layer(self, number: int) -> Encoding:
        """Return what layer `number`, from 0, does to its queries, keys and scores."""
        return self

    def rows(self, x: Tensor, positions: Tensor) -> Tensor:
        """Return the embeddings `x`, (..., seq_len, width), with positions."""
        return x

    def turn(self, x: Tensor, positions: Tensor) -> Tensor:
        """Return queries or keys `x`, (..., HEADS, seq_len, head_width), with positions."""
        return x

    def bias(self, positions: Tensor) -> Tensor:
        """Return a term to add to the scores, broadcastable to (HEADS, seq_len, seq_len)."""
        return torch.zeros(())


class Sinusoidal(Encoding):
    """Add sines and cosines."""

    def rows(self, x: Tensor, positions: Tensor) -> Tensor:
        return x + _waves(positions, x.shape[-1], self.settings.base)


class Concatenated(Encoding):
    """Use half the width for the word, half for sines and cosines."""

    def rows(self, x: Tensor, positions: Tensor) -> Tensor:
        half = x.shape[-1] // 2
        rows = _waves(positions, half, self.settings.base).expand(*x.shape[:-1], half)
        return torch.cat((x[..., :half], rows), -1)


def _waves(positions: Tensor, width: int, base: float) -> Tensor:
    """Return sinusoidal rows, in torch because numpy can't read the positions under `vmap`."""
    cos, sin = rotary_turns(positions, width, base=base)
    return torch.stack((sin, cos), -1).flatten(-2)


class Learned(Encoding):
    """Add rows of a trained table, which ends at the trained length."""

    ends: bool = True

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        drawn = torch.randn(settings.seq_len, settings.width) * settings.init_std
        self.table: nn.Parameter = nn.Parameter(drawn)

    def rows(self, x: Tensor, positions: Tensor) -> Tensor:
        return x + self.table[positions]


def _smooth(seq_len: int) -> Tensor:
    """Draw a closed loop of three harmonics: neighbors are similar, no component increases."""
    angles = 2 * torch.pi * torch.arange(seq_len) / seq_len
    waves = torch.stack(
        [f(h * angles) for h in (1, 2, 3) for f in (torch.sin, torch.cos)]
    )
    directions: Tensor = torch.linalg.qr(torch.randn(WIDTH, 6))[0]
    return (directions @ waves).mT


def _directed(seq_len: int) -> Tensor:
    """Draw rows whose component along one direction increases from first to last."""
    way = torch.randn(WIDTH)
    way /= way.norm()
    noise = F.normalize(torch.randn(seq_len, WIDTH))
    noise = noise - (noise @ way)[:, None] * way
    ramp = torch.linspace(-1, 1, seq_len)[:, None]
    return ramp * way + (1 - ramp**2 / 2).sqrt() * F.normalize(noise)


def _arc(seq_len: int) -> Tensor:
    """Draw a quarter circle in a plane: neighbors are similar, and a component increases."""
    angles = torch.linspace(0, torch.pi / 2, seq_len)
    plane: Tensor = torch.linalg.qr(torch.randn(WIDTH, 2))[0]
    return (plane @ torch.stack((angles.cos(), angles.sin()))).mT


def _narrow(seq_len: int) -> Tensor:
    """Draw rows close to a common one: as far from their mean as the sinusoidal rows."""
    common, noise = (
        F.normalize(torch.randn(1, WIDTH)),
        F.normalize(torch.randn(seq_len, WIDTH)),
    )
    return common + 0.55 * noise


class Fixed(Encoding):
    """Add rows of an untrained table, each with the norm of a sinusoidal row.

    `draw` returns the rows for a length, of any norm; `shuffled` puts them in random order.
    `widened` rows are centered, with the root mean square distance from their mean of random ones.
    """

    ends: bool = True

    def __init__(
        self,
        settings: Settings,
        draw: Callable[[int], Any] = lambda seq_len: torch.randn(seq_len, WIDTH),
        shuffled: bool = False,
        widened: bool = False,
    ) -> None:
        super().__init__(settings)
        rows = torch.as_tensor(draw(settings.seq_len))
        if shuffled:
            rows = rows[torch.randperm(settings.seq_len)]
        rows = F.normalize(rows) * (WIDTH / 2) ** 0.5
        if widened:
            away = rows - rows.mean(0)
            rows = away * ((WIDTH / 2) ** 0.5 / away.square().sum(1).mean().sqrt())
        self.table: Tensor
        self.register_buffer("table", rows)

    def rows(self, x: Tensor, positions: Tensor) -> Tensor:
        return x + self.table[positions]


class Scaled(Encoding):
    """Rotate queries and keys, with frequencies scaled as a model's configuration says.

    `scaling` is as for `posenc.rotary_frequencies`, and so is the length to read, `seq_len`.
    """

    def __init__(
        self,
        settings: Settings,
        scaling: Mapping[str, Any] | None = None,
        seq_len: int = 1,
    ) -> None:
        super().__init__(settings)
        fields = {"rope_theta": settings.base, **(scaling or {})}
        lengths = {"max_position_embeddings": settings.seq_len, "seq_len": seq_len}
        found = rotary_frequencies(settings.width // HEADS, scaling=fields, **lengths)
        self.frequencies, self.factor = found

    def turn(self, x: Tensor, positions: Tensor) -> Tensor:
        turns = rotary_turns(
            positions, frequencies=self.frequencies, attention_factor=self.factor
        )
        return rotate_pairs(x, turns=turns, pairing="neighbors")


class Windows(Scaled):
    """Rotate, and let each place see only the last `window` places, itself included."""

    def bias(self, positions: Tensor) -> Tensor:
        distance = (positions[:, None] - positions).abs()
        return torch.where(distance < self.settings.window, 0.0, -torch.inf)


class Alternating(Encoding):
    """Give even layers one encoding, and odd ones none, as today's hybrids do."""

    def __init__(self, settings: Settings, local: type[Encoding]) -> None:
        super().__init__(settings)
        self.local: Encoding = local(settings)
        self.none: Encoding = Encoding(settings)

    def in_layer(self, number: int) -> Encoding:
        return self.none if number % 2 else self.local


class ALiBi(Encoding):
    """Lower each score by the distance times the slope of the head."""

    def bias(self, positions: Tensor) -> Tensor:
        distance = (positions - positions[:, None]).abs()
        return -alibi_slopes(HEADS)[:, None, None] * distance


class T5(Encoding):
    """Add a learned number per head and bucket of offsets, shared by all layers."""

    between: bool = False

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.values: nn.Parameter = nn.Parameter(
            torch.randn(32, HEADS) * settings.init_std
        )

    def bias(self, positions: Tensor) -> Tensor:
        offsets = (positions - positions[:, None]).numpy()
        return self.values[torch.from_numpy(t5_buckets(offsets))].permute(2, 0, 1)


_SINUSOIDAL = partial(sinusoidal_encoding, d_model=WIDTH)
_DRAWN = {"smooth": _smooth, "directed": _directed, "arc": _arc}
# Contenders whose table isn't trained.
FIXED: dict[str, Callable[[Settings], Encoding]] = {
    "frozen": Fixed,
    "shuffled": partial(Fixed, draw=_SINUSOIDAL, shuffled=True),
    **{name: partial(Fixed, draw=draw) for name, draw in _DRAWN.items()},
    **{
        f"shuffled {n}": partial(Fixed, draw=draw, shuffled=True)
        for n, draw in _DRAWN.items()
    },
    "widened": partial(Fixed, draw=_SINUSOIDAL, widened=True),
    "narrow": partial(Fixed, draw=_narrow),
}

# The registry: add your own contender with ENCODINGS["its name"] = ItsClass.
ENCODINGS: dict[str, Callable[[Settings], Encoding]] = {
    "none": Encoding,
    "sinusoidal": Sinusoidal,
    "learned": Learned,
    "rotary": Scaled,
    "windows": Windows,
    "hybrid": partial(Alternating, local=Windows),
    "alternating": partial(Alternating, local=Scaled),
    "ALiBi": ALiBi,
    "T5": T5,
    "concatenated": Concatenated,
    **FIXED,
}
