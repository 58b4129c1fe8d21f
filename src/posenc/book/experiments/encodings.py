"""Ways to tell a transformer about positions: the contenders of the experiments."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from posenc.attention import t5_buckets
from posenc.book.experiments.settings import HEADS, Settings
from posenc.nn import alibi_slopes, rotary_turns, rotate_pairs
from posenc.scaling import rotary_frequencies


class Encoding(nn.Module):
    """No encoding: the base class, with four hooks that contenders override."""

    #: Whether it ends at the trained length, which rules out longer input
    ends = False
    #: Whether fractional positions are meaningful, and can be interpolated
    between = True

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.settings = settings

    def rows(self, x: Tensor, positions: Tensor) -> Tensor:
        """Return the embeddings `x`, (..., seq_len, width), with positions."""
        return x

    def in_layer(self, number: int) -> "Encoding":
        """Return the encoding that turns and biases in layer `number`, from 0."""
        return self

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
        waves = _waves(positions, half, self.settings.base)
        # The other half of the word's numbers makes room.
        return torch.cat((x[..., :half], waves.expand(*x.shape[:-1], half)), -1)


def _waves(positions: Tensor, width: int, base: float) -> Tensor:
    """Return sinusoidal rows, (seq_len, width)."""
    # In torch, because numpy can't read the positions under `vmap`.
    cos, sin = rotary_turns(positions, width, base=base)
    return torch.stack((sin, cos), -1).flatten(-2)


class Learned(Encoding):
    """Add rows of a trained table, which ends at the trained length."""

    ends = True

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        drawn = torch.randn(settings.seq_len, settings.width)
        self.table = nn.Parameter(drawn * settings.init_std)

    def rows(self, x: Tensor, positions: Tensor) -> Tensor:
        return x + self.table[positions]


class Frozen(Learned):
    """Add random rows that aren't trained, each as long as a sinusoidal row."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        length = (settings.width / 2) ** 0.5
        rows = F.normalize(self.table.detach()) * length
        self.table = nn.Parameter(rows, requires_grad=False)


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
        self.frequencies, self.factor = rotary_frequencies(
            settings.width // HEADS,
            scaling={"rope_theta": settings.base, **(scaling or {})},
            max_position_embeddings=settings.seq_len,
            seq_len=seq_len,
        )

    def turn(self, x: Tensor, positions: Tensor) -> Tensor:
        turns = rotary_turns(
            positions, frequencies=self.frequencies, attention_factor=self.factor
        )
        return rotate_pairs(x, turns=turns, pairing="neighbors")


class PlaceValues(Scaled):
    """Rotate the digits of `tasks.sums` by their place in a number, and signs not at all."""

    def turn(self, x: Tensor, positions: Tensor) -> Tensor:
        # Both numbers and the sum have as many digits, each with a sign before or after.
        apart = (len(positions) + 1) // 3
        return super().turn(x, (positions + 1) % apart)


class Windows(Scaled):
    """Rotate, and show each place only the places nearer than `window`."""

    def bias(self, positions: Tensor) -> Tensor:
        near = _distance(positions) < self.settings.window
        return torch.where(near, 0.0, -torch.inf)


class Alternating(Scaled):
    """Rotate in even layers, and give odd ones no positions."""

    def in_layer(self, number: int) -> Encoding:
        return Encoding(self.settings) if number % 2 else self


class Hybrid(Alternating, Windows):
    """Rotate and see near places in even layers, as hybrids do today.

    Windows carry positions on; a layer without any then looks everywhere.
    """


class ALiBi(Encoding):
    """Lower each score by the distance times the slope of the head."""

    def bias(self, positions: Tensor) -> Tensor:
        # From steep to flat: the first heads see only what is near.
        slopes = alibi_slopes(HEADS)[:, None, None]
        return -slopes * _distance(positions)


class T5(Encoding):
    """Add a learned number per head and bucket of offsets, shared by all layers.

    All seeds share positions: `Settings.spread`, which gives each its own, doesn't work.
    """

    between = False

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        drawn = torch.randn(32, HEADS)
        self.values = nn.Parameter(drawn * settings.init_std)

    def bias(self, positions: Tensor) -> Tensor:
        offsets = positions - positions[:, None]
        buckets = torch.from_numpy(t5_buckets(offsets.numpy()))
        return self.values[buckets].permute(2, 0, 1)


def _distance(positions: Tensor) -> Tensor:
    """Return the distance of each query's place from each key's, (seq_len, seq_len)."""
    return (positions - positions[:, None]).abs()


# The registry: add your own contender with ENCODINGS["its name"] = ItsClass.
ENCODINGS: dict[str, Callable[[Settings], Encoding]] = {
    "none": Encoding,
    "sinusoidal": Sinusoidal,
    "learned": Learned,
    "rotary": Scaled,
    "ALiBi": ALiBi,
    "T5": T5,
    "concatenated": Concatenated,
    "frozen": Frozen,
    "place values": PlaceValues,
    "windows": Windows,
    "hybrid": Hybrid,
    "alternating": Alternating,
}
