"""Biases that are added to scores, such as ALiBi's and T5's."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from posenc.attention import alibi_bias, alibi_slopes, t5_buckets
from posenc.checks.arrays import floats, values
from posenc.checks.laws import Broken, Measured, Skip, compared, law, user
from posenc.checks.probe import Probe
from posenc.conventions import Floats

LENGTH = 24
LONG = 300  # beyond T5's last bucket, which begins at 128

Expected = str | Callable[[int], Any] | None


class Bias(Probe):
    """A function seq_len → (seq_len, seq_len) or (heads, seq_len, seq_len), query by key."""

    kind = "bias"

    def __init__(self, bias: Any, causal: bool, expected: Expected, **options: Any) -> None:
        super().__init__(bias, **options)
        if not (expected in (None, "alibi", "t5") or callable(expected)):
            raise ValueError(f"expected must be 'alibi', 't5' or a function, got {expected!r}")
        self.causal, self.expected = causal, expected

    def square(self, seq_len: int, make: Callable[[int], Any] | None = None) -> Floats:
        """Return the bias with a head axis, and 0 where a causal mask hides it."""
        made = values(user(make or self.subject, seq_len))
        found = floats(made.astype(np.float64) if made.dtype.kind in "iu" else made, finite=False)
        if found.ndim not in (2, 3) or found.shape[-2:] != (seq_len, seq_len):
            raise Broken(f"shape {found.shape} for {(seq_len, seq_len)}")
        found = found.reshape(-1, seq_len, seq_len)
        return floats(np.tril(found) if self.causal else found)

    @cached_property
    def main(self) -> Floats:
        """The bias at the default length."""
        return self.square(LENGTH)


@law("shape", "bias")
def shape(probe: Bias) -> Measured:
    """The shape is (seq_len, seq_len), or one such for each head, and all entries are finite.

    Likely: an axis is missing, extra or swapped.
    """
    return 0.0, 0.0, f"{len(probe.main)} heads"


@law("offset", "bias")
def offset(probe: Bias) -> Measured:
    """The bias depends only on the offset between query and key.

    Bound: 4u|b|: two entries, each a slope and a product, rounded.
    Likely: the distance isn't that of query and key.
    """
    limit = 4 * probe.unit * np.abs(probe.main).max()
    return compared(probe.main[:, 1:, 1:], probe.main[:, :-1, :-1], limit)


@law("start", "bias")
def start(probe: Bias) -> Measured:
    """The bias doesn't depend on where the sequence ends.

    Likely: the length leaks into the bias.
    """
    return compared(probe.square(9), probe.main[:, :9, :9], 0, "a shorter sequence")


@law("values", "bias", after="offset start")
def expected_values(probe: Bias) -> Measured:
    """The bias is the requested one: ALiBi's slopes, T5's buckets, or expected values.

    Bound: 4u|b|: a slope and a product, twice; exact for entries of one bucket.
    Likely: another rule, or slopes for another number of heads.
    """
    if probe.expected is None:
        raise Skip("none were requested")
    if probe.expected == "t5":
        return one_value_per_bucket(probe)
    alibi, heads = probe.expected == "alibi", len(probe.main)
    make: Any = (lambda n: alibi_bias(heads, n)) if alibi else probe.expected
    wanted = probe.square(LENGTH, make)
    limit = 4 * probe.unit * float(np.abs(wanted).max())
    if alibi and (wrong := (np.abs(probe.main - wanted) > limit).any(axis=(1, 2))).any():
        head, slopes = int(wrong.argmax()), alibi_slopes(heads)
        how = f"head {head} has slope {-probe.main[head, 1, 0]:.6g}, not {slopes[head]:.6g}"
        cause = "if the number of heads isn't a power of two, the slopes of the power below come "
        raise Broken(how, cause + "first, then every second one of the power above")
    return compared(probe.main, wanted, limit, "head {}")


def one_value_per_bucket(probe: Bias) -> Measured:
    """Compare entries of one bucket, and then those of neighboring buckets: they must differ."""
    offsets = np.subtract.outer(np.arange(LONG), np.arange(LONG)).T
    bucket = t5_buckets(offsets, bidirectional=not probe.causal)
    seen = offsets <= 0 if probe.causal else np.ones_like(bucket, dtype=bool)
    numbers, first, of = np.unique(bucket[seen], return_index=True, return_inverse=True)
    entries, offsets = probe.square(LONG)[:, seen], offsets[seen]
    levels = entries[:, first]
    if (wrong := (entries != levels[:, of]).any(axis=0)).any():
        where = offsets[of == of[wrong.argmax()]]
        how = f"offsets {where.min()} to {where.max()} should share a bucket, but differ"
        cause = "a boundary is off by one, or the number of buckets or the largest distance is "
        raise Broken(how, f"{cause}another")
    same = (levels[:, 1:] == levels[:, :-1]).all(axis=0) & (np.diff(numbers) == 1)
    if same.sum() > len(numbers) // 2:
        raise Skip("most buckets have the same values: use random ones")
    if same.any():
        cause, one = "a boundary is off, or two buckets are one", numbers[same.argmax()]
        raise Broken(f"buckets {one} and {one + 1} have the same values", cause)
    return 0.0, 0.0, f"{len(numbers)} buckets"


@law("mirror", "bias")
def mirror(probe: Bias) -> Measured:
    """Without a causal mask, the bias is the same forward as backward.

    Likely: the distance is signed; a learned bias may do this: tags=['learned'].
    """
    if probe.causal:
        raise Skip("a causal mask hides the other side")
    back = probe.main.swapaxes(1, 2)
    if np.array_equal(probe.main, -back) and probe.main.any():
        raise Broken("the bias forward is minus the one backward", "signed distance")
    return compared(probe.main, back, 0)


@law("penalty", "bias", after="offset mirror")
def penalty(probe: Bias) -> Measured:
    """No word gets a bonus, and no farther word a smaller penalty.

    Likely: the sign or the distance is wrong; a learned bias may do this: tags=['learned'].
    """
    last = probe.main[:, -1]
    if (probe.main > 0).any():
        raise Broken("a word gets a bonus")
    if (np.diff(last, axis=1) < 0).any():
        raise Broken("a farther word gets a smaller penalty")
    if (flat := np.ptp(last, axis=1) == 0).any():
        how = f"head {flat.argmax()} has one penalty for all words"
        raise Broken(how, "the slope is 0, or was rounded to it")
    return 0.0, 0.0, ""
