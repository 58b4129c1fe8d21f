"""The arguments of live figures: label, default and limits of each control."""

from __future__ import annotations

from typing import Any

import traitlets

from posenc._validate import check_base, check_d_model, check_int


class Field(traitlets.TraitType[Any, Any]):
    """An argument of a figure, with limits for the script, maybe below (a part of) another."""

    def __init__(
        self, label: str, default: Any, other: Field | None = None, parts: int = 1, **limits: Any
    ) -> None:
        super().__init__(default)
        self.label: str = label
        self._parts = parts
        self.other: Field | None = other
        self.limits: dict[str, Any] = limits
        self.tag(sync=True)

    def control(self) -> dict[str, Any]:
        """Return what the script needs to know."""
        known = {"label": self.label, "initial": self.default_value, **self.limits}
        return known | ({"below": self.other.name, "parts": self._parts} if self.other else {})

    def top(self, figure: Any) -> int:
        """Return the upper limit in a figure's state."""
        if self.other:
            return int(getattr(figure, str(self.other.name))) // self._parts - 1
        return int(self.limits["max"])

    def _cross_validate(self, obj: Any, value: Any) -> Any:
        """Check the upper limit, once all arguments are set."""
        if isinstance(value, str) or value <= (most := self.top(obj)):
            return value
        raise ValueError(f"{self.name} must be at most {most}, got {value!r}")


class Whole(Field):
    """An integer within limits; even if the step is 2."""

    def __init__(self, label: str, default: int, low: int, high: int, *, step: int = 1) -> None:
        super().__init__(label, default, min=low, max=high, step=step)

    def validate(self, obj: Any, value: Any) -> int:
        """Return `value` as an int; raise if it is below the lower limit."""
        whole = check_int(str(self.name), value, minimum=self.limits["min"])
        return check_d_model(whole) if self.limits["step"] == 2 else whole


class Within(Whole):
    """An integer from 0, below another argument or a part of it."""

    def __init__(self, label: str, default: int, other: Whole, parts: int = 1) -> None:
        most = other.limits["max"] // parts - 1
        Field.__init__(self, label, default, other, parts, min=0, max=most, step=1)


class Base(Field):
    """A base of at most a million; its control is logarithmic."""

    def __init__(self, low: int = 1) -> None:
        super().__init__("base n", 10_000.0, min=low, max=1_000_000, step=0.25, log=True)

    def validate(self, obj: Any, value: Any) -> float:
        """Return `value` as a float; raise if it is below the lower limit."""
        if check_base(value) < self.limits["min"]:
            raise ValueError(f"base must be at least {self.limits['min']}, got {value!r}")
        return float(value)


class Choice(Field):
    """One of several names, each with a one-line description."""

    def __init__(self, label: str, default: str, options: dict[str, str]) -> None:
        super().__init__(label, default, options=options)

    def validate(self, obj: Any, value: Any) -> str:
        """Return `value` if it is one of the names."""
        names = ", ".join(self.limits["options"])
        if value not in self.limits["options"]:
            raise ValueError(f"{self.name} must be one of {names}, got {value!r}")
        return str(value)
