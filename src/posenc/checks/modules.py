"""Laws of torch and of number types: gradients, saved states, devices, half precision."""

from __future__ import annotations

import contextlib
import copy
import io
import math
from typing import Any

import numpy as np

from posenc.checks.arrays import UNITS, floats, same_type
from posenc.checks.calls import calls
from posenc.checks.laws import Broken, Measured, Raised, Skip, largest, law, sign, user
from posenc.checks.pairs import TORCH, TURNING
from posenc.checks.probe import positions_near

EARLY = 5000, 1024  # how many positions of a rotation, and of a table, are tested in half precision
PRODUCTS = ("mm", "bmm", "addmm", "baddbmm", "mv", "addmv", "dot")  # what others are made of
REFILLS = ("reset_parameters", "reset_buffers", "rope_init", "init_weights")


def torch_of(probe: Any) -> Any:
    """Return torch, or skip the law if the code takes another library."""
    if probe.library.name != "torch":
        raise Skip(f"{probe.library.name} arrays")
    return probe.library.namespace


def a_copy(probe: Any) -> Any:
    """Return a copy of the module, or skip the law if it isn't a torch module."""
    if not isinstance(probe.module, torch_of(probe).nn.Module):
        raise Skip("not a torch module")
    return user(copy.deepcopy, probe.module).eval()


def moved(probe: Any, to: Any) -> Any:
    """Return what to call after a move: a module moves along, a function is as it is."""
    with contextlib.suppress(Skip):
        return user(a_copy(probe).to, to)
    return probe.module


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

    Bound: 2(τ + u)(|g₁| + |g₂|), as for a turned x; 4u(|g| + 1) and 2τ, as for x + p.
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
        raise Broken(f"shape {tuple(out.shape)} for {tuple(x.shape)}")
    user((out * probe.give(weights)).sum().backward)
    if x.grad is None:
        raise Broken("no gradient reaches x")
    for name, each in [] if module is None or probe.other_kind else module.named_parameters():
        if each.ndim > 1 and each.shape[-1] == x.shape[2] and each.grad is not None:
            raise Broken(f"{name} is trained", "trained table")
    if probe.kind == "module":
        meant = probe.multiplier * weights
    else:
        matrices = probe.measured(probe.widths[0])[list(where)]
        meant = np.einsum("kji,...kj->...ki", matrices, weights)
    return probe.near(floats(x.grad), meant, weights, where)  # type: ignore[no-any-return]


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
    torch, module, (x, where) = torch_of(probe), a_copy(probe), some(probe)
    expected, saved = probe.call(x, where), copy.deepcopy(module.state_dict())
    if probe.kind == "module" and not probe.fixed:
        try:
            with torch.device("meta"):
                module = user(probe.make, probe.widths[0])
        except Raised as error:  # it reads values, which meta tensors don't have
            kind = str(error).partition(":")[0]
            raise Skip(f"can't be created on meta: {kind}") from None

    def emptied(tensor: Any) -> Any:
        number = tensor.is_floating_point() or tensor.is_complex()
        return torch.full_like(tensor, math.nan if number else 0, device="cpu")

    module._apply(emptied)
    found = [getattr(each, name, None) for each in module.modules() for name in REFILLS]
    ways = [way for way in found if callable(way)]
    for way in ways:
        user(way)
    user(module.load_state_dict, saved, strict=False)
    with contextlib.suppress(Broken, Raised):  # NaN: uninitialized memory
        off = np.abs(probe.call(x, where, via=module.eval()) - expected).max()
        if off <= 4 * probe.unit * max(probe.attention_factor, np.abs(expected).max()):
            return 0.0, 0.0, ", ".join(way.__name__ for way in ways)
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
    compiled = torch.compile(probe.module, fullgraph=True, backend="eager")
    with torch.no_grad():
        made = probe.call(x, where, via=compiled)
    return probe.near(made, probe.meant(x, where), x, where)  # type: ignore[no-any-return]


# Number types


def in_half(
    probe: Any, name: str, dtype: str, via: Any, limits: tuple[int, int] = EARLY, mode: Any = None
) -> Measured:
    """Compare a call that may round to a type with a plain one: a turned x, or the rows alone."""
    rotary, unit = probe.kind == "rotary", UNITS[name]
    limit = min(probe.limit, limits[0]) if rotary else probe.at_most(limits[1])
    positions = positions_near(limit) if rotary else range(limit)
    x = rotary * floats(probe.give(probe.draw((1,), len(positions)), dtype))
    if rotary and probe.norm_weights(x.shape[-1]) is not None:
        unit *= 3  # a norm rounds twice more
    with mode or contextlib.nullcontext():
        out = probe.call(x, positions, dtype, via)
    error, bound, note = probe.near(out, probe.meant(x, positions), x, positions, unit)
    return error, bound, f"{name}, {note}"


@sign("table module rotary", "half")
def rounded_positions(probe: Any) -> str | None:
    """Look for two positions that became one, where a half type has no number for the second."""
    if probe.kind == "rotary":  # right in float32, so that the cast of something made the error
        return "dtype of the query"
    _, dtype, via = probe.halves()[0]
    rows = probe.call(np.zeros((1, 258, probe.widths[0])), range(258), dtype, via)[0]
    return "rounded positions" if np.array_equal(rows[256], rows[257]) else None


@law("half", TURNING, after="batch start norm identity frequencies float32")
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
    if not (types := probe.halves()):
        raise Skip(f"{probe.library.name} has no half precision")
    return largest([in_half(probe, *each) for each in types])


@law("cast", "rotary", after="norm half")
def cast(probe: Any) -> Measured:
    """Cast along with its model, it still turns by its original frequencies.

    Bound: τ with the unit of bfloat16: float32 angles, rounded once; and τ of the other.
    Likely: the frequencies are a buffer, so `model.to(torch.bfloat16)` casts them, too: recompute
    them in float32, or exclude them from the cast.
    """
    module = a_copy(probe)
    if probe.layout is None:
        raise Skip("no pairs to read")
    return in_half(probe, "bfloat16", "bfloat16", module.bfloat16())


@law("reduced", TORCH, after="batch start half")
def reduced(probe: Any) -> Measured:
    """Under autocast, and where products are rounded to TF32, angles keep their digits.

    Bound: τ with the unit of the rounded product, and τ: entries may be rounded, angles may not.
    Likely: angles come from a matrix product: multiply positions and frequencies elementwise, in
    float32, with autocast disabled.
    """
    torch, module = torch_of(probe), probe.module  # a layer that is given doesn't use its cache
    modes = {"bfloat16": torch.autocast("cpu", dtype=torch.bfloat16), "TF32": rounded_products()}
    how = "float32", module, (65_539, 2500)
    return largest([in_half(probe, name, *how, mode) for name, mode in modes.items()])


def rounded_products() -> Any:
    """Return a mode that rounds operands of float32 matrix products to the 11 bits of TF32."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    def rounded(x: Any) -> Any:
        if getattr(x, "dtype", None) != torch.float32:
            return x
        fraction, exponent = torch.frexp(x)
        return torch.ldexp(torch.round(fraction * 2**11), exponent - 11)

    class RoundedProducts(TorchDispatchMode):  # type: ignore[no-untyped-call]
        def __torch_dispatch__(
            self, func: Any, types: Any, given: Any = (), named: Any = None
        ) -> Any:
            if func.overloadpacket.__name__ in PRODUCTS:
                given = map(rounded, given)
            return func(*given, **(named or {}))

    return RoundedProducts()  # type: ignore[no-untyped-call]
