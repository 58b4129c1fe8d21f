"""Biases that are added to scores, such as ALiBi's and T5's."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np

from posenc.attention import alibi_bias, t5_buckets
from posenc.checks.laws import Broken, Measured, Skip, compared, law, user
from posenc.checks.probe import Probe, floats, values
from posenc.conventions import Floats

LENGTH = 24
LONG = 300  # beyond T5's last bucket, which begins at 128


class Bias(Probe):
    """A function seq_len → (seq_len, seq_len) or (heads, seq_len, seq_len), query by key."""

    kind = "bias"

    def __init__(
        self, bias: Any, causal: bool = False, expected: Any = None, **options: Any
    ) -> None:
        super().__init__(bias, **options)
        if not (expected in (None, "alibi", "t5") or callable(expected)):
            raise ValueError(
                f"expected must be 'alibi', 't5' or a function, got {expected!r}"
            )
        self.causal, self.expected = causal, expected
        self.tags |= {"causal"} if causal else set()

    def square(self, seq_len: int, make: Callable[[int], Any] | None = None) -> Floats:
        """Return the bias with a head axis, and 0 where a causal mask hides it."""
        made = values(user(make or self.subject, seq_len))
        found = floats(
            made.astype(np.float64) if made.dtype.kind in "iu" else made, finite=False
        )
        if found.ndim not in (2, 3) or found.shape[-2:] != (seq_len, seq_len):
            raise Broken(f"shape {found.shape} for {(seq_len, seq_len)}")
        found = found.reshape(-1, seq_len, seq_len)
        return floats(np.tril(found) if self.causal else found)

    @cached_property
    def main(self) -> Floats:
        """The bias at the default length."""
        return self.square(LENGTH)


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
    if (
        probe.expected == "t5"
    ):  # entries of one bucket are equal, those of neighboring ones differ
        offsets = np.subtract.outer(np.arange(LONG), np.arange(LONG)).T
        seen = offsets <= 0 if probe.causal else offsets < LONG
        entries, offsets = probe.square(LONG)[:, seen], offsets[seen]
        buckets = t5_buckets(offsets, bidirectional=not probe.causal)
        numbers, first, of = np.unique(buckets, return_index=True, return_inverse=True)
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
            how = "buckets {} and {} have the same values".format(
                *numbers[same.argmax() :]
            )
            raise Broken(how, "a boundary is off, or two buckets are one")
        return 0.0, 0.0, f"{len(numbers)} buckets"
    alibi, heads = probe.expected == "alibi", len(probe.main)
    wanted = probe.square(
        LENGTH, partial(alibi_bias, heads) if alibi else probe.expected
    )
    limit = 4 * probe.unit * float(np.abs(wanted).max())
    if (
        alibi
        and (wrong := (np.abs(probe.main - wanted) > limit).any(axis=(1, 2))).any()
    ):
        head = int(wrong.argmax())
        one, other = (-each[head, 1, 0] for each in (probe.main, wanted))
        cause = "if the number of heads isn't a power of two, the slopes of the power below come "
        cause += "first, then every second one of the power above"
        raise Broken(f"head {head} has slope {one:.6g}, not {other:.6g}", cause)
    return compared(probe.main, wanted, limit, "head {}")


@law("mirror", "bias")
def mirror(probe: Bias) -> Measured:
    """Without a causal mask, the bias is the same forward as backward.

    Likely: the distance is signed; a learned bias may do this: tags=['learned'].
    """
    back = probe.main.swapaxes(1, 2)
    if np.array_equal(probe.main, -back) and probe.main.any():
        raise Broken("the bias forward is minus the one backward", "signed distance")
    return compared(probe.main, back, 0)


@law("penalty", "bias", after="offset mirror")
def penalty(probe: Bias) -> None:
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
