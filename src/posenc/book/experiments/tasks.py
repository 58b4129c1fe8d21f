"""The tasks: sequences of letters, and the question at each place.

A task takes a batch shape, a length and a generator, and returns tokens and targets, both of shape
(*shape, seq_len). Where nothing is asked, the target is `NO_TARGET`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Generator, Tensor

LETTERS = "abcdefghAB?^"  # the symbols of all tasks but prose; a to h are filler
FILLERS, A, B, QUESTION, MARK = 8, 8, 9, 10, 11
PLUS, EQUALS = 10, 11  # after ten digits
NO_TARGET = -1  # of a place where nothing is asked

Texts = tuple[Tensor, Tensor]  # tokens and targets, each (*shape, seq_len)
Shape = Sequence[int]  # of a batch
Task = Callable[[Shape, int, Generator], Texts]


def order(
    shape: Shape,
    seq_len: int,
    generator: Generator,
) -> Texts:
    """Ask at the end whether the A comes before the B."""
    tokens = _filler(shape, seq_len, generator)
    # The last place is the question's; A and B get two of the others.
    shuffled = torch.rand(*shape, seq_len - 1, generator=generator).argsort(-1)
    place_of_a = shuffled[..., :1]
    place_of_b = shuffled[..., 1:2]
    tokens.scatter_(-1, place_of_a, A)
    tokens.scatter_(-1, place_of_b, B)
    tokens[..., -1] = QUESTION
    return _asked(tokens, -1, place_of_a < place_of_b)


def count(
    shape: Shape,
    seq_len: int,
    generator: Generator,
) -> Texts:
    """Ask at the end whether A's outnumber B's among three capitals."""
    tokens, _ = order(shape, seq_len, generator)
    # The third capital goes to a random place that holds filler.
    chance = torch.rand(tokens.shape, generator=generator)
    third = torch.where(tokens < A, chance, -1.0).argmax(-1, keepdim=True)
    more = torch.rand((*shape, 1), generator=generator) < 0.5
    tokens.scatter_(-1, third, torch.where(more, A, B))
    return _asked(tokens, -1, more)


def back(
    shape: Shape,
    seq_len: int,
    generator: Generator,
) -> Texts:
    """Ask, from the fourth place on, for the letter three places back."""
    tokens = _filler(shape, seq_len, generator)
    return _asked(tokens, 3, tokens[..., :-3])


def local(
    shape: Shape,
    seq_len: int,
    generator: Generator,
) -> Texts:
    """Ask, from the fifth place on, whether A's outnumber B's in the last five letters."""
    tokens = torch.randint(A, B + 1, (*shape, seq_len), generator=generator)
    number_of_a = (tokens.unfold(-1, 5, 1) == A).sum(-1)
    return _asked(tokens, 4, number_of_a > 2)


def needle(
    shape: Shape,
    seq_len: int,
    generator: Generator,
) -> Texts:
    """Ask at every place which letter follows the A, wherever the A is."""
    tokens = _filler(shape, seq_len, generator)
    place_of_a = torch.randint(seq_len - 1, (*shape, 1), generator=generator)
    answers = tokens.gather(-1, place_of_a + 1)
    return _asked(tokens.scatter_(-1, place_of_a, A), 0, answers)


def recall(
    shape: Shape,
    seq_len: int,
    generator: Generator,
) -> Texts:
    """Ask as `needle` does, but only from the letter after the A on."""
    tokens, targets = needle(shape, seq_len, generator)
    # Before the answer was read, nobody can know it.
    seen = (tokens == A).cumsum(-1)
    targets[..., 1:][seen[..., :-1] == 0] = NO_TARGET
    targets[..., 0] = NO_TARGET
    return tokens, targets


def place(
    shape: Shape,
    seq_len: int,
    generator: Generator,
) -> Texts:
    """Ask everywhere for the index of the place, from 0."""
    tokens = _filler(shape, seq_len, generator)
    return _asked(tokens, 0, torch.arange(seq_len))


def marked(
    shape: Shape,
    seq_len: int,
    generator: Generator,
) -> Texts:
    """Ask as `place` does, with a start mark at the first place."""
    tokens, targets = place(shape, seq_len, generator)
    tokens[..., 0] = MARK
    return tokens, targets


def sums(
    shape: Shape,
    seq_len: int,
    generator: Generator,
) -> Texts:
    """Ask, from the = on, for the next digit of a sum; all numbers begin with the ones.

    Two numbers have (seq_len - 2) / 3 digits each, so seq_len must be 2 more than a multiple of 3.
    """
    digits = (seq_len - 2) // 3
    places = 10 ** torch.arange(digits + 1)
    numbers = torch.randint(10**digits, (2, *shape, 1), generator=generator)
    one, other, total = (number // places % 10 for number in (*numbers, numbers.sum(0)))
    # Of the two numbers, the last of these digits is 0.
    one[..., -1] = PLUS
    other[..., -1] = EQUALS
    tokens = torch.cat((one, other, total[..., :-1]), -1)
    return _asked(tokens, 2 * digits + 1, total)


# The registry; `text.Prose` adds the task of reading.
TASKS: dict[str, Task] = {
    task.__name__: task
    for task in (order, back, local, count, needle, recall, place, marked, sums)
}


def _filler(
    shape: Shape,
    seq_len: int,
    generator: Generator,
) -> Tensor:
    return torch.randint(FILLERS, (*shape, seq_len), generator=generator)


def _asked(tokens: Tensor, first: int, answers: Tensor) -> Texts:
    """Return tokens, and answers as targets from the place `first` on."""
    targets = torch.full_like(tokens, NO_TARGET)
    targets[..., first:] = answers
    return tokens, targets


def drawn(
    task: str,
    seeds: Sequence[int],
    shape: Shape,
    seq_len: int,
    first: int,
) -> Texts:
    """Draw tokens and targets, (seeds, *shape, seq_len).

    Each seed has a generator of its own, seeded with `first` + seed.
    """
    generators = [Generator().manual_seed(first + seed) for seed in seeds]
    texts = [TASKS[task](shape, seq_len, generator) for generator in generators]
    tokens, targets = map(torch.stack, zip(*texts, strict=True))
    return tokens, targets


def share(targets: Tensor, answers: Tensor) -> Tensor:
    """Return the share of right answers among the places asked, one per model."""
    asked = targets != NO_TARGET
    right = (answers == targets) & asked
    return right.sum((1, 2)) / asked.sum((1, 2))
