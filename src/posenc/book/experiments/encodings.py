"""Ways to tell a transformer about positions: the contenders of the experiments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from posenc.book.experiments.settings import HEADS, WIDTH, Settings
from posenc.encoding import angular_frequencies, sinusoidal_encoding
from posenc.nn import alibi_slopes, rotate_pairs
from posenc.rotary import rotary_frequencies


class Encoding(nn.Module):
    """No encoding: the base class, with three hooks that contenders override."""

    ends: bool = False
    """Whether the encoding ends at the trained length, which rules out longer input."""
    between: bool = True
    """Whether fractional positions are meaningful, so that positions can be interpolated."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.settings: Settings = settings

    def rows(self, x: Tensor, positions: Tensor) -> Tensor:
        """Return the embeddings `x`, (..., seq_len, WIDTH), with positions."""
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
        """Add a row to each embedding."""
        return x + _waves(positions, x.shape[-1], self.settings.base)


class Concatenated(Encoding):
    """Use half the width for the word, half for sines and cosines."""

    def rows(self, x: Tensor, positions: Tensor) -> Tensor:
        """Replace the second half of each embedding with a row."""
        half = x.shape[-1] // 2
        rows = _waves(positions, half, self.settings.base).expand(*x.shape[:-1], half)
        return torch.cat((x[..., :half], rows), -1)


def _waves(positions: Tensor, width: int, base: float) -> Tensor:
    """Return sinusoidal rows, in torch because numpy can't read the positions under `vmap`."""
    omega = torch.from_numpy(angular_frequencies(width, base=base))
    angles = positions.double()[:, None] * omega
    return torch.stack((angles.sin(), angles.cos()), -1).flatten(-2).float()


class Learned(Encoding):
    """Add rows of a trained table, which ends at the trained length."""

    ends: bool = True

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.table: nn.Parameter = nn.Parameter(
            torch.randn(settings.seq_len, WIDTH) * settings.init_std
        )

    def rows(self, x: Tensor, positions: Tensor) -> Tensor:
        """Add a row to each embedding."""
        return x + self.table[positions]


class Fixed(Encoding):
    """Add rows of a random, untrained table, each with the norm of a sinusoidal row."""

    ends: bool = True

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        rows = F.normalize(self.draw(settings.seq_len)) * (WIDTH / 2) ** 0.5
        self.table: Tensor
        self.register_buffer("table", self.finish(rows))

    def draw(self, seq_len: int) -> Tensor:
        """Return the table's rows, (seq_len, WIDTH), of any norm: here, independent random ones."""
        return torch.randn(seq_len, WIDTH)

    def finish(self, rows: Tensor) -> Tensor:
        """Return the table; subclasses may change the normalized rows."""
        return rows

    def rows(self, x: Tensor, positions: Tensor) -> Tensor:
        """Add a row to each embedding."""
        return x + self.table[positions]


class _InRandomOrder(Fixed):
    """Mixin that shuffles a table's rows, so their order carries no information."""

    def draw(self, seq_len: int) -> Tensor:
        """Return the rows."""
        return super().draw(seq_len)[torch.randperm(seq_len)]


class Waves(Fixed):
    """The sinusoidal rows as a finite table; base class of the variants below."""

    def draw(self, seq_len: int) -> Tensor:
        """Return the rows."""
        return torch.from_numpy(sinusoidal_encoding(seq_len, WIDTH))


class Shuffled(_InRandomOrder, Waves):
    """The sinusoidal rows in random order."""


class Smooth(Fixed):
    """Random rows on a closed loop: neighbors are similar, but no component increases."""

    def draw(self, seq_len: int) -> Tensor:
        """Return three harmonics of the loop, along random directions."""
        angles = 2 * torch.pi * torch.arange(seq_len) / seq_len
        waves = torch.stack([f(h * angles) for h in (1, 2, 3) for f in (torch.sin, torch.cos)])
        directions: Tensor = torch.linalg.qr(torch.randn(WIDTH, 6))[0]
        return (directions @ waves).mT


class Directed(Fixed):
    """Random rows whose component along one direction increases from first to last."""

    def draw(self, seq_len: int) -> Tensor:
        """Return random unit rows plus a ramp in a random direction."""
        way = torch.randn(WIDTH)
        way /= way.norm()
        noise = F.normalize(torch.randn(seq_len, WIDTH))
        noise = noise - (noise @ way)[:, None] * way
        ramp = torch.linspace(-1, 1, seq_len)[:, None]
        return ramp * way + (1 - ramp**2 / 2).sqrt() * F.normalize(noise)


class Arc(Fixed):
    """A quarter circle in a random plane: neighbors are similar, and a component increases."""

    def draw(self, seq_len: int) -> Tensor:
        """Return the points of the arc."""
        angles = torch.linspace(0, torch.pi / 2, seq_len)
        plane: Tensor = torch.linalg.qr(torch.randn(WIDTH, 2))[0]
        return (plane @ torch.stack((angles.cos(), angles.sin()))).mT


class Rotary(Encoding):
    """Rotate queries and keys."""

    def turn(self, x: Tensor, positions: Tensor) -> Tensor:
        """Rotate each pair by its position."""
        return rotate_pairs(x, positions, base=self.settings.base, pairing="neighbors")


class Scaled(Rotary):
    """Rotate as `Rotary`, with frequencies scaled as a model's configuration says.

    Parameters
    ----------
    settings : Settings
        Settings of the models; only base and trained length are used.
    scaling : mapping
        Fields of ``rope_parameters``, as for `posenc.rotary_frequencies`.
    seq_len : int
        Length of the sequences to read, which some rules depend on.
    """

    def __init__(self, settings: Settings, scaling: Mapping[str, Any], seq_len: int) -> None:
        super().__init__(settings)
        self.frequencies, self.attention_factor = rotary_frequencies(
            WIDTH // HEADS,
            scaling={"rope_theta": settings.base, **scaling},
            max_position_embeddings=settings.seq_len,
            seq_len=seq_len,
        )

    def turn(self, x: Tensor, positions: Tensor) -> Tensor:
        """Rotate each pair by its position times its scaled frequency."""
        return rotate_pairs(
            x,
            positions,
            frequencies=self.frequencies,
            attention_factor=self.attention_factor,
            pairing="neighbors",
        )


class ALiBi(Encoding):
    """Lower each score by the distance times the slope of the head."""

    def bias(self, positions: Tensor) -> Tensor:
        """Return minus slope times distance, (HEADS, seq_len, seq_len)."""
        distance = (positions - positions[:, None]).abs()
        return -alibi_slopes(HEADS)[:, None, None] * distance


class T5(Encoding):
    """Add a learned number per head and bucket of offsets, shared by all layers.

    Raffel et al., "Exploring the limits of transfer learning with a unified text-to-text
    transformer", 2020, section 2.1.
    """

    between: bool = False

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.values: nn.Parameter = nn.Parameter(torch.randn(32, HEADS) * settings.init_std)

    def bias(self, positions: Tensor) -> Tensor:
        """Return the number of each offset's bucket, (HEADS, seq_len, seq_len)."""
        offsets = positions - positions[:, None]
        return self.values[t5_buckets(offsets)].permute(2, 0, 1)


def t5_buckets(offsets: Tensor) -> Tensor:
    """Return the bucket, 0 to 31, of each offset (key minus query) as in T5's encoder.

    Each direction has sixteen buckets: one for each distance below 8, and eight whose bounds grow
    geometrically toward 128. The last one begins at 91.
    """
    distance = offsets.abs()
    far = 8 + (distance / 8).log() / torch.log(torch.tensor(128 / 8)) * 8
    bucket = torch.where(distance < 8, distance, far.clamp(max=15)).long()
    return bucket + 16 * (offsets > 0)


class Widened(Waves):
    """The sinusoidal rows, centered and scaled to the spread of `Fixed`."""

    def finish(self, rows: Tensor) -> Tensor:
        """Return rows whose root-mean-square distance from their mean is that of random rows."""
        away = rows - rows.mean(0)
        factor: Tensor = (WIDTH / 2) ** 0.5 / away.square().sum(1).mean().sqrt()
        return away * factor


class Narrow(Fixed):
    """Random rows close to a common row: as far from their mean as the sinusoidal rows."""

    def draw(self, seq_len: int) -> Tensor:
        """Return a common direction plus independent noise."""
        common, noise = F.normalize(torch.randn(1, WIDTH)), F.normalize(torch.randn(seq_len, WIDTH))
        return common + 0.55 * noise


class ShuffledSmooth(_InRandomOrder, Smooth):
    """The rows of `Smooth` in random order, so that neighbors aren't similar."""


class ShuffledDirected(_InRandomOrder, Directed):
    """The rows of `Directed` in random order, so that nothing increases."""


class ShuffledArc(_InRandomOrder, Arc):
    """The rows of `Arc` in random order: nothing increases, and neighbors aren't similar."""


ENCODINGS: dict[str, type[Encoding]] = {
    "none": Encoding,
    "sinusoidal": Sinusoidal,
    "learned": Learned,
    "rotary": Rotary,
    "ALiBi": ALiBi,
    "T5": T5,
    "concatenated": Concatenated,
    "frozen": Fixed,
    "shuffled": Shuffled,
    "smooth": Smooth,
    "directed": Directed,
    "arc": Arc,
    "shuffled smooth": ShuffledSmooth,
    "shuffled directed": ShuffledDirected,
    "shuffled arc": ShuffledArc,
    "widened": Widened,
    "narrow": Narrow,
}
"""Registry of contenders; add your own with ``ENCODINGS["its name"] = ItsClass``."""
