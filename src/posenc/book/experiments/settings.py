"""Settings of an experiment."""

from __future__ import annotations

from dataclasses import dataclass

WIDTH, HEADS, TRAIN_LEN = 32, 4, 16
"""Width of the model, number of its heads, usual length of its training sequences."""


@dataclass(frozen=True)
class Settings:
    """Everything that distinguishes experiments, apart from the seed."""

    task: str = "order"
    """A key of `TASKS`."""
    encoding: str = "none"
    """A key of `ENCODINGS`."""
    causal: bool = False
    """Whether later letters are masked."""
    base: float = 10_000.0
    """Base of the frequencies, for encodings that have them."""
    layers: int = 2
    residual: bool = True
    """Whether the layers have residual connections."""
    scale: float = 1.0
    """Factor on the embeddings, before positions are added."""
    init_std: float = 1.0
    """Standard deviation of embeddings and learned tables before training."""
    rate: float = 3e-3
    """Initial learning rate; it decays linearly to zero."""
    seq_len: int = TRAIN_LEN
    """Length of the training sequences."""
    batch: int = 16
    """Sequences per step."""
    steps: int = 240
    sequences: int = 0
    """Number of training sequences; 0 for fresh ones at every step."""
    spread: int = 0
    """Draw the positions of each step, sorted, from this many; 0 for 0, …, seq_len - 1."""
