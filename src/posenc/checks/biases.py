"""Biases of scores, such as ALiBi's and T5's: how they are called, asked, and explained."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

from posenc._validate import check_choice
from posenc.attention import alibi_bias, alibi_slopes, t5_buckets
from posenc.checks.laws import Law
from posenc.checks.reports import NO_CAUSE
from posenc.checks.subjects import Subject, floats, values
from posenc.checks.sums import CLOSE, CLOSER, fewest_parts, written
from posenc.checks.trials import (
    NEAR,
    OTHER_KIND,
    Broken,
    Raised,
    Skip,
    Trial,
    Trials,
    tolerance,
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
SIGNED = (
    "take `abs`; or if a mask hides later keys, pass causal=True "
    "(exhibit H: notebooks/16_batches_and_caches.html#exhibit-h)"
)
SCALED = "mind sign and scale, and count heads from 1"
SLOPES = (
    "take 2^(-8h/n), every other one of 2n beyond a power of two, and each rank's own"
)
SHIFTED = (
    "shifted without the mask: later keys get the next row's values; count distances "
    "both ways, or if a mask hides them, pass causal=True"
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
        self.causal, self.expected = causal, expected
        if callable(expected):
            try:
                self.square(make=expected)
            except (Broken, Raised) as wrong:
                raise ValueError(f"expected must return a bias, got {wrong}") from wrong
        elif expected is not None:
            check_choice("expected, unless a function,", expected, ("alibi", "t5"))
        self.learned = learned or expected == "t5"

    def described(self) -> tuple[None, str]:
        """Say which arguments would let more be checked."""
        hints = [] if self.expected else [f"its values aren't checked: {EXPECTED}"]
        hints += [] if self.causal else ["if a mask hides later keys, pass causal=True"]
        return None, "; ".join(hints)

    def called(self, make: Any, seq_len: int) -> Any:
        """Call a function for a bias; return its result as (heads, query, key)."""
        bias = values(user(make, seq_len))
        if bias.ndim == 4 and len(bias) == 1:  # of a batch, in MPT and transformers' T5
            bias = bias[0]
        one_row = bias.shape[-2:] == (1, seq_len)
        if one_row and self.causal:
            bias = np.repeat(bias, seq_len, axis=-2)
        if (
            not bias.size
            or bias.ndim not in (2, 3)
            or bias.shape[-2:] != (seq_len, seq_len)
        ):
            cause = ONE_ROW if one_row else ""
            raise Broken(f"shape {bias.shape} for {(seq_len, seq_len)}", cause)
        return bias.reshape(-1, seq_len, seq_len)

    def square(self, seq_len: int = LENGTH, make: Any = None) -> Floats:
        """Return the bias, (heads, query, key), in float64.

        Under a causal mask, one row may serve all queries; and it is less each row's diagonal,
        since a softmax ignores a constant of a row, and 0 where it is hidden.
        """
        # Whole numbers are as good; what is hidden may be infinite.
        bias = self.called(make or self.subject, seq_len).astype(np.float64)
        if self.causal:
            bias = np.tril(bias - bias.diagonal(axis1=1, axis2=2)[..., None])
        return floats(bias)

    def trial(self, words: str, given: Floats, meant: Floats) -> Trial:
        """Compare biases: a slope and a product are rounded, on both sides."""
        bound = 4 * UNIT * float(np.abs(meant).max())
        return Trial(words, given, meant, bound, AXES)

    def explain(self, trials: list[Trial]) -> str:
        """Return what gives the whole bias, whichever trials failed, or "".

        Of T5's buckets, which may have any values, there is no sum to look for.
        """
        given = self.square()
        if callable(self.expected):
            return beside_right(given, self.square(make=self.expected))
        if np.array_equal(given, shifted(given)):
            return SHIFTED
        return "" if self.expected == "t5" else self.beside_slopes(given)

    def beside_slopes(self, given: Floats) -> str:
        """Explain a bias beside ALiBi's, with its slopes if expected, or else the measured ones."""
        # (query, key); it is 0, as the bias, where a mask hides a key.
        k = offsets(given.shape[-1])
        if self.causal:
            k = np.tril(k)
        # (heads, 1, 1): a key one before its query gets minus the slope.
        measured = -given[:, 1:2, :1]
        slopes = np.abs(measured)
        if self.expected == "alibi":
            slopes = alibi_slopes(len(given))[:, None, None]
        distance = np.abs(k)
        right = self.trial("", given, -slopes * distance)
        if right.worst <= 1:
            return ""
        near = float(min(tolerance([right]), NEAR * np.abs(given).max()) + right.bounds)
        parts = {
            "slope*distance": slopes * distance,
            "slope*offset": slopes * k,
            "slope": slopes + 0 * k,
        }
        # Of sums that are equal, one says enough.
        for weights in fewest_parts(given, parts, near)[:1]:
            cure = SIGNED if "slope*offset" in weights else SCALED
            return f"it is {written(weights)}, for -slope*distance; {cure}"
        if np.abs(given + measured * distance).max() <= near:
            return other_slopes(measured.ravel(), slopes.ravel())
        return ""


def beside_right(given: Floats, right: Floats) -> str:
    """Say which multiple of the right bias was given, or that query and key are swapped, or ""."""
    parts = {"right": right, "right.T": right.swapaxes(1, 2)}
    for weights in fewest_parts(given, parts, CLOSER)[:1]:
        text = written(weights)
        if text != "right":
            return f"it is {text}; mind sign and scale"
    return ""


def offsets(seq_len: int) -> Any:
    """Return how far each key is from each query, (seq_len, seq_len)."""
    k = np.arange(seq_len)
    return k - k[:, None]


def shifted(given: Floats) -> Any:
    """Return what Transformer-XL's shift makes of the last row: at later keys, the next row's."""
    # By distance, (heads, seq_len)
    past = given[:, -1, ::-1]
    # A row of zeros stays as it is.
    if not past.any():
        return np.nan
    # With the zero that a shift pads it with
    padded = np.pad(past, ((0, 0), (0, 1)))
    return padded[:, -offsets(given.shape[-1]) % padded.shape[1]]


def other_slopes(slopes: Floats, right: Floats) -> str:
    """Write slopes, (heads,), as powers, as those of other heads, or as they are."""
    h = 1.0 + np.arange(len(slopes))
    logarithms = np.log2(np.maximum(slopes, 1e-30))
    lines = fewest_parts(logarithms, {"1": 0 * h + 1, "h": h}, CLOSE)
    # (right heads, heads)
    nearest = np.abs(slopes - right[:, None]).argmin(axis=0)
    text = str(slopes)
    if lines:
        text = f"2^({written(lines[0])})"
    elif np.allclose(slopes, right[nearest]):
        text = f"those of heads {nearest + 1}"
    return f"other slopes: they are {text}, of heads h from 1 on; {SLOPES}"


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
    k = offsets(LONG)
    seen = (k <= 0) | (not bias.causal)
    # (heads, entries), without those that a mask hides
    entries = bias.square(LONG)[:, seen]
    buckets = t5_buckets(k[seen], bidirectional=two_sided)
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
