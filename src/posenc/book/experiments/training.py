"""Training: many models at once, each on its own data."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from posenc.book.experiments.encodings import Encoding
from posenc.book.experiments.measures import drawn, share, stacked
from posenc.book.experiments.model import Trained, stack
from posenc.book.experiments.settings import Settings
from posenc.book.experiments.tasks import NO_TARGET, TASKS


def data(settings: Settings, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return tokens and targets, (steps, batch, seq_len), and positions, (steps, seq_len)."""
    generator = torch.Generator().manual_seed(1_000_000 + seed)
    shape = (settings.steps, settings.batch)
    task = TASKS[settings.task]
    if settings.sequences:
        tokens, targets = task((settings.sequences,), settings.seq_len, generator)
        picks = torch.randint(settings.sequences, shape, generator=generator)
        tokens, targets = tokens[picks], targets[picks]
    else:
        tokens, targets = task(shape, settings.seq_len, generator)
    places = torch.rand(settings.steps, max(settings.spread, settings.seq_len), generator=generator)
    if not settings.spread:
        return tokens, targets, torch.arange(settings.seq_len).expand(settings.steps, -1)
    return tokens, targets, places.argsort(-1)[:, : settings.seq_len].sort(-1).values


def train(settings: Settings | Sequence[Settings], seeds: Sequence[int]) -> Trained:
    """Train one model per seed, which determines its initial weights and data, all at once.

    `settings` are for all models, or one for each, which may differ only in init_std and rate.

    Examples
    --------
    >>> models = train(Settings("back", "rotary", steps=2), seeds=[0, 1, 2])
    >>> models.curve.shape
    torch.Size([2, 3])
    """
    models = stack(settings, seeds)
    each = [settings] * len(seeds) if isinstance(settings, Settings) else settings
    parts = [data(each[0], seed) for seed in seeds]
    return _fit(models, [one.rate for one in each], *stacked(parts))


def fine_tune(
    models: Trained,
    encoding: Encoding,
    seq_len: int,
    *,
    steps: int = 60,
    batch: int = 8,
    rate: float = 3e-3,
) -> Trained:
    """Train copies of models further, at another length and with another encoding, without weights.

    The rate decays linearly to zero. The result keeps the settings of `models`.
    """
    copies = models.with_encoding(encoding)
    tokens, targets = drawn(models, (steps, batch), seq_len, 3_000_000)
    positions = torch.arange(seq_len).expand(len(models.seeds), steps, -1)
    return _fit(copies, [rate] * len(models.seeds), tokens, targets, positions)


def _fit(
    models: Trained, rates: Sequence[float], tokens: Tensor, targets: Tensor, positions: Tensor
) -> Trained:
    """Train models in place on (seeds, steps, ...) and return them."""
    optimizer = Adam(models.weights, rates)
    seeds, steps = tokens.shape[:2]
    same = bool((positions == positions[:1]).all())
    curve = []
    for step in range(steps):
        asked = targets[:, step]
        at = positions[0, step] if same else positions[:, step]
        scores = models(tokens[:, step], at)
        # This is a mean over all models: multiply, so each gets the gradient of its own loss.
        loss = F.cross_entropy(scores.flatten(0, 2), asked.flatten(), ignore_index=NO_TARGET)
        (loss * seeds).backward()  # type: ignore[no-untyped-call]
        optimizer.step(1 - step / steps)
        curve.append(share(asked, scores.argmax(-1)))
    models.curve = torch.stack(curve) if curve else models.curve
    return models


class Adam:
    """Adam, with an initial learning rate for each model of a stack."""

    def __init__(self, weights: dict[str, Tensor], rates: Sequence[float]) -> None:
        self.weights: list[Tensor] = [weight for weight in weights.values() if weight.requires_grad]
        self.means: list[Tensor] = [torch.zeros_like(weight) for weight in self.weights]
        self.squares: list[Tensor] = [torch.zeros_like(weight) for weight in self.weights]
        self.rates: Tensor = torch.tensor(rates)
        self.steps: int = 0

    @torch.no_grad()
    def step(self, factor: float) -> None:
        """Update all weights at `factor` times their rates, and clear the gradients."""
        self.steps += 1
        for weight, mean, square in zip(self.weights, self.means, self.squares, strict=True):
            assert weight.grad is not None  # the loss depends on every weight
            mean.lerp_(weight.grad, 0.1)
            square.mul_(0.999).addcmul_(weight.grad, weight.grad, value=0.001)
            size = (square / (1 - 0.999**self.steps)).sqrt_().add_(1e-8)
            rates = self.rates.view(-1, *[1] * (weight.ndim - 1)) * factor
            weight -= rates / (1 - 0.9**self.steps) * mean / size
            weight.grad = None
