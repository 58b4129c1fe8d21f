"""Biases of scores, such as ALiBi's: how they are called, asked, and explained."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from posenc._validate import check_choice
from posenc.attention import alibi_bias
from posenc.checks.laws import Law
from posenc.checks.reports import NO_CAUSE
from posenc.checks.subjects import Subject, floats, values
from posenc.checks.trials import NEAR, OTHER_KIND, Broken, Skip, Trial, Trials, user
from posenc.conventions import UNIT, Floats

LENGTH = 24
EXPECTED = "pass expected='alibi', or a function that returns the right one"
MASKED = "if a mask hides later keys, pass causal=True"
ONE_ROW = (
    f"{MASKED}: one row for all queries will do, and what is hidden may be infinite"
)
CURE = (
    "mind sign and scale; ALiBi's slopes are 2^(-8h/n), h from 1 on, every other one of 2n beyond "
    f"a power of two; its distances have no sign; {MASKED} "
    "(exhibit H: notebooks/16_batches_and_caches.html#exhibit-h)"
)


class Bias(Subject):
    """A function seq_len → (seq_len, seq_len) or (heads, seq_len, seq_len), query by key."""

    kind = "bias"
    usage = "`bias(seq_len)`"

    def __init__(
        self,
        bias: Any,
        causal: bool = False,
        expected: Any = None,
        learned: bool = False,
    ) -> None:
        super().__init__(bias)
        self.causal, self.expected, self.learned = causal, expected, learned
        if callable(expected):
            self.square(make=expected)
        elif expected is not None:
            check_choice("expected, unless a function,", expected, ("alibi",))
        hints = [] if expected else [f"its values aren't checked: {EXPECTED}"]
        hints += [] if causal else [MASKED]
        self.hint = "; ".join(hints)

    def square(self, seq_len: int = LENGTH, make: Any = None) -> Floats:
        """Return the bias, (heads, query, key), in float64.

        Under a causal mask, one row may serve all queries; and it is less each row's diagonal,
        since a softmax ignores a constant of a row, and 0 where it is hidden.
        """
        # Whole numbers are as good; what is hidden may be infinite.
        bias = values(user(make or self.subject, seq_len)).astype(np.float64)
        rows = 1 if self.causal and bias.shape[-2:-1] == (1,) else seq_len
        if not bias.size or bias.shape[-2:] != (rows, seq_len):
            raise Broken(f"a bias of shape {bias.shape} for {(seq_len, seq_len)}")
        # In front may be heads, and a batch of length 1.
        bias = np.repeat(bias.reshape(-1, rows, seq_len), seq_len // rows, axis=1)
        if self.causal:
            bias = np.tril(bias - bias.diagonal(axis1=1, axis2=2)[..., None])
        return floats(bias)

    def right(self, heads: int) -> Floats:
        """Return what is expected, or if that isn't said, ALiBi's: (heads, query, key)."""
        alibi = partial(alibi_bias, heads)
        return self.square(make=self.expected if callable(self.expected) else alibi)

    def trial(self, words: str, given: Floats, meant: Floats) -> Trial:
        """Compare biases: a slope and a product are rounded, on both sides."""
        bound = 4 * UNIT * float(np.abs(meant).max())
        return Trial(words, given, meant, bound, ("head", "query", "key"))

    def explain(self, trials: list[Trial]) -> str:
        """Return what the whole bias is a multiple of, head by head, or "".

        Beside ALiBi's for two heads, a bonus is -1, -1 times the right one, and slopes of 1/2 and
        1/4, for 1/16 and 1/256, are 8, 64 times the right one.
        """
        given = self.square()
        right = self.right(len(given))
        bases = {}
        # Of what depends on the length, say, a multiple isn't the cause.
        if trials[0].meant.shape == right.shape:
            bases["the right one"] = right
            bases["the right one's transpose"] = right.swapaxes(1, 2)
        later = np.triu(np.ones(right.shape), 1)
        bases["the right one, but later keys' sign"] = right * (1 - 2 * later)
        for name, base in bases.items():
            # By least squares, (heads,); of zeros, any multiple is as near.
            size = np.maximum((base * base).sum(axis=(1, 2)), 1e-300)
            times = (given * base).sum(axis=(1, 2)) / size
            off = np.abs(given - times[:, None, None] * base).max()
            if off <= NEAR * np.abs(given).max():
                listed = ", ".join(f"{multiple:.4g}" for multiple in times)
                return f"head by head, it is {listed} times {name}; {CURE}"
        return ""


BIAS = ("bias",)


@Law(
    "shape",
    BIAS,
    "the shape is (heads, seq_len, seq_len), and entries are finite",
    cure=ONE_ROW,
)
def shape(bias: Bias) -> None:
    """Ask for the usual length."""
    bias.square()


@Law("values", BIAS, "the bias is the expected one", "4u|b|: a slope, a product, twice")
def expected_values(bias: Bias) -> Trials:
    """Compare with ALiBi, or with the given function."""
    if bias.expected is None:
        raise Skip(EXPECTED)
    given = bias.square()
    return [bias.trial("all entries", given, bias.right(len(given)))]


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
    return [Trial("from far to near", rows, meant, axes=("query", "head", "key"))]
