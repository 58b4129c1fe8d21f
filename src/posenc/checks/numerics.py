"""Laws on number types: in half precision, after a cast, and where products are rounded."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from posenc.checks.conventions import Floats
from posenc.checks.laws import Cause, law
from posenc.checks.modules import a_copy, torch_of
from posenc.checks.pairs import TURNING
from posenc.checks.probe import (
    UNITS,
    Measured,
    Skip,
    floats,
    largest,
    positions_near,
    same_type,
    unit_of,
    user,
    worst,
)
from posenc.checks.rotations import Rotation

EARLY = 5000  # positions below this are tested in half precision


def rounded_positions(probe: Any) -> Cause:
    """Look for entries that are those of another position: the one that a half type rounds to."""
    for dtype in ("bfloat16", "float16"):
        positions = np.array(positions_near(early(probe)))
        digits, power = np.frexp(positions)
        nearest = np.ldexp(np.round(digits / UNITS[dtype]) * UNITS[dtype], power).astype(int)
        there = (nearest != positions) & (nearest < early(probe))
        if not there.any():
            continue
        try:
            half = in_half(probe, dtype, positions[there].tolist())
        except Skip:
            continue
        fine = probe.entries(nearest[there].tolist())
        if half.shape == fine.shape and np.abs(half - fine).max() <= 3 * UNITS[dtype]:
            return "rounded positions" if probe.kind != "rotary" else "dtype of the query"
    if probe.kind == "rotary":  # right in float32, so that the cast of something made the error
        return "dtype of the query"
    return None


def early(probe: Any) -> int:
    """Return the number of positions to test in half precision."""
    return min(probe.limit, EARLY) if probe.kind == "rotary" else int(probe.at_most(1024))


def in_half(probe: Any, dtype: str, positions: list[int]) -> Floats:
    """Return entries in a half type: of x for a rotation, of the module, or of the table."""
    if isinstance(probe, Rotation):
        return probe.entries(positions, dtype)
    if probe.kind == "module":
        if dtype != "bfloat16":
            raise Skip("one half type will do")
        half = a_copy(probe).to(probe.library.namespace.bfloat16)
        return np.asarray(probe.entries(positions, dtype, half))
    try:
        named = "dtype" in inspect.signature(probe.encode).parameters
    except (TypeError, ValueError):  # of a builtin
        named = False
    if not named:
        raise Skip("no argument `dtype`")
    raw, kind = probe.table_of(probe.rows, probe.widths[0]), getattr(np, dtype, None)
    if hasattr(raw, "detach"):
        import torch

        kind = getattr(torch, dtype)
    if kind is None or (dtype == "float16" and hasattr(raw, "detach")):
        raise Skip("the other half type will do")
    made = user(probe.encode, max(positions) + 1, probe.widths[0], dtype=kind)
    same_type(made, dtype)
    table = floats(made).reshape(max(positions) + 1, -1)
    return np.asarray(table[positions] / probe.scale)


@law(
    "half",
    TURNING,
    after="batch start norm identity frequencies float32",
    signs=(rounded_positions,),
)
def half(probe: Any) -> Measured:
    """In half precision, positions and angles keep their digits: the cast comes last.

    Bound: τ with the unit of the half type: float32 angles, rounded once; and τ of the other; for a
    turned x, (τ + 2u)(|x₁| + |x₂|): each product and the sum are rounded, too.
    Likely: positions, frequencies or angles are cast before the sine.
    """
    if probe.kind != "rotary":
        probe.table(probe.rows, probe.widths[0])
        if probe.unit > UNITS["float32"]:
            raise Skip("the table is in half precision: see float32")
    positions, found, reasons = positions_near(early(probe)), [], []
    for dtype in ("bfloat16", "float16"):
        if probe.kind == "rotary" and not probe.library.has(dtype):
            continue
        try:
            made = in_half(probe, dtype, positions)
        except Skip as reason:
            reasons.append(reason)
            continue
        rotation = isinstance(probe, Rotation)
        normed = rotation and probe.norm_weights(probe.widths[0]) is not None
        unit = UNITS[dtype] * (3 if normed else 1)  # a norm rounds twice more
        error, bound, note = probe.compare_entries(made, positions, unit)
        found.append((error, bound, f"{dtype}, {note}"))
        if rotation and not normed:
            found.append(turned_in_half(probe, dtype, positions))
    if not found:
        raise reasons[0] if reasons else Skip(f"{probe.library.name} has no half precision")
    return largest(found)


def turned_in_half(probe: Rotation, dtype: str, positions: list[int]) -> Measured:
    """Compare a drawn x, turned in a half type, with its product with the matrices.

    An entry is x₁·cos - x₂·sin. Sine and cosine are off by τ, and each product by one more rounding
    of the half type; so is the sum, which is at most |x₁| + |x₂|: (τ + 2u)(|x₁| + |x₂|). A kernel
    that keeps x in half precision and is right may need all of it; the bound scales with x.
    """
    x = probe.draw((), len(positions))
    x = floats(probe.give(x, dtype))
    out = probe.raw(probe.give(x, dtype), probe.places(positions))
    same_type(out, dtype)
    found, unit = probe.call(x, positions, dtype), unit_of(out)
    matrices = probe.matrices(positions)
    meant = np.einsum("kij,kj->ki", matrices, x)
    size = (np.abs(matrices).max(axis=0) > 0) @ np.abs(x)[..., None]
    bounds = (probe.tau(positions, unit) + probe.tau(positions) + 2 * unit) * size[..., 0]
    bounds = bounds * max(probe.attention_factor, 1)
    error, bound, place = worst(np.abs(found - meant), bounds)
    return error, bound, f"{dtype}, a drawn x at position {positions[place[0]]}"


@law("cast", "rotary", after="norm half")
def cast(probe: Rotation) -> Measured:
    """Cast along with its model, it still turns by its original frequencies.

    Bound: τ with the unit of bfloat16: float32 angles, rounded once; and τ of the other.
    Likely: the frequencies are a buffer, so `model.to(torch.bfloat16)` casts them, too: recompute
    them in float32, or exclude them from the cast.
    """
    module, positions = a_copy(probe), positions_near(early(probe))
    if probe.layout is None:
        raise Skip("no pairs to read")
    made = probe.entries(positions, "bfloat16", module.to(probe.library.namespace.bfloat16))
    return probe.compare_entries(made, positions, UNITS["bfloat16"])


@law("reduced", "module rotary", after="batch start half")
def reduced(probe: Any) -> Measured:
    """Under autocast, and where products are rounded to TF32, angles keep their digits.

    Bound: τ with the unit of the rounded product, and τ: entries may be rounded, angles may not.
    Likely: angles come from a matrix product: multiply positions and frequencies elementwise, in
    float32, with autocast disabled.
    """
    torch = torch_of(probe)
    from posenc.checks._torch import RoundedProducts

    limit = probe.limit if probe.kind == "rotary" else probe.at_most(2500)
    near = positions_near(min(limit, EARLY))
    positions = [k for k in (*near, 10_001, 65_537, 65_538) if k < limit]
    found = []
    for name, mode in (
        ("bfloat16", torch.autocast("cpu", dtype=torch.bfloat16)),
        ("TF32", RoundedProducts()),
    ):
        with mode:
            made = again(probe, positions)
        error, bound, note = probe.compare_entries(made, positions, UNITS[name])
        found.append((error, bound, f"{name}, {note}"))
    return largest(found)


def again(probe: Any, positions: list[int]) -> Floats:
    """Return entries without the cache."""
    if isinstance(probe, Rotation):
        return probe.entries(positions)
    return np.asarray(probe.entries(positions, via=probe.module))
