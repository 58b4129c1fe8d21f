"""The tasks: sequences of letters, and the question at each place.

Each takes a batch shape, a length and a generator, and returns tokens and targets, both of shape
(*shape, seq_len). Where nothing is asked, the target is `NO_TARGET`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor

LETTERS = "abcdefghAB?^"  # the symbols of all tasks; a to h are filler
A, B, QUESTION, START = 8, 9, 10, 11
NO_TARGET = -1  # of a place where nothing is asked


def order(
    shape: Sequence[int], seq_len: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Ask at the end whether the A comes before the B."""
    tokens = torch.randint(8, (*shape, seq_len), generator=generator)
    places = torch.rand(*shape, seq_len - 1, generator=generator).argsort(-1)
    tokens.scatter_(-1, places[..., :1], A)
    tokens.scatter_(-1, places[..., 1:2], B)
    tokens[..., -1] = QUESTION
    return _asked(tokens, -1, places[..., :1] < places[..., 1:2])


def count(
    shape: Sequence[int], seq_len: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Ask at the end whether A's outnumber B's among three capitals."""
    tokens, _ = order(shape, seq_len, generator)
    free = torch.where(tokens < A, torch.rand(tokens.shape, generator=generator), -1.0)
    answers = torch.rand((*shape, 1), generator=generator) < 0.5
    tokens.scatter_(-1, free.argmax(-1, keepdim=True), torch.where(answers, A, B))
    return _asked(tokens, -1, answers)


def back(
    shape: Sequence[int], seq_len: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Ask, from the fourth place on, for the letter three places back."""
    tokens = torch.randint(8, (*shape, seq_len), generator=generator)
    return _asked(tokens, 3, tokens[..., :-3])


def local(
    shape: Sequence[int], seq_len: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Ask, from the fifth place on, whether A's outnumber B's in the last five letters."""
    tokens = torch.randint(A, B + 1, (*shape, seq_len), generator=generator)
    return _asked(tokens, 4, (tokens.unfold(-1, 5, 1) == A).sum(-1) > 2)


def needle(
    shape: Sequence[int], seq_len: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Ask at every place which letter follows the A, wherever the A is."""
    tokens = torch.randint(8, (*shape, seq_len), generator=generator)
    at = torch.randint(seq_len - 1, (*shape, 1), generator=generator)
    answers = tokens.gather(-1, at + 1)
    return _asked(tokens.scatter_(-1, at, A), 0, answers)


def recall(
    shape: Sequence[int], seq_len: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Ask as `needle` does, but only where the A and the letter after it can be seen."""
    tokens, targets = needle(shape, seq_len, generator)
    before = (tokens == A).cumsum(-1)[..., :-1]  # whether the A is at this place or earlier
    targets[..., 1:][before == 0] = NO_TARGET
    targets[..., 0] = NO_TARGET
    return tokens, targets


def place(
    shape: Sequence[int], seq_len: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Ask everywhere for the index of the place, from 0."""
    tokens = torch.randint(8, (*shape, seq_len), generator=generator)
    return _asked(tokens, 0, torch.arange(seq_len))


def marked(
    shape: Sequence[int], seq_len: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Ask as `place` does, with a start mark at the first place."""
    tokens, targets = place(shape, seq_len, generator)
    tokens[..., 0] = START
    return tokens, targets


def _asked(tokens: Tensor, first: int, answers: Tensor) -> tuple[Tensor, Tensor]:
    """Return tokens, and answers as targets from the place `first` on."""
    targets = torch.full_like(tokens, NO_TARGET)
    targets[..., first:] = answers
    return tokens, targets


Task = Callable[[Sequence[int], int, torch.Generator], tuple[Tensor, Tensor]]
TASKS: dict[str, Task] = {
    task.__name__: task for task in (order, back, local, count, needle, recall, place, marked)
}


def stacked(parts: Iterable[tuple[Tensor, ...]]) -> list[Tensor]:
    """Stack the first tensors of all seeds, the second ones, and so on."""
    return [torch.stack(each) for each in zip(*parts, strict=True)]


def drawn(
    task: str, seeds: Sequence[int], shape: Sequence[int], seq_len: int, first: int
) -> list[Tensor]:
    """Draw tokens and targets, (seeds, *shape, seq_len), with generators from `first` on."""
    generators = (torch.Generator().manual_seed(first + seed) for seed in seeds)
    return stacked(TASKS[task](shape, seq_len, generator) for generator in generators)


def share(targets: Tensor, answers: Tensor) -> Tensor:
    """Return the share of right answers among the places asked, one per model."""
    asked = targets != NO_TARGET
    return ((answers == targets) & asked).sum((1, 2)) / asked.sum((1, 2))
