"""Functions that make a table, and layers that add one."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from posenc.checks.conventions import (
    AROUND,
    LAYOUTS,
    UNIT,
    Convention,
    Floats,
    Waves,
    join,
    measure,
    rounding,
    split,
)
from posenc.checks.subjects import (
    ROWS,
    Broken,
    Measured,
    Skip,
    Turning,
    floats,
    name_of,
    nearest_rows,
    positions_near,
    same_shape,
    same_type,
    unit_of,
    values,
    worst,
)
from posenc.encoding import angular_frequencies

LENGTHS = (2**17, 2**15, 2**13, 5000, 2**12, 2**11, 2**10, 512, ROWS, 128, 64, 32, 16, 8)
SCALES: dict[str, Callable[[int], float]] = {
    "1": lambda d_model: 1.0,
    "1/√d": lambda d_model: d_model**-0.5,
    "1/√(d/2)": lambda d_model: (2 / d_model) ** 0.5,
    "√d": lambda d_model: d_model**0.5,
}


class Table(Turning):
    """A function (seq_len, d_model) → table."""

    kind = "table"
    layouts = LAYOUTS

    def __init__(
        self,
        encode: Callable[..., Any],
        widths: Sequence[int] = (16, 24),
        base: float | None = None,
        asked: Convention | None = None,
        length: int = 2048,
        longest: int = 1_000_000,
    ) -> None:
        super().__init__()
        self.encode, self.base, self.asked = encode, base, asked
        self.widths, self.length, self.longest = tuple(widths), length, longest
        self.memory: dict[tuple[int, int], Floats] = {}
        self.half: tuple[Floats, float] | None = None

    def raw(self, seq_len: int, d_model: int) -> Any:
        """Call the function."""
        return self.encode(seq_len, d_model)

    def table(self, seq_len: int, d_model: int) -> Floats:
        """Return the rows in float64, without a batch axis of length 1, cached."""
        if (seq_len, d_model) not in self.memory:
            made = self.raw(seq_len, d_model)
            table = floats(made).copy()
            if table.ndim == 3 and 1 in table.shape[:2]:
                table = table.reshape(-1, table.shape[2])
            self.unit = max(self.unit, unit_of(made))
            self.memory[seq_len, d_model] = table
        return self.memory[seq_len, d_model]

    def at_most(self, seq_len: int) -> int:
        """Return this length, or the longest accepted one below it, since layers have limits."""
        tried = [seq_len, *(n for n in LENGTHS if n < seq_len)]
        for length in tried:
            try:
                made = self.raw(length, self.widths[0])
            except Exception:  # too long
                continue
            if values(made).size == length * values(made).shape[-1]:
                return length
        return seq_len

    @cached_property
    def rows(self) -> int:
        """The number of rows that most laws use."""
        return self.at_most(ROWS)

    @cached_property
    def main(self) -> Floats:
        """The table at the first width."""
        return self.table(self.rows, self.widths[0])

    def square(self, d_model: int) -> Floats:
        """Return the table for a width; raise if it has the wrong shape."""
        table = self.table(self.rows, d_model)
        if table.shape != (self.rows, d_model):
            raise Broken(f"shape {table.shape} for {(self.rows, d_model)}")
        return table

    @cached_property
    def factor(self) -> tuple[str, dict[int, float]]:
        """The factor of all rows: its name in `SCALES`, or "", and its value by width."""
        square = {d_model: self.square(d_model) ** 2 for d_model in self.widths}
        sizes = {d: math.sqrt(each.sum(axis=1).mean() / (d / 2)) for d, each in square.items()}

        def off(name: str) -> float:
            return max(abs(size / SCALES[name](d) - 1) for d, size in sizes.items())

        name = min(SCALES, key=off)
        if off(name) > 6 * self.unit and any(self.circles(each, sizes) for each in self.layouts):
            return "", sizes
        return name, {d_model: SCALES[name](d_model) for d_model in self.widths}

    def circles(self, layout: str, sizes: dict[int, float]) -> bool:
        """Whether every pair of a layout stays on a circle of the same size, at all widths."""
        return all(
            size > 0
            and np.abs(np.abs(split(self.square(d), layout) / size) ** 2 - 1).max()
            <= 12 * self.unit
            for d, size in sizes.items()
        )

    def unscaled(self, d_model: int) -> Floats:
        """Return the table, scaled so that its pairs have length 1."""
        return self.square(d_model) / self.factor[1][d_model]

    @property
    def scale(self) -> float:
        """The factor of all rows at the first width."""
        return self.factor[1][self.widths[0]]

    def waves(self, d_model: int, layout: str) -> Waves | None:
        """Return waves in a layout, or None if a pair leaves its circle."""
        waves = split(self.unscaled(d_model), layout)
        round_ones = np.abs(np.abs(waves) ** 2 - 1).max() <= 6 * self.unit
        return waves if round_ones else None

    def explained(self, waves: Waves) -> Floats:
        """Return the error that float32 explains at each row and pair."""
        omega, phase = measure(waves)
        angles = np.abs(phase) + np.outer(np.arange(len(waves)), np.abs(omega))
        found = self.convention
        if found is not None and found.direction == "down":
            angles = angles[::-1] + len(waves) * np.abs(omega)
        if found is not None and found.step == 1000:  # angles alias: pairs turn too far per row
            made = found.speeds(2 * len(omega))
            return rounding(np.outer(np.arange(len(waves)), made), made / 1000, self.unit)
        return rounding(angles, omega, self.unit)

    def law_shape(self) -> Measured:
        for d_model in self.widths:
            self.square(d_model)
        shapes = " and ".join(f"{self.rows} × {d_model}" for d_model in self.widths)
        return 0.0, 0.0, f"{shapes}, {name_of(self.raw(self.rows, self.widths[0]))}"

    def law_norm(self) -> Measured:
        name, sizes = self.factor
        if not name:
            times = " and ".join(dict.fromkeys(f"{size:.4g}" for size in sizes.values()))
            raise Broken(
                f"all rows are multiplied by {times}",
                likely=f"a factor other than {', '.join(SCALES)}; if it is intended, check the "
                "table divided by it",
            )
        found = []
        for d_model in self.widths:
            squares = (self.unscaled(d_model) ** 2).sum(axis=1) / (d_model / 2)
            found.append(np.abs(squares - 1))
        error, bound, place = worst(np.array(found), 6 * self.unit)
        scaled = "" if name == "1" else f", all rows times {name}"
        return error, bound, f"row {place[1]}, width {self.widths[place[0]]}{scaled}"

    def law_shift(self) -> Measured:
        """Rotate each row, and compare with the next.

        A pair in a row is off by τ in sine and cosine, √2·τ together. The turn is fitted, and off
        by 3uω + u/30 (see `measure`); 0.58·(τ + τ) is at least 2.3u + 2.9uω, which is more. So the
        bound is 2τ of both rows. Without a layout, the law uses the best matrix: least squares
        leaves no column a larger residual than the true rotation does, whose rows are off by τ and
        √2·τ, so the root of the sum of (1 + √2)²τ² over the rows bounds it.
        """
        if self.layout is not None:
            waves = self.readable[self.layout][0]
            moved = waves[:-1] * np.exp(1j * measure(waves)[0])
            allowed = self.explained(waves)
            error, bound, place = worst(np.abs(waves[1:] - moved), 2 * (allowed[1:] + allowed[:-1]))
            return error, bound, f"row {place[0] + 1}, pair {place[1]}"
        table = self.unscaled(self.widths[0])
        matrix = np.linalg.lstsq(table[:-1], table[1:], rcond=None)[0]
        left = np.sqrt(((table[:-1] @ matrix - table[1:]) ** 2).sum(axis=0))
        each = rounding(np.arange(1.0, len(table)), np.ones(1), self.unit)
        limit = (1 + math.sqrt(2)) * math.sqrt((each**2).sum())
        error, bound, place = worst(left, limit)
        return error, bound, f"column {place[0]}; the best-fitting matrix, over all rows"

    def law_offset(self) -> Measured:
        """Compare the products of rows with those of the next rows.

        In a product, each pair of the first row, off by τ in sine and cosine, is multiplied by the
        second, |sin| + |cos| ≤ √2, and vice versa: 2√2·τ. Two products are compared.
        """
        table = self.unscaled(self.widths[0])
        products = table @ table.T
        if self.layout is None:
            allowed = (
                self.widths[0] / 2 * rounding(np.arange(1.0 * self.rows), np.ones(1), self.unit)
            )
        else:
            allowed = self.explained(self.readable[self.layout][0]).sum(axis=1)
        bounds = 2**2.5 * np.maximum(allowed[1:, None], allowed[None, 1:])
        error, bound, place = worst(np.abs(products[1:, 1:] - products[:-1, :-1]), bounds)
        return error, bound, f"rows {place[0]} and {place[1]}, shifted by one"

    def law_unique(self) -> Measured:
        seq_len, d_model = self.at_most(self.length), self.widths[0]
        return nearest_rows(self.table(seq_len, d_model) / self.scale, self.unit)

    def compared(self, one: Floats, two: Floats, seq_len: int) -> Measured:
        """Compare entries that should be equal, up to rounding at position `seq_len`."""
        same_shape(one, two)
        known = self.convention
        if known is None:
            allowed = rounding(np.array(1.0 * seq_len), np.ones(1), self.unit)
        else:
            omega = known.speeds(self.widths[0], seq_len)
            each = rounding((seq_len + known.first) * omega, omega / omega[0], self.unit)
            allowed = join(np.asarray(each[None] + 1j * each[None]), known.layout)
        error, bound, place = worst(np.abs(one - two) / self.scale, 2 * allowed)
        return error, bound, f"row {place[0]}, column {place[1]}" if place else ""

    @property
    def down(self) -> bool:
        """Whether positions decrease from row to row."""
        return self.convention is not None and self.convention.direction == "down"

    def no_turn(self) -> None:
        """Skip a law that doesn't apply if the rows share one turn."""
        if self.convention is not None and self.convention.step == AROUND:
            raise Skip("the rows share one turn, so that all depend on the length")

    def law_start(self) -> Measured:
        self.no_turn()
        half, whole = self.rows // 2, self.main
        part = whole[-half:] if self.down else whole[:half]
        return self.compared(self.table(half, self.widths[0]), part, self.rows)

    def law_steps(self) -> Measured:
        self.no_turn()
        grown = [self.table(k, self.widths[0])[0 if self.down else -1] for k in range(1, 10)]
        part = self.main[:-10:-1] if self.down else self.main[:9]
        return self.compared(np.array(grown), part, self.rows)

    def law_float32(self) -> Measured:
        known = self.reference
        if known is None:
            raise Skip("no convention to compare with")
        seq_len, d_model = self.at_most(self.longest), self.widths[0]
        rows = positions_near(seq_len)
        made = floats(self.raw(seq_len, d_model)).reshape(seq_len, d_model)[rows]
        table = split(made / self.scale, known.layout)
        turned = known.angles(rows, seq_len, d_model)
        omega = known.speeds(d_model, seq_len)
        counted = np.array([seq_len - 1.0 - r if self.down else r for r in rows]) + known.first
        allowed = rounding(np.outer(counted, omega), omega / omega[0], self.unit)
        allowed = allowed + self.doubt(counted, omega, self.rows)
        off = table - np.exp(1j * turned)
        errors = np.maximum(np.abs(off.real), np.abs(off.imag))
        self.errors = dict(zip(rows, errors.max(axis=1).tolist(), strict=True))
        error, bound, place = worst(errors, allowed)
        return error, bound, f"position {rows[place[0]]}, pair {place[1]}, of {seq_len}"

    def law_half(self) -> Measured:
        try:
            named = "dtype" in inspect.signature(self.encode).parameters
        except (TypeError, ValueError):
            named = False
        self.table(self.rows, self.widths[0])  # sets `self.unit`
        if self.unit > UNIT:
            raise Skip("the table is in half precision: see float32")
        if not named:
            raise Skip("no argument `dtype`")
        raw = self.raw(self.rows, self.widths[0])
        kind: Any = np.float16
        if hasattr(raw, "detach"):
            import torch

            kind = torch.bfloat16
        seq_len = self.at_most(1024)
        made = self.encode(seq_len, self.widths[0], dtype=kind)
        same_type(made, "bfloat16" if kind is not np.float16 else "float16")
        return self.half_of(made, seq_len)

    def half_of(self, made: Any, seq_len: int, unit: float | None = None) -> Measured:
        """Compare a half-precision table with the full one; each has its own τ."""
        unit = unit_of(made) if unit is None else unit
        fine, half = self.table(seq_len, self.widths[0]), floats(made).reshape(seq_len, -1)
        same_shape(half, fine)
        known = self.convention
        size = 1.0 if known is None else float(known.speeds(self.widths[0], seq_len)[0])
        angles = size * (np.arange(1.0 * seq_len)[:, None] + (known.first if known else 0))
        angles = angles[::-1] if self.down else angles
        bounds = rounding(angles, np.ones(1), unit) + rounding(angles, np.ones(1))
        self.half = half, unit
        error, bound, place = worst(np.abs(half - fine) / self.scale, bounds)
        return error, bound, f"position {place[0]}, column {place[1]}"

    def law_odd(self) -> Measured:
        odd = self.widths[0] - 1
        self.raw(8, odd + 1)  # an even width must work
        try:
            table = self.raw(8, odd)
        except Exception as error:  # any error is a refusal
            return 0.0, 0.0, f"refused: {type(error).__name__}"
        found = self.convention
        shape = tuple(table.shape)
        padded = found is not None and found.rule == "d/2 - 1" and shape[-1] == odd
        floats(table)
        if padded and not values(table)[..., -1].any():
            return 0.0, 0.0, "a column of zeros at the end, as in tensor2tensor"
        raise Broken(f"shape {shape} for width {odd}, and no error")

    def law_empty(self) -> Measured:
        d_model = self.widths[0]
        none = self.table(0, d_model)
        if none.shape != (0, d_model):
            raise Broken(f"shape {none.shape} for {(0, d_model)}")
        known = self.convention
        if known is not None and known.step == AROUND:
            first = known.table(1, d_model) * self.scale
        else:
            first = self.main[-1:] if self.down else self.main[:1]
        return self.compared(self.table(1, d_model), first, self.rows)

    def law_repeat(self) -> Measured:
        first = self.raw(9, self.widths[0])
        kept = values(first).copy()
        second = values(self.raw(9, self.widths[0])).copy()
        self.raw(7, self.widths[-1])
        self.raw(8, self.widths[0])
        if not np.array_equal(values(first), kept, equal_nan=True):
            raise Broken("a later call overwrote the first result")
        return float(np.abs(floats(kept) - floats(second)).max(initial=0.0)), 0.0, ""

    def resembles(self, law: str) -> str | None:
        """Compare with the exhibits of the museum's first wing."""
        d_model = self.widths[0]
        if law == "odd":
            return "odd"
        if law == "half":
            return "rounded positions" if self.rounded_positions() else None
        table = self.table(self.rows, d_model)
        if table.shape[-1] == 2 * d_model:
            return "doubled class"
        if table.shape != (self.rows, d_model):
            return None
        if not table.any():
            return "sum thrown away"
        if (np.abs(table - table[0]) < 1e-6).all():
            return "batch for sequence" if self.kind == "module" else None
        for base in (self.base or 10_000.0, 10_000.0):
            for name, wrong in exhibits(self.rows, d_model, base).items():
                if np.abs(table - wrong).max() < 0.02:
                    return {"swapped power": "minus sign"}.get(name, name)
        longer = self.table(self.at_most(self.length), d_model)
        same = (np.abs(np.diff(longer, axis=0)) < 1e-6).all(axis=1)
        if same.any() and int(same.argmax()) in (256, 2048):
            return "rounded positions"
        if law == "frequencies" and self.layout is not None:
            return self.frequencies_resemble()
        if law in ("shift", "offset", "start", "steps") and self.layout is not None:
            right = Convention(self.layout, base=self.base or 10_000.0).table(self.rows, d_model)
            if all(np.abs(right - row).max(axis=1).min() < 1e-3 for row in table):
                return "axes swapped"
        late, early = (table[-self.rows // 4 :] ** 2).sum(1), (table**2).sum(1)
        if np.ptp(late) < 1e-3 < np.ptp(early):
            return "trained table"
        return None

    def rounded_positions(self) -> bool:
        """Whether the half-precision table equals the full one at rounded positions."""
        if self.half is None:
            return False
        half, unit = self.half
        digits, power = np.frexp(np.arange(len(half)))
        rounded = np.ldexp(np.round(digits / unit) * unit, power).astype(int)
        there = rounded < len(half)
        fine = self.table(len(half), self.widths[0])[rounded[there]]
        same = np.abs(half[there] - fine).max() <= 3 * unit * self.scale
        return bool(same) and bool((rounded != np.arange(len(half))).any())

    def frequencies_resemble(self) -> str | None:
        """Return the exhibit that explains frequencies without a rule, or None."""
        omega = [measure(each)[0] for each in self.readable[str(self.layout)]]
        if all(np.ptp(each) < 1e-3 for each in omega):
            return "all ones"
        pairs = [len(each) for each in omega]
        if len(omega) < 2 or any((each <= 0).any() or abs(each[0] - 1) > 1e-3 for each in omega):
            return None
        falls = [-np.diff(np.log(each)) for each in omega]
        bases = [math.exp(fall.mean() * n) for fall, n in zip(falls, pairs, strict=True)]
        even = all(np.ptp(fall) < 1e-2 * fall.mean() for fall in falls)
        return (
            "slipped parenthesis" if even and not math.isclose(*bases[:2], rel_tol=0.01) else None
        )


def exhibits(rows: int, d_model: int, base: float) -> dict[str, Floats]:
    """Return the tables of the museum's first wing, by name."""
    k, j = np.arange(rows)[:, None], np.arange(d_model)
    right = np.repeat(angular_frequencies(d_model, base=base), 2)

    def written(omega: Floats) -> Floats:
        return np.where(j % 2, np.cos(k * omega), np.sin(k * omega))

    swapped = np.maximum(2 * (j // 2) / d_model, 1e-300) ** (1 / base)
    swapped[:2] = 0
    return {
        "dimension for pair": written(base ** (-2 * j / d_model)),
        "own exponent": written(base ** (-j / d_model)),
        "all ones": written(np.ones(d_model)),
        "minus sign": written(1 / right),
        "swapped power": written(swapped),
        "rows for columns": np.where(k % 2, np.cos(k * right), np.sin(k * right)),
    }
