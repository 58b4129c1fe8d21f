"""Biases of scores, such as ALiBi's and T5's, and builders of position ids, from one argument."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from posenc.attention import alibi_bias, alibi_slopes, t5_buckets
from posenc.checks.subjects import Subject, floats, values
from posenc.checks.trials import (
    Broken,
    Law,
    Skip,
    Trial,
    Trials,
    causes,
    user,
)
from posenc.conventions import UNIT, Floats

LENGTH = 24
LONG = 300  # beyond T5's last bucket, which begins at 128
EXPECTED = "pass expected='alibi', 't5', or a function that returns the right one"
AXES = ("head", "query", "key")


class Bias(Subject):
    """A function seq_len → (seq_len, seq_len) or (heads, seq_len, seq_len), query by key."""

    kind = "bias"
    asked_if_learned = ("shape", "values", "start")

    def __init__(
        self,
        bias: Any,
        causal: bool = False,
        expected: Any = None,
        **options: Any,
    ) -> None:
        super().__init__(bias, **options)
        if expected not in (None, "alibi", "t5") and not callable(expected):
            rule = "'alibi', 't5' or a function"
            raise ValueError(f"expected must be {rule}, got {expected!r}")
        self.causal, self.expected = causal, expected
        hints = [] if expected else [f"its values aren't checked: {EXPECTED}"]
        hints += [] if causal else ["if a mask hides later keys, pass causal=True"]
        self.about = "; ".join(hints)

    def square(self, seq_len: int = LENGTH, make: Any = None) -> Floats:
        """Return the bias, (heads, query, key), and 0 where a causal mask hides it."""
        bias = values(user(make or self.subject, seq_len))
        if bias.ndim not in (2, 3) or bias.shape[-2:] != (seq_len, seq_len):
            raise Broken(f"shape {bias.shape} for {(seq_len, seq_len)}")
        # Whole numbers are as good; what is hidden may be infinite.
        bias = bias.reshape(-1, seq_len, seq_len) * 1.0
        return floats(np.tril(bias) if self.causal else bias)

    def entries(self, seq_len: int) -> tuple[Floats, Any]:
        """Return what no mask hides, (heads, entries), and how far key is from query there."""
        offsets = np.arange(seq_len) - np.arange(seq_len)[:, None]
        seen = (offsets <= 0) | (not self.causal)
        return self.square(seq_len)[:, seen], offsets[seen]

    def trial(self, words: str, given: Floats, meant: Floats) -> Trial:
        """Compare biases: a slope and a product are rounded, on both sides."""
        bound = 4 * UNIT * float(np.abs(meant).max())
        return Trial(words, given, meant, bound, AXES)

    def explain(self, trials: list[Trial]) -> str:
        """Run the known faults of ALiBi, with its slopes if they are expected, or the measured."""
        entries, offsets = self.entries(LENGTH)
        slopes = np.abs(self.square()[:, 1:2, 0])
        if self.expected == "alibi":
            slopes = alibi_slopes(len(entries))[:, None]
        trial = self.trial("", entries, -slopes * np.abs(offsets))
        return causes("bias", [slopes], [replace(trial, call=(offsets,))])


BIAS = ("bias",)


@Law("shape", BIAS, "the shape is (heads, seq_len, seq_len), and entries are finite")
def shape(bias: Bias) -> Trials:
    """Ask for the usual length."""
    main = bias.square()
    yield Trial(f"{len(main)} heads", main, main)


@Law("values", BIAS, "the bias is the expected one", "4u|b|: a slope, a product, twice")
def expected_values(bias: Bias) -> Trials:
    """Compare with ALiBi, with T5's buckets, or with the given function."""
    if bias.expected is None:
        raise Skip(EXPECTED)
    if bias.expected == "t5":
        yield in_buckets(bias)
        return
    given = bias.square()
    alibi = partial(alibi_bias, len(given))
    make = alibi if bias.expected == "alibi" else bias.expected
    meant = bias.square(LENGTH, make)
    if meant.shape != given.shape:
        raise Broken(f"{len(given)} heads for {len(meant)}")
    yield bias.trial("", given, meant)


def in_buckets(bias: Bias) -> Trial:
    """Compare each entry with the first of its bucket; neighboring buckets should differ."""
    entries, offsets = bias.entries(LONG)
    buckets = t5_buckets(offsets, bidirectional=not bias.causal)
    _, first, groups = np.unique(buckets, return_index=True, return_inverse=True)
    # (heads, buckets): the first entry of each
    levels = entries[:, first]
    if (np.diff(levels, axis=1) == 0).all(axis=0).any():
        raise Broken("neighboring buckets have the same values, or they aren't random")
    return Trial("by bucket", entries, levels[:, groups], 0.0, ("head", "entry"))


@Law("offset", BIAS, "the bias depends only on how far key is from query", "4u|b|")
def offset(bias: Bias) -> Trials:
    """Shift query and key by one."""
    main = bias.square()
    yield bias.trial("shifted by one", main[:, 1:, 1:], main[:, :-1, :-1])


@Law("start", BIAS, "the bias doesn't depend on where the sequence ends")
def start(bias: Bias) -> Trials:
    """Ask for a shorter sequence."""
    main = bias.square()
    yield Trial("of 9 for 24", bias.square(9), main[:, :9, :9], 0.0, AXES)


@Law("penalty", BIAS, "no word gets a bonus, and a farther one no smaller penalty")
def penalty(bias: Bias) -> Trials:
    """Look at the first and the last query, from far to near."""
    main = bias.square()
    for words, row in (
        ("the last query", main[:, -1]),
        ("the first", main[:, 0, ::-1]),
    ):
        meant = np.minimum(np.maximum.accumulate(row, axis=1), 0)
        yield Trial(words, row, meant, 0.0, ("head", "key"))
    if (np.ptp(main[:, -1], axis=1) == 0).any():
        raise Broken("a head has one penalty for all words")


# What a builder is given, and the right ids.
MASK = np.array([[0, 0, 0, 1, 1, 1], [1, 1, 1, 1, 1, 1], [0, 1, 1, 1, 1, 1]])
SEGMENTS = np.array([[0, 0, 0, 1, 1, 2], [0, 1, 1, 1, 1, 1]])
GRID = np.array([2, 3, 4])  # frames, rows and columns of patches, all different
BUILT = {
    "left padding": (MASK, np.maximum(MASK.cumsum(axis=1) - 1, 0)),
    "packing": (SEGMENTS, np.array([[0, 1, 2, 0, 1, 0], [0, 0, 1, 2, 3, 4]])),
    "images": (GRID, np.indices(tuple(GRID)).reshape(3, -1).T),
}


class Builder(Subject):
    """A function that builds position ids."""

    kind = "positions"

    def __init__(self, build: Any, expected: str) -> None:
        super().__init__(build)
        if expected not in BUILT:
            rule = f"one of {', '.join(BUILT)}"
            raise ValueError(f"expected must be {rule}, got {expected!r}")
        self.faults = expected
        self.given, self.right = BUILT[expected]
        self.find_library(self.built)

    def built(self) -> Any:
        """Call the code."""
        return user(self.subject, self.array(self.given, "int64"))


@Law("values", ("positions",), "the ids are those of the book")
def ids(builder: Builder) -> Trials:
    """Compare the ids, but those of padding."""
    built, right = values(builder.built()), builder.right
    # Axes may come first, as in (3, patches). What has the right shape isn't transposed.
    if built.shape == right.T.shape != right.shape:
        built = built.T
    if built.shape != right.shape:
        raise Broken(f"shape {built.shape} for {right.shape}")
    if builder.faults == "left padding":
        built = MASK * built
    yield Trial("", built * 1.0, right, 0.0, ("row", "axis"), (builder.given,))
