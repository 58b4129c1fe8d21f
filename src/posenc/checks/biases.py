"""Biases that are added to scores, such as ALiBi's."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from posenc.checks.conventions import Floats
from posenc.checks.subjects import Broken, Measured, Skip, Subject, floats, values

LENGTH = 24


class Bias(Subject):
    """A function seq_len → (seq_len, seq_len) or (heads, seq_len, seq_len), query by key."""

    kind = "bias"
    sources: ClassVar = {
        "offset": "4u|b|: two entries, each a slope and a product, rounded",
        "start": "exact",
    }

    def __init__(self, bias: Callable[[int], Any], causal: bool = False) -> None:
        super().__init__()
        self.bias, self.causal = bias, causal

    def square(self, seq_len: int) -> Floats:
        """Return the bias with a head axis, and 0 where a causal mask hides it."""
        made = values(self.bias(seq_len))
        found = floats(made.astype(np.float64) if made.dtype.kind in "iu" else made, finite=False)
        if found.ndim not in (2, 3) or found.shape[-2:] != (seq_len, seq_len):
            raise Broken(f"shape {found.shape} for {(seq_len, seq_len)}")
        found = found.reshape(-1, seq_len, seq_len)
        return floats(np.tril(found) if self.causal else found)

    @cached_property
    def main(self) -> Floats:
        """The bias at the default length."""
        return self.square(LENGTH)

    def law_shape(self) -> Measured:
        return 0.0, 0.0, f"{len(self.main)} heads"

    def law_offset(self) -> Measured:
        moved = np.abs(self.main[:, 1:, 1:] - self.main[:, :-1, :-1])
        return float(moved.max()), 4 * self.unit * float(np.abs(self.main).max()), ""

    def law_start(self) -> Measured:
        part = self.main[:, :9, :9]
        return float(np.abs(self.square(9) - part).max()), 0.0, "a shorter sequence"

    def law_mirror(self) -> Measured:
        if self.causal:
            raise Skip("a causal mask hides the other side")
        return float(np.abs(self.main - self.main.swapaxes(1, 2)).max()), 0.0, ""

    def law_penalty(self) -> Measured:
        last = self.main[:, -1]
        if (self.main > 0).any():
            raise Broken("a word gets a bonus")
        if (np.diff(last, axis=1) < 0).any():
            raise Broken("a farther word gets a smaller penalty")
        same = np.ptp(last, axis=1) == 0
        if same.any():
            how = f"head {int(same.argmax())} has one penalty for all words"
            raise Broken(how, likely="the slope is 0, or was rounded to it")
        return 0.0, 0.0, ""

    def resembles(self, law: str) -> str | None:
        """Look for a signed distance."""
        signed = np.array_equal(self.main, -self.main.swapaxes(1, 2))
        return "signed distance" if signed and self.main.any() else None
