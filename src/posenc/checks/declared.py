"""What is declared of an encoding, and a result beside a convention. No code is called here."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from posenc._validate import check_choice, check_d_model, check_positions, check_real
from posenc.checks.trials import Trial
from posenc.conventions import KNOWN, Convention, Floats

# Bases of released models, the most usual ones first
BASES = [1e4, 5e5, 1e6, 1e5, 1e3, 1e2, 1e7, 5e6]
BASES += [8e6, 1.5e5, 1.6e5, 2.5e5, 5e4, 4e4, 3e4, 2e4]


def convention_of(declared: str | Convention | None, turns: bool) -> Convention | None:
    """Return a convention, or the known one of a name, which must be of the right kind."""
    if isinstance(declared, str):
        check_choice("name of a convention", declared, KNOWN)
        declared = KNOWN[declared]
    if declared and declared.rotary != turns:
        of = "a rotation" if turns else "a table"
        raise ValueError(f"convention must be that of {of}, got {declared}")
    return declared


def of_axes(frequencies: Any) -> Floats:
    """Return declared frequencies, (axes, pairs), or no pairs of one axis if there are none."""
    if frequencies is None:
        return np.zeros((1, 0))
    omega = check_positions(frequencies, "frequencies", ndim=None)
    if not omega.size or omega.ndim not in (1, 2):
        rule = "must have shape (pairs,) or (axes, pairs)"
        raise ValueError(f"frequencies {rule}, got {omega.shape}")
    return np.atleast_2d(omega)


class Result(NamedTuple):
    """What a call gave."""

    x: Floats  # (..., seq_len, width)
    k: Floats  # positions, (seq_len,) or (batch, seq_len)
    out: Floats  # of the shape of x
    unit: float  # of rounding, in the type that was returned
    carried: float  # the multiplier of x, where rows are added to it


class Declared:
    """What an encoding of some kind is declared to be; without options, nothing is."""

    def __init__(
        self,
        kind: str,
        base: float | None = None,
        convention: str | Convention | None = None,
        frequencies: Any = None,
        attention_factor: float = 1.0,
        learned: bool = False,
    ) -> None:
        if base is not None and (convention or frequencies is not None):
            raise ValueError("base must not be given with what includes it")
        self.kind = kind
        self.turns = kind == "rotary"
        # Those that it may have
        self.bases = BASES
        if base is not None:
            self.bases = [check_real("base", base, positive=True)]
        self.convention = convention_of(convention, self.turns)
        self.frequencies = of_axes(frequencies)
        self.count_of_axes, self.pairs = self.frequencies.shape
        self.factor = check_real("attention_factor", attention_factor, positive=True)
        self.is_sinusoid = bool(base or convention or self.pairs)
        self.learned = learned
        if learned and (self.is_sinusoid or self.turns):
            raise ValueError("learned must not be given with what is of sinusoids")

    def widths(self, widths: Any) -> list[int]:
        """Return these widths, or one, or the usual ones if there are none; check that they fit.

        Declared frequencies are those of one width alone.
        """
        usual = [2 * self.pairs] if self.pairs else [16, 24]
        taken = [check_d_model(width) for width in np.ravel(widths)] or usual
        known = self.convention or Convention()
        most = len(known.encoding(np.zeros((1, taken[0])), [0]).powers)
        # Of a rotation, a part may turn.
        fewest = 0 if self.turns and not self.convention else most
        fits = len(taken) == 1 and fewest <= self.pairs <= most
        if self.pairs and not fits:
            rule = f"must be one that frequencies of {self.pairs} pairs fit"
            raise ValueError(f"widths {rule}; got {taken}")
        return taken

    def trial(self, convention: Convention, result: Result) -> Trial:
        """Compare a result with a convention, at the declared frequencies if there are any."""
        x, k, out, unit, carried = result
        if k.ndim == 2:
            # (batch, seq_len) → (batch, 1, …, seq_len), over the heads
            k = k.reshape(len(k), *[1] * (x.ndim - 3), -1)
        call = convention.encoding(x, np.broadcast_to(k, x.shape[:-1]))
        call = call._replace(factor=self.factor, carried=carried)
        if self.pairs:
            # Coordinates of several axes are equal, so that their frequencies add up.
            call = call._replace(frequencies=self.frequencies.sum(axis=0))
        # (seq_len, width), (batch, seq_len, width) or (batch, heads, seq_len, width)
        axes = (*("sequence", "head")[: x.ndim - 2], "position", "dimension")
        return Trial(
            f"shape {x.shape}", out, call.meant, call.bounds(unit), axes, call, unit
        )

    def trials(self, convention: Convention, results: list[Result]) -> list[Trial]:
        """Compare results with a convention."""
        return [self.trial(convention, result) for result in results]
