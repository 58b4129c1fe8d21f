"""Biases that are added to scores, such as ALiBi's and T5's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from posenc.attention import alibi_bias, alibi_slopes, t5_buckets
from posenc.checks.subjects import Subject, floats, values
from posenc.checks.trials import Broken, Skip, Trial, law, user
from posenc.conventions import UNIT, Floats

LENGTH = 24
LONG = 300  # beyond T5's last bucket, which begins at 128
EXPECTED = "pass expected='alibi', 't5', or a function that returns the right one"


class Bias(Subject):
    """A function seq_len → (seq_len, seq_len) or (heads, seq_len, seq_len), query by key."""

    kind = "bias"

    def __init__(
        self, bias: Any, causal: bool = False, expected: Any = None, **options: Any
    ) -> None:
        super().__init__(bias, **options)
        if expected not in (None, "alibi", "t5") and not callable(expected):
            raise ValueError(
                f"expected must be 'alibi', 't5' or a function, got {expected!r}"
            )
        self.causal, self.expected = causal, expected
        hints = [] if expected else [f"its values aren't checked: {EXPECTED}"]
        hints += [] if causal else ["if a mask hides later keys, pass causal=True"]
        self.about = "; ".join(hints)

    def square(self, seq_len: int = LENGTH, make: Any = None) -> Floats:
        """Return the bias with a head axis, and 0 where a causal mask hides it."""
        made = values(user(make or self.subject, seq_len))
        bias = floats(
            made.astype(np.float64) if made.dtype.kind in "iu" else made, finite=False
        )
        if bias.ndim not in (2, 3) or bias.shape[-2:] != (seq_len, seq_len):
            raise Broken(f"shape {bias.shape} for {(seq_len, seq_len)}")
        # (heads, query, key)
        bias = bias.reshape(-1, seq_len, seq_len)
        return floats(np.tril(bias) if self.causal else bias)

    def explain(self, trials: Sequence[Trial]) -> str:
        """Run the known faults of ALiBi, with its slopes, and with the measured ones."""
        given, said = self.square(), []
        # Key minus query.
        offsets = np.arange(LENGTH) - np.arange(LENGTH)[:, None]
        for slopes in (
            alibi_slopes(len(given))[:, None, None],
            np.abs(given[:, 1:2, :1]),
        ):
            for text, make in FAULTS.items():
                wrong, right = make(slopes, offsets), -slopes * abs(offsets)
                if self.causal:
                    wrong, right = np.tril(wrong), np.tril(right)
                if np.allclose(given, wrong, 1e-5) and not np.allclose(
                    wrong, right, 1e-5
                ):
                    said.append(text)
        return "; or ".join(dict.fromkeys(said))


def of_heads(slopes: Floats, step: float, first: int = 1) -> Floats:
    """Return powers of 2 for heads that are counted from a number."""
    return np.asarray(2.0 ** (-step * (first + np.arange(len(slopes))[:, None, None])))


SIGNED = "the distance is signed: take `abs`; or if a mask hides later keys, pass causal=True "
SIGNED += "(exhibit H: notebooks/16_batches_and_caches.html#exhibit-h)"
# A wrong bias of slopes, shape (heads, 1, 1), and offsets from query to key.
FAULTS: dict[str, Callable[[Any, Any], Any]] = {
    SIGNED: lambda slopes, offsets: slopes * offsets,
    f"{SIGNED}, from key to query": lambda slopes, offsets: -slopes * offsets,
    "a farther word gets a bonus": lambda slopes, offsets: slopes * abs(offsets),
    "slopes are in reverse order": lambda slopes, offsets: -slopes[::-1] * abs(offsets),
    "slopes are 2^(-8h/n), though n heads are no power of two": lambda slopes, offsets: (
        -of_heads(slopes, 8 / len(slopes)) * abs(offsets)
    ),
    "slopes are 2^-h, those of 8 heads": lambda slopes, offsets: (
        -of_heads(slopes, 1) * abs(offsets)
    ),
    "heads are counted from 0 in the slopes": lambda slopes, offsets: (
        -of_heads(slopes, 8 / len(slopes), 0) * abs(offsets)
    ),
    "distances are one too large": lambda slopes, offsets: -slopes * (abs(offsets) + 1),
    "distances are squared": lambda slopes, offsets: -slopes * offsets**2,
}


def alike(words: str, given: Floats, meant: Floats, bound: float = 0.0) -> Trial:
    """Compare two biases."""
    return Trial(words, given, meant, bound + 0 * meant, ("head", "query", "key"))


@law(
    "shape",
    "bias",
    "the shape is (heads, seq_len, seq_len), and all entries are finite",
)
def shape(bias: Bias) -> Iterator[Trial]:
    """Ask for the usual length."""
    yield alike(f"{len(bias.square())} heads", bias.square(), bias.square())


@law(
    "values",
    "bias",
    "the bias is the expected one",
    "4u|b|: a slope and a product, twice",
)
def expected_values(bias: Bias) -> Iterator[Trial]:
    """Compare with ALiBi, with T5's buckets, or with the given function."""
    if bias.expected is None:
        raise Skip(EXPECTED)
    if bias.expected == "t5":
        yield in_buckets(bias)
        return
    main = bias.square()
    alibi = bias.expected == "alibi"
    meant = bias.square(
        LENGTH, (lambda n: alibi_bias(len(main), n)) if alibi else bias.expected
    )
    if meant.shape != main.shape:
        raise Broken(f"{len(main)} heads for {len(meant)}")
    yield alike("", main, meant, 4 * UNIT * float(np.abs(meant).max()))


def in_buckets(bias: Bias) -> Trial:
    """Compare each entry with the first of its bucket; neighboring buckets should differ."""
    offsets = np.arange(LONG) - np.arange(LONG)[:, None]
    seen = offsets <= 0 if bias.causal else offsets < LONG
    buckets = t5_buckets(offsets[seen], bidirectional=not bias.causal)
    entries = bias.square(LONG)[:, seen]
    numbers, first, groups = np.unique(buckets, return_index=True, return_inverse=True)
    # (heads, buckets): the first entry of each
    levels = entries[:, first]
    same = np.flatnonzero((np.diff(levels, axis=1) == 0).all(axis=0))
    if len(same) > len(numbers) // 2:
        raise Skip("most buckets have the same values: use random ones")
    meant, names = levels[:, groups], ("head", "entry")
    if (entries == meant).all() and len(same):
        raise Broken(
            f"buckets {numbers[same[0]]} and {numbers[same[0] + 1]} have the same values"
        )
    return Trial("by bucket", entries, meant, 0 * meant, names)


@law(
    "offset",
    "bias",
    "the bias depends only on the offset between query and key",
    "4u|b|",
)
def offset(bias: Bias) -> Iterator[Trial]:
    """Shift query and key by one."""
    main = bias.square()
    bound = 4 * UNIT * float(np.abs(main).max())
    yield alike("shifted by one", main[:, 1:, 1:], main[:, :-1, :-1], bound)


@law("start", "bias", "the bias doesn't depend on where the sequence ends")
def start(bias: Bias) -> Iterator[Trial]:
    """Ask for a shorter sequence."""
    yield alike("of 9 for 24", bias.square(9), bias.square()[:, :9, :9])


@law(
    "mirror", "bias", "without a causal mask, the bias is the same forward and backward"
)
def mirror(bias: Bias) -> Iterator[Trial]:
    """Exchange query and key."""
    if bias.causal:
        raise Skip("a causal mask hides the other side")
    yield alike("transposed", bias.square(), bias.square().swapaxes(1, 2))


@law("penalty", "bias", "no word gets a bonus, and no farther word a smaller penalty")
def penalty(bias: Bias) -> Iterator[Trial]:
    """Look at the signs, and at the last query."""
    main = bias.square()
    yield alike("a bonus", np.maximum(main, 0), 0 * main)
    # The last query sees all keys, from far to near.
    falls = np.minimum(np.diff(main[:, -1:], axis=2), 0)
    yield alike("from key to key of the last query", falls, 0 * falls)
    for head in np.flatnonzero(np.ptp(main[:, -1], axis=1) == 0):
        raise Broken(f"head {head} has one penalty for all words")
