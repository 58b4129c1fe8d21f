"""What runs in one kind of layer: where positions enter, and how queries and keys turn.

`posenc.config` reads it from files; the words that are constants here are what it prints.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from torch import Tensor

    from posenc.nn import Turns

Array = NDArray[Any]
X = TypeVar("X", Array, "Tensor")

UNSAID = "the file doesn't say"
ROTARY, BIAS, TABLE = "queries and keys, rotary", "scores, a bias", "input, a table"
NOWHERE, NO_ATTENTION = "nowhere", "nowhere, and without attention"
# Of a rotation these are named even if nothing says them.
ASKED = {"head_dim", "rotated", "pairing", "base", "scaling", "frequencies"}


@dataclass(frozen=True)
class Layers:
    """What runs in one kind of layer. None means that neither the file nor its type says."""

    #: The kind, in the file's own words if it has any.
    name: str = "all layers"
    #: Where positions enter.
    where: str | None = None
    #: Number of layers of this kind.
    count: int | None = None
    #: These layers, counted from 0.
    indices: tuple[int, ...] | None = None
    #: Number of keys that a query sees, if limited.
    window: int | None = None
    #: Number of keys after which attention begins anew.
    chunk: int | None = None
    #: Tables that the input gets, learned or fixed, and their rows.
    table: str | None = None
    #: Width of a query or key.
    head_dim: int | None = None
    #: How many of its dimensions turn.
    rotated: int | None = None
    #: The first dimension that turns.
    first: int | None = None
    #: Pairs, "halves" (i, i + rotated/2) or "neighbors" (2i, 2i + 1).
    pairing: str | None = None
    #: The constant that spreads the frequencies.
    base: float | None = None
    #: The type of scaling, "default" for none.
    scaling: str | None = None
    #: Radians per position, in a text of at most the length before scaling.
    frequencies: tuple[float, ...] | None = None
    #: The same in longer texts, if different.
    frequencies_beyond: tuple[float, ...] | None = None
    #: Multiplier of cosine and sine.
    attention_factor: float | None = None
    #: The same beyond, if different.
    attention_factor_beyond: float | None = None
    #: Additional multiplier of scores, for the scaling.
    score_factor: float | None = None
    #: "before" or "after" the rotation, if there is a norm.
    norm: str | None = None
    #: Number of pairs for time, height and width.
    sections: tuple[int, ...] | None = None
    #: These pairs are "in sections", or "interleaved".
    axes: str | None = None

    def __str__(self) -> str:
        """Format everything for people, enough to write the kernel."""
        number = "" if self.count is None else f" ({self.count})"
        lines = [f"{shown(self.name)}{number}: {self.where or UNSAID}"]
        asked = ASKED if self.where == ROTARY else ()
        for name, value in vars(self).items():
            said = value is not None or name in asked
            if said and name not in ("name", "where", "count"):
                lines.append(f"  {name}: {shown(value)}")
        return "\n".join(lines)

    @overload
    def turns(self, positions: Tensor, *, beyond: bool = ...) -> Turns: ...
    @overload
    def turns(
        self, positions: ArrayLike, *, beyond: bool = ...
    ) -> tuple[Array, Array]: ...
    def turns(self, positions: Any, *, beyond: bool = False) -> Any:
        """Return `rotary_turns` of these layers: tensors for a tensor, else arrays.

        Parameters
        ----------
        positions : Tensor or array_like
            As for `rotary_turns`.
        beyond : bool
            Whether the text is longer than the trained length, which some scalings ask.
        """
        omega = np.array((beyond and self.frequencies_beyond) or self.frequencies or ())
        if not omega.size:
            raise ValueError(
                f"the file doesn't say how layers {self.name!r} turn, or they don't"
            )
        factor = (beyond and self.attention_factor_beyond) or self.attention_factor
        make = _library(positions).rotary_turns
        return make(positions, frequencies=omega, attention_factor=factor)

    def rotate(self, x: X, turns: tuple[X, X], **options: Any) -> X:
        """Turn a query or key of these layers, by what `turns` returned.

        `options` are those of `rotate_pairs`: `seq_dim`, and `pairing` and `first` where the file
        doesn't say them. The width of `x` must be `head_dim`.
        """
        if self.head_dim not in (None, np.shape(x)[-1]):
            raise ValueError(
                f"x must have width head_dim = {self.head_dim}, got {np.shape(x)[-1]}"
            )
        options = {"first": self.first, "pairing": self.pairing} | options
        for name in ("first", "pairing"):
            if options[name] is None:
                raise ValueError(f"{name} must be given, as the file doesn't say it")
        turned: X = _library(x).rotate_pairs(x, turns=turns, **options)
        return turned


def shown(value: Any) -> str:
    """Format a value for people, without control characters."""
    if value is None:
        return UNSAID
    if isinstance(value, tuple | list):
        return ", ".join(map(shown, value))
    if isinstance(value, int | float) and not isinstance(value, bool):
        number = f"{value:,.6g}" if isinstance(value, float) else f"{value:,}"
        return number.replace(",", " ")
    text = str(value)[:120]
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def _library(x: Any) -> Any:
    """Return the module whose functions take `x`: `posenc.nn` for a tensor."""
    torch = sys.modules.get("torch")
    return import_module(
        "posenc.nn" if torch and isinstance(x, torch.Tensor) else "posenc.attention"
    )
