"""Training: many models at once, each on its own data."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from posenc.book.experiments.encodings import Encoding
from posenc.book.experiments.measures import share, stacked
from posenc.book.experiments.model import Trained, stack
from posenc.book.experiments.settings import Settings
from posenc.book.experiments.tasks import NO_TARGET, TASKS


def data(settings: Settings, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return the training data of a seed's model.

    Returns
    -------
    tokens, targets : Tensor of int, shape (steps, batch, seq_len)
    positions : Tensor of int, shape (steps, seq_len)
    """
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
    """Train one model per seed, all at once.

    Parameters
    ----------
    settings : Settings or sequence of Settings
        For all models, or one for each, which may differ only in init_std and rate.
    seeds : sequence of int
        One per model; a seed determines its initial weights and data.

    Returns
    -------
    Trained

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
    """Train copies of models further, at another length and with another encoding.

    Parameters
    ----------
    models : Trained
        Starting point; not modified.
    encoding : Encoding
        Replaces theirs; must not have weights.
    seq_len, steps, batch : int
        Length of the new sequences, number of steps, and sequences per step.
    rate : float
        Initial learning rate; it decays linearly to zero.

    Returns
    -------
    Trained
        With the settings of `models`.
    """
    copies = models.with_encoding(encoding)
    parts = []
    for seed in models.seeds:
        generator = torch.Generator().manual_seed(3_000_000 + seed)
        parts.append(TASKS[models.settings.task]((steps, batch), seq_len, generator))
    tokens, targets = stacked(parts)
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
    """Adam, with a learning rate for each model of a stack.

    Parameters
    ----------
    weights : dict of str to Tensor
        Stacked weights, each (models, ...); those without gradients are left alone.
    rates : sequence of float
        Initial learning rate of each model.
    """

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
