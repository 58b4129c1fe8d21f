"""Laws of torch and of number types: gradients, saved states, devices, half precision."""

from __future__ import annotations

import contextlib
import copy
import inspect
import io
from typing import Any

import numpy as np

from posenc.checks.calls import calls
from posenc.checks.conventions import Floats
from posenc.checks.laws import Cause, law, sign
from posenc.checks.pairs import TORCH, TURNING
from posenc.checks.probe import (
    UNITS,
    Broken,
    Measured,
    Raised,
    Skip,
    WrongShape,
    compared,
    floats,
    largest,
    loaded_torch,
    positions_near,
    same_type,
    unit_of,
    user,
)

EARLY = 5000  # positions below this are tested in half precision


def torch_of(probe: Any) -> Any:
    """Return torch, or skip the law if the code takes another library."""
    if probe.library.name != "torch":
        raise Skip(f"{probe.library.name} arrays")
    return probe.library.namespace


def a_copy(probe: Any) -> Any:
    """Return a copy of the module, or skip the law if it isn't a torch module."""
    module = probe.module if probe.kind == "module" else probe.rotate
    if not isinstance(module, torch_of(probe).nn.Module):
        raise Skip("not a torch module")
    return user(copy.deepcopy, module).eval()


def moved(probe: Any, to: Any) -> Any:
    """Return what to call after a move or a cast: a module moves along, a function is as it is."""
    try:
        return user(a_copy(probe).to, to)
    except Skip:
        return probe.rotate


def some(probe: Any) -> tuple[Any, range]:
    """Return two sequences and their positions."""
    where = range(min(9, probe.rows))
    return probe.draw((2,), len(where)), where


# fmt: off
calls("adds", "module", "batch",
      "the result is x, or x times √width, plus rows that don't depend on x",
      "the sum is scaled, normalized, or thrown away",
      lambda probe: [((2,), range(min(9, probe.rows)))])
# fmt: on


@law("gradient", TORCH, after="batch norm start adds")
def gradient(probe: Any) -> Measured:
    """Gradients flow, and no table is trained.

    Bound: 4(τ + u)·max|g|, as for a turned x; 4u(|g| + 1) and 2τ, as for x + p.
    Likely: the graph is cut, or a table is a parameter.
    """
    torch_of(probe)
    (drawn, where), module = some(probe), None
    if probe.kind == "module":
        module = a_copy(probe)
    elif probe.norm_weights(probe.widths[0]) is not None:
        raise Skip("a norm follows the rotation")
    x, weights = probe.give(drawn).requires_grad_(), drawn[::-1].copy()
    out = probe.raw(x, probe.places(where), module)
    if out.shape != x.shape:
        raise WrongShape(f"shape {tuple(out.shape)} for {tuple(x.shape)}")
    user((out * probe.give(weights)).sum().backward)
    if x.grad is None:
        raise Broken("no gradient reaches x")
    for name, each in [] if module is None or probe.other_kind else module.named_parameters():
        if each.ndim > 1 and each.shape[-1] == x.shape[2] and each.grad is not None:
            raise Broken(f"{name} is trained", "trained table")
    return probe.near(floats(x.grad), probe.back(weights, where), weights, where)  # type: ignore[no-any-return]


@law("state", "module")
def state(probe: Any) -> Measured:
    """A saved state loads, and gives the same result.

    Likely: the table is stored outside the module and its state dict, or modified by a call.
    """
    torch, other, (x, where) = torch_of(probe), a_copy(probe), some(probe)
    expected, file = probe.call(x, where), io.BytesIO()
    user(torch.save, probe.module.state_dict(), file)
    file.seek(0)
    for each in other.state_dict().values():
        each.zero_()
    user(other.load_state_dict, torch.load(file, weights_only=True))
    if not np.array_equal(probe.call(x, where, via=other), expected):
        raise Broken("a different result after saving and loading")
    return 0.0, 0.0, ""


@law("meta", TORCH, after="batch")
def meta(probe: Any) -> Measured:
    """Created on meta and filled as frameworks do, it gives the same result.

    Bound: 4u: computed twice.
    Likely: a buffer that isn't in the state dict is never initialized: give the module
    `reset_parameters`.
    """
    made, torch = a_copy(probe), torch_of(probe)
    from posenc.checks._torch import refilled

    saved, where = copy.deepcopy(made.state_dict()), range(min(9, probe.rows))
    if probe.kind == "module" and not probe.fixed:
        try:
            with torch.device("meta"):
                made = user(probe.make, probe.widths[0])
        except Raised as error:  # it reads values, which meta tensors don't have
            kind = str(error).partition(":")[0]
            raise Skip(f"can't be created on meta: {kind}") from None
    filled, ways = user(refilled, made, saved)
    x = np.eye(probe.widths[0])[:, None].repeat(len(where), axis=1)
    expected = probe.call(x, where)
    with contextlib.suppress(Broken, Raised):  # NaN: uninitialized memory
        off = np.abs(probe.call(x, where, via=filled) - expected).max()
        if off <= 4 * probe.unit * max(probe.attention_factor, np.abs(expected).max()):
            return 0.0, 0.0, ", ".join(ways)
    if not ways and "made on meta" not in probe.tags:
        raise Skip("nothing reinitializes its buffers; to test anyway, pass tags=['made on meta']")
    raise Broken("a different result once created on meta and filled")


@law("device", TORCH)
def device(probe: Any) -> Measured:
    """It moves: the result has the device and the dtype of the input.

    Likely: a tensor stays behind: register it as a buffer, or make it on `x.device`.
    """
    torch, (drawn, positions) = torch_of(probe), some(probe)
    x, where = probe.give(drawn), probe.places(positions)
    probe.raw(x, where)
    places = None if where is None else where.to("meta")
    if not probe.raw(x.to("meta"), places, moved(probe, "meta")).is_meta:
        raise Broken("the result isn't on the device of the input")
    double = probe.raw(x.double(), where, moved(probe, torch.float64))
    same_type(double, "float64")
    floats(double)
    return 0.0, 0.0, "to another device (torch's meta) and to float64"


@law("compile", TORCH)
def compiles(probe: Any) -> Measured:
    """Torch.compile takes it as one graph, with the same result.

    Bound: CALL. Likely: a value is read from a tensor (`.item()`), or the code leaves torch.
    """
    torch, (x, where) = torch_of(probe), some(probe)
    torch.compiler.reset()
    code = probe.rotate if probe.kind == "rotary" else a_copy(probe)
    compiled = torch.compile(code, fullgraph=True, backend="eager")
    with torch.no_grad():
        made = probe.call(x, where, via=compiled)
    return probe.near(made, probe.meant(x, where), x, where)  # type: ignore[no-any-return]


# Number types


def half_types(probe: Any) -> list[str]:
    """Return the half types to test: those of its library; one will do for a table or a layer."""
    if probe.kind == "rotary":
        space = probe.library.namespace
        return [dtype for dtype in ("bfloat16", "float16") if hasattr(space, dtype)]
    if probe.kind == "module":
        return ["bfloat16"]
    try:
        named = "dtype" in inspect.signature(probe.encode).parameters
    except (TypeError, ValueError):  # of a builtin
        named = False
    if not named:
        raise Skip("no argument `dtype`")
    tensor = hasattr(probe.table_of(probe.rows, probe.widths[0]), "detach")
    return ["bfloat16" if tensor else "float16"]


def early(probe: Any) -> int:
    """Return the number of positions to test in half precision."""
    return min(probe.limit, EARLY) if probe.kind == "rotary" else int(probe.at_most(1024))


def in_half(probe: Any, dtype: str, positions: list[int]) -> Floats:
    """Return entries in a half type: of x for a rotation, of the module, or of the table."""
    if probe.kind == "rotary":
        return np.asarray(probe.entries(positions, dtype))
    if probe.kind == "module":
        half = moved(probe, probe.library.namespace.bfloat16)
        return np.asarray(probe.entries(positions, dtype, half))
    space = loaded_torch() if dtype == "bfloat16" else np
    seq_len = max(positions) + 1
    made = user(probe.encode, seq_len, probe.widths[0], dtype=getattr(space, dtype))
    same_type(made, dtype)
    return np.asarray(floats(made).reshape(seq_len, -1)[positions] / probe.scale)


@sign("table module rotary", "half")
def rounded_positions(probe: Any) -> Cause:
    """Look for entries that are those of another position: the one that a half type rounds to."""
    for dtype in half_types(probe):
        positions = np.array(positions_near(early(probe)))
        digits, power = np.frexp(positions)
        nearest = np.ldexp(np.round(digits / UNITS[dtype]) * UNITS[dtype], power).astype(int)
        there = (nearest != positions) & (nearest < early(probe))
        if there.any():
            half = in_half(probe, dtype, positions[there].tolist())
            fine = probe.entries(nearest[there].tolist())
            if half.shape == fine.shape and np.abs(half - fine).max() <= 3 * UNITS[dtype]:
                return "rounded positions" if probe.kind != "rotary" else "dtype of the query"
    # a rotation is right in float32, so that the cast of something made the error
    return "dtype of the query" if probe.kind == "rotary" else None


@law("half", TURNING, after="batch start norm identity frequencies float32")
def half(probe: Any) -> Measured:
    """In half precision, positions and angles keep their digits: the cast comes last.

    Bound: τ with the unit of the half type: float32 angles, rounded once; and τ of the other; for a
    turned x, (τ + 2u)(|x₁| + |x₂|): each product and the sum are rounded, too.
    Likely: positions, frequencies or angles are cast before the sine.
    """
    rotary, found = probe.kind == "rotary", []
    if not rotary:
        probe.table(probe.rows, probe.widths[0])
        if probe.unit > UNITS["float32"]:
            raise Skip("the table is in half precision: see float32")
    positions = positions_near(early(probe))
    normed = rotary and probe.norm_weights(probe.widths[0]) is not None
    for dtype in half_types(probe):
        made = in_half(probe, dtype, positions)  # a norm rounds twice more
        found.append(probe.compare_entries(made, positions, dtype, 3 if normed else 1))
        if rotary and not normed:
            found.append(turned_in_half(probe, dtype, positions))
    if not found:
        raise Skip(f"{probe.library.name} has no half precision")
    return largest(found)


def turned_in_half(probe: Any, dtype: str, positions: list[int]) -> Measured:
    """Compare a drawn x, turned in a half type, with its product with the matrices.

    An entry is x₁·cos - x₂·sin. Sine and cosine are off by τ, and each product by one more rounding
    of the half type; so is the sum, which is at most |x₁| + |x₂|: (τ + 2u)(|x₁| + |x₂|). A kernel
    that keeps x in half precision and is right may need all of it; the bound scales with x.
    """
    x = floats(probe.give(probe.draw((), len(positions)), dtype))
    out = probe.raw(probe.give(x, dtype), probe.places(positions))
    same_type(out, dtype)
    unit, matrices = unit_of(out), probe.matrices(positions)
    size = ((np.abs(matrices).max(axis=0) > 0) @ np.abs(x)[..., None])[..., 0]
    bounds = (probe.tau(positions, unit) + probe.tau(positions) + 2 * unit) * size
    off = probe.call(x, positions, dtype) - np.einsum("kij,kj->ki", matrices, x)
    note = f"{dtype}, a drawn x at position {{}}"
    return compared(off, bounds * max(probe.attention_factor, 1), note, positions)


@law("cast", "rotary", after="norm half")
def cast(probe: Any) -> Measured:
    """Cast along with its model, it still turns by its original frequencies.

    Bound: τ with the unit of bfloat16: float32 angles, rounded once; and τ of the other.
    Likely: the frequencies are a buffer, so `model.to(torch.bfloat16)` casts them, too: recompute
    them in float32, or exclude them from the cast.
    """
    module, positions = a_copy(probe), positions_near(early(probe))
    if probe.layout is None:
        raise Skip("no pairs to read")
    made = probe.entries(positions, "bfloat16", module.bfloat16())
    return probe.compare_entries(made, positions, "bfloat16")  # type: ignore[no-any-return]


@law("reduced", TORCH, after="batch start half")
def reduced(probe: Any) -> Measured:
    """Under autocast, and where products are rounded to TF32, angles keep their digits.

    Bound: τ with the unit of the rounded product, and τ: entries may be rounded, angles may not.
    Likely: angles come from a matrix product: multiply positions and frequencies elementwise, in
    float32, with autocast disabled.
    """
    torch = torch_of(probe)
    from posenc.checks._torch import RoundedProducts

    limit = probe.limit if probe.kind == "rotary" else probe.at_most(2500)
    near, found = positions_near(min(limit, EARLY)), []
    positions = [k for k in (*near, 10_001, 65_537, 65_538) if k < limit]
    modes = {"bfloat16": torch.autocast("cpu", dtype=torch.bfloat16), "TF32": RoundedProducts()}
    for name, mode in modes.items():
        with mode:  # given a module, a layer doesn't use its cache
            made = probe.entries(positions, via=getattr(probe, "module", None))
        found.append(probe.compare_entries(made, positions, name))
    return largest(found)
