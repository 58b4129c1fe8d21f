"""The arguments of live figures: labels, limits and choices of their controls."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import traitlets

from posenc._validate import check_base, check_d_model, check_int

VARIANTS = {
    "halves": "sines first, then cosines",
    "cosine first": "cosine before sine",
    "from 1": "positions counted from 1",
    "minus 1": "exponent i/(d/2 − 1)",
    "ones": "exponent 0",
    "dimension for pair": "exponent 2j/d, with the dimension j",
    "own exponent": "exponent j/d, with the dimension j",
}
"""The tables that `widgets.Switch` compares with the paper's, by name."""

RULES = {
    "none": "As trained",
    "interpolation": "Interpolation: every frequency divided by s",
    "raised base": "NTK-aware: the base times s^(d/(d − 2))",
    "llama3": "llama3: by parts, over the turns of a pair",
    "YaRN": "YaRN: by parts, over the number of a pair",
}
"""The rules of `widgets.Stretch`, by name."""

METHODS = {
    "none": "No encoding",
    "added": "Encodings added",
    "rotary": "Both turned",
    "ALiBi": "A quarter less per position",
}
"""The encodings of `widgets.Score`, by name."""

ORDERS = tuple(map(" ".join, itertools.permutations(["dog", "bites", "man"])))
"""The sentences of `widgets.Words`."""


class Field(traitlets.TraitType[Any, Any]):
    """An argument of a figure, with the label of its control; `limits` is for the script."""

    def __init__(self, label: str, default: Any, rule: str, **limits: Any) -> None:
        super().__init__(default)
        self.label, self.rule, self.limits = label, rule, limits
        self.tag(sync=True, argument=True)

    def control(self) -> dict[str, Any]:
        """Return what `script` needs to know about it."""
        return {"label": self.label, "initial": self.default_value, **self.limits}

    def top(self, figure: Any) -> float:
        """Return the upper limit for a figure's state."""
        return float(self.limits.get("max", np.inf))

    def _cross_validate(self, obj: Any, value: Any) -> Any:
        """Check the upper limit, once all arguments are set."""
        if isinstance(value, str) or value <= (most := self.top(obj)):
            return value
        raise ValueError(f"{self.name} must be at most {most:.0f}, got {value!r}")


class Whole(Field):
    """An integer within limits; even if the step is 2."""

    def __init__(self, label: str, default: int, low: int, high: int, *, step: int = 1) -> None:
        rule = f"from {low} to {high}" + (", even" if step == 2 else "")
        super().__init__(label, default, rule, min=low, max=high, step=step)

    def validate(self, obj: Any, value: Any) -> int:
        """Return `value` as an int; raise if it is below the lower limit."""
        whole = check_int(str(self.name), value, minimum=self.limits["min"])
        return check_d_model(whole) if self.limits["step"] == 2 else whole


class Within(Whole):
    """An integer from 0, below another argument or a part of it."""

    def __init__(self, label: str, default: int, other: Whole, parts: int = 1) -> None:
        super().__init__(label, default, 0, other.limits["max"] // parts - 1)
        self.other, self.parts = other, parts

    def control(self) -> dict[str, Any]:
        """Return what `script` needs to know about it."""
        return super().control() | {"below": self.other.name, "parts": self.parts}

    def top(self, figure: Any) -> float:
        """Return the upper limit for a figure's state."""
        return int(getattr(figure, str(self.other.name))) // self.parts - 1


class Base(Field):
    """A base within limits; its control is logarithmic."""

    def __init__(self, low: int = 1, high: int = 1_000_000) -> None:
        limits = {"min": low, "max": high, "step": 0.25, "log": True}
        super().__init__("base n", 10_000.0, f"from {low} to {high}", **limits)

    def validate(self, obj: Any, value: Any) -> float:
        """Return `value` as a float; raise if it is below the lower limit."""
        if check_base(value) < self.limits["min"]:
            raise ValueError(f"base must be at least {self.limits['min']}, got {value!r}")
        return float(value)


class Choice(Field):
    """One of several names, each with a one-line description."""

    def __init__(self, label: str, default: str, options: dict[str, str]) -> None:
        super().__init__(label, default, f"one of {', '.join(options)}", options=options)

    def validate(self, obj: Any, value: Any) -> str:
        """Return `value` if it is one of the names."""
        if value not in self.limits["options"]:
            raise ValueError(f"{self.name} must be {self.rule}, got {value!r}")
        return str(value)
