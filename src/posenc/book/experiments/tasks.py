"""The tasks: sequences of letters, and the question at each place.

A task takes the shape of its tokens, (..., seq_len), draws them by torch's generator, and returns
them with targets. Where nothing is asked, the target is `NO_TARGET`.

Recorded results are those of these draws: don't reorder them.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

LETTERS = "abcdefghAB?^"  # the symbols of all tasks but prose; a to h are filler
FILLERS = 8
A, B, QUESTION, MARK = 8, 9, 10, 11
PLUS, EQUALS = 10, 11  # after ten digits
NO_TARGET = -1  # of a place where nothing is asked

Texts = tuple[Tensor, Tensor]  # tokens and targets, each (..., seq_len)
Shape = Sequence[int]
Task = Callable[[Shape], Texts]


def order(shape: Shape) -> Texts:
    """Ask at the end whether the A comes before the B."""
    tokens = torch.randint(FILLERS, shape)
    # The last place is the question's; A and B get two of the others.
    shuffled = torch.rand(tokens[..., 1:].shape).argsort(-1)
    place_of_a = shuffled[..., :1]
    place_of_b = shuffled[..., 1:2]
    tokens.scatter_(-1, place_of_a, A)
    tokens.scatter_(-1, place_of_b, B)
    tokens[..., -1] = QUESTION
    return _asked(tokens, -1, place_of_a < place_of_b)


def count(shape: Shape) -> Texts:
    """Ask at the end whether A's outnumber B's among three capitals."""
    tokens, _ = order(shape)
    # The third capital goes to a random place that holds filler.
    chance = torch.rand(tokens.shape)
    third = torch.where(tokens < A, chance, -1.0).argmax(-1, keepdim=True)
    more = torch.rand(third.shape) < 0.5
    tokens.scatter_(-1, third, torch.where(more, A, B))
    return _asked(tokens, -1, more)


def back(shape: Shape) -> Texts:
    """Ask, from the fourth place on, for the letter three places back."""
    tokens = torch.randint(FILLERS, shape)
    return _asked(tokens, 3, tokens[..., :-3])


def local(shape: Shape) -> Texts:
    """Ask, from the fifth place on, whether A's outnumber B's in the last five letters."""
    tokens = torch.randint(A, B + 1, shape)
    number_of_a = (tokens.unfold(-1, 5, 1) == A).sum(-1)
    return _asked(tokens, 4, number_of_a > 2)


def needle(shape: Shape) -> Texts:
    """Ask at every place which letter follows the A, wherever the A is."""
    tokens = torch.randint(FILLERS, shape)
    *batch, seq_len = shape
    place_of_a = torch.randint(seq_len - 1, (*batch, 1))
    answers = tokens.gather(-1, place_of_a + 1)
    return _asked(tokens.scatter_(-1, place_of_a, A), 0, answers)


def recall(shape: Shape) -> Texts:
    """Ask as `needle` does, but only from the letter after the A on."""
    tokens, targets = needle(shape)
    # Up to the A, the answer wasn't read, and nobody can know it.
    is_a = tokens == A
    targets[is_a.cumsum(-1) <= is_a] = NO_TARGET
    return tokens, targets


def place(shape: Shape) -> Texts:
    """Ask everywhere for the index of the place, from 0."""
    tokens = torch.randint(FILLERS, shape)
    return _asked(tokens, 0, torch.arange(shape[-1]))


def marked(shape: Shape) -> Texts:
    """Ask as `place` does, with a start mark at the first place."""
    tokens, targets = place(shape)
    tokens[..., 0] = MARK
    return tokens, targets


def sums(shape: Shape) -> Texts:
    """Ask, from the = on, for the next digit of a sum; all numbers begin with the ones.

    Two numbers have (seq_len - 2) / 3 digits each, at most 18, as torch's integers end there.
    """
    *batch, seq_len = shape
    digits = (seq_len - 2) // 3
    places = 10 ** torch.arange(digits + 1)
    numbers = torch.randint(10**digits, (2, *batch, 1))
    one, other = numbers // places % 10
    total = numbers.sum(0) // places % 10
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


def _asked(tokens: Tensor, first: int, answers: Tensor) -> Texts:
    """Return tokens, and answers as targets from the place `first` on."""
    targets = torch.full_like(tokens, NO_TARGET)
    targets[..., first:] = answers
    return tokens, targets


def drawn(task: str, seeds: Sequence[int], shape: Shape, first: int) -> Texts:
    """Draw tokens and targets, (seeds, *shape), from `first` + seed for each seed."""
    texts = []
    for seed in seeds:
        torch.manual_seed(first + seed)
        texts.append(TASKS[task](shape))
    tokens, targets = map(torch.stack, zip(*texts, strict=True))
    return tokens, targets


def share(targets: Tensor, answers: Tensor) -> Tensor:
    """Return the share of right answers among the places asked, one per model."""
    right = answers == targets
    asked = targets != NO_TARGET
    return right.sum((1, 2)) / asked.sum((1, 2))
