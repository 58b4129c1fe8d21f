"""Biases of scores, such as ALiBi's and T5's, and builders of position ids, from one argument."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from posenc._validate import check_choice
from posenc.attention import alibi_bias, alibi_slopes, t5_buckets
from posenc.checks.function_families import BiasCall, IdsCall, of_bias, of_ids
from posenc.checks.laws import Law
from posenc.checks.reports import NO_CAUSE
from posenc.checks.subjects import Subject, floats, values
from posenc.checks.trials import (
    OTHER_KIND,
    Broken,
    Skip,
    Trial,
    Trials,
    user,
)
from posenc.conventions import UNIT, Floats

LENGTH = 24
LONG = 300  # beyond T5's last bucket, which begins at 128
EXPECTED = "pass expected='alibi', 't5', or a function that returns the right one"
AXES = ("head", "query", "key")
ONE_ROW = "one row for all queries is right under a mask: then pass causal=True"
# Where such buckets first differ from those that are meant, and why
ONE_SIDED = (
    "query 0, key 1: bucket 0 for 17",
    "its buckets are one-sided: all later keys share one; if a mask hides them, pass "
    "causal=True; if not, take the two-sided branch",
)
TWO_SIDED = (
    "query 9, key 0: bucket 8 for 9",
    "its buckets are two-sided: half of them are for later keys, which a mask hides; "
    "take the one-sided branch, or drop causal=True",
)


class Bias(Subject):
    """A function seq_len → (seq_len, seq_len) or (heads, seq_len, seq_len), query by key."""

    kind = faults = "bias"
    fit = staticmethod(of_bias)
    usage = "`bias(seq_len)`"

    def __init__(
        self,
        bias: Any,
        causal: bool = False,
        expected: Any = None,
        learned: bool = False,
    ) -> None:
        super().__init__(bias)
        if expected not in (None, "alibi", "t5") and not callable(expected):
            rule = "'alibi', 't5' or a function"
            raise ValueError(f"expected must be {rule}, got {expected!r}")
        self.causal, self.expected = causal, expected
        self.learned = learned or expected == "t5"

    def described(self) -> tuple[None, str]:
        """Say which arguments would let more be checked."""
        hints = [] if self.expected else [f"its values aren't checked: {EXPECTED}"]
        hints += [] if self.causal else ["if a mask hides later keys, pass causal=True"]
        return None, "; ".join(hints)

    def square(self, seq_len: int = LENGTH, make: Any = None) -> Floats:
        """Return the bias, (heads, query, key).

        Under a causal mask, it is less each row's diagonal, since a softmax ignores a constant of
        a row, and 0 where it is hidden. One row may serve all queries.
        """
        bias = values(user(make or self.subject, seq_len))
        if bias.ndim == 4 and len(bias) == 1:  # of a batch, in MPT and transformers' T5
            bias = bias[0]
        one_row = bias.shape[-2:] == (1, seq_len)
        if one_row and self.causal:
            bias = np.repeat(bias, seq_len, axis=-2)
        if bias.ndim not in (2, 3) or bias.shape[-2:] != (seq_len, seq_len):
            cause = ONE_ROW if one_row else ""
            raise Broken(f"shape {bias.shape} for {(seq_len, seq_len)}", cause)
        # Whole numbers are as good; what is hidden may be infinite.
        bias = bias.reshape(-1, seq_len, seq_len).astype(np.float64)
        if self.causal:
            bias = np.tril(bias - bias.diagonal(axis1=1, axis2=2)[..., None])
        return floats(bias)

    def entries(self, seq_len: int = LENGTH) -> tuple[Floats, Any]:
        """Return what no mask hides, (heads, entries), and how far key is from query there."""
        k = np.arange(seq_len)
        offsets = k - k[:, None]
        seen = (offsets <= 0) | (not self.causal)
        return self.square(seq_len)[:, seen], offsets[seen]

    def trial(self, words: str, given: Floats, meant: Floats) -> Trial:
        """Compare biases: a slope and a product are rounded, on both sides."""
        bound = 4 * UNIT * float(np.abs(meant).max())
        return Trial(words, given, meant, bound, AXES)

    def explain(self, trials: list[Trial]) -> str:
        """Return the faults that give the whole bias, whichever trials failed.

        The right one is ALiBi's, with its slopes if they are expected, or else the measured ones.
        """
        given, offsets = self.entries()
        square = self.square()
        slopes = np.abs(square[:, 1:2, 0])
        if self.expected == "alibi":
            slopes = alibi_slopes(len(given))[:, None]
        trial = self.trial("", given, -slopes * np.abs(offsets))
        call = BiasCall(slopes, offsets, square[:, -1, ::-1])
        return super().explain([replace(trial, call=call)])


BIAS = ("bias",)


@Law("shape", BIAS, "the shape is (heads, seq_len, seq_len), and entries are finite")
def shape(bias: Bias) -> None:
    """Ask for the usual length."""
    bias.square()


@Law("values", BIAS, "the bias is the expected one", "4u|b|: a slope, a product, twice")
def expected_values(bias: Bias) -> Trials:
    """Compare with ALiBi, with T5's buckets, or with the given function."""
    if bias.expected is None:
        raise Skip(EXPECTED)
    if bias.expected == "t5":
        return [in_t5_buckets(bias)]
    given = bias.square()
    make = bias.expected if callable(bias.expected) else partial(alibi_bias, len(given))
    return [bias.trial("all entries", given, bias.square(make=make))]


def in_t5_buckets(bias: Bias) -> Trial:
    """Compare with T5's buckets: one-sided ones if later keys are hidden, else two-sided ones."""
    is_of_other_kind = False
    with suppress(Broken):
        is_of_other_kind = in_buckets(bias, two_sided=bias.causal).worst <= 1
    if is_of_other_kind:
        raise Broken(*(TWO_SIDED if bias.causal else ONE_SIDED))
    return in_buckets(bias, two_sided=not bias.causal)


def in_buckets(bias: Bias, two_sided: bool) -> Trial:
    """Compare each entry with the first of its bucket; neighboring buckets should differ."""
    entries, offsets = bias.entries(LONG)
    buckets = t5_buckets(offsets, bidirectional=two_sided)
    _, first, groups = np.unique(buckets, return_index=True, return_inverse=True)
    # (heads, buckets): the first entry of each
    levels = entries[:, first]
    if (np.diff(levels, axis=1) == 0).all(axis=0).any():
        raise Broken("neighboring buckets have the same values, or they aren't random")
    return Trial("by bucket", entries, levels[:, groups], axes=("head", "entry"))


@Law("offset", BIAS, "the bias depends only on how far key is from query", "4u|b|")
def offset(bias: Bias) -> Trials:
    """Shift query and key by one."""
    main = bias.square()
    return [bias.trial("shifted by one", main[:, 1:, 1:], main[:, :-1, :-1])]


@Law("start", BIAS, "the bias doesn't depend on where the sequence ends", "4u|b|")
def start(bias: Bias) -> Trials:
    """Ask for a shorter sequence."""
    return [bias.trial("of 9 rows", bias.square(9), bias.square()[:, :9, :9])]


@Law(
    "penalty",
    BIAS,
    "no word gets a bonus, and a farther one no smaller penalty",
    cure=f"{NO_CAUSE}; if it is learned, pass learned=True",
)
def penalty(bias: Bias) -> Trials:
    """Look at the last query, and the first."""
    if bias.learned:
        raise Skip(OTHER_KIND)
    main = bias.square()
    # (queries, heads, keys)
    rows = np.stack([main[:, -1], main[:, 0, ::-1]])
    if (np.ptp(rows[0], axis=1) == 0).any():
        raise Broken("a head has one penalty for all words")
    meant = np.minimum(np.maximum.accumulate(rows, axis=2), 0)
    yield Trial("from far to near", rows, meant, axes=("query", "head", "key"))


# What a builder is given, and the right ids.
MASK = np.array([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]])
SEGMENTS = np.array([[0, 0, 0, 1, 2], [0, 1, 1, 1, 1]])
GRID = np.array([2, 3, 4])  # frames, rows and columns of patches, all different
COUNTED = np.maximum(MASK.cumsum(axis=1) - 1, 0)
RESTARTED = np.array([[0, 1, 2, 0, 0], [0, 0, 1, 2, 3]])
PATCHES = np.indices(tuple(GRID)).reshape(3, -1)
BUILT = {
    "left padding": (MASK, COUNTED),
    "packing": (SEGMENTS, RESTARTED),
    "images": (GRID, PATCHES),
}


class Builder(Subject):
    """A function that builds position ids, beside another one, if that is given.

    `given` is what it is called with, and `meant` the ids that are right; both, and `expected`, are
    of `BUILT`, in the shapes there, unless `right` builds other ids. `seen` is 0 where any are.
    """

    kind = "positions"
    fit = staticmethod(of_ids)
    usage = "`build(given)`"

    def __init__(self, build: Any, expected: str, right: Any = None) -> None:
        super().__init__(build)
        check_choice("expected", expected, BUILT)
        self.expected = self.faults = expected
        self.given, self.meant = BUILT[expected]
        padded = expected == "left padding" and not right
        self.seen = MASK if padded else np.ones(self.meant.shape)
        self.find_library(partial(self.built, build))
        if right:
            ids = right(self.array(self.given, "int64"))
            try:
                self.meant = self.in_order(ids)
            except Broken as broken:
                raise ValueError(f"right must return ids, got {broken}") from broken

    def built(self, build: Any) -> Any:
        """Call a function that builds ids."""
        return user(build, self.array(self.given, "int64"))

    def in_order(self, ids: Any) -> Floats:
        """Return ids in the shape of those that are meant: axes may come last, (patches, 3)."""
        numbers = np.asarray(values(ids), np.float64)
        numbers = numbers.T if numbers.shape == self.meant.T.shape else numbers
        if numbers.shape != self.meant.shape:
            raise Broken(f"shape {numbers.shape} for {self.meant.shape}")
        return numbers


@Law(
    "values",
    ("positions",),
    "the ids are those of the book, or of `right`",
    cure=f"{NO_CAUSE}; if other ids are meant, pass right=, a function that builds them",
)
def ids(builder: Builder) -> Trials:
    """Compare the ids that matter."""
    seen = builder.seen
    built = builder.in_order(builder.built(builder.subject)) * seen
    call = IdsCall(builder.meant * seen, seen)
    axes = ("row", "column")
    return [Trial(builder.expected, built, call.right, axes=axes, call=call)]
