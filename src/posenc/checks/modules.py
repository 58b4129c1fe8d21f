"""Laws of torch: sums, gradients, saved states, devices and the compiler."""

from __future__ import annotations

import copy
import io
from typing import Any

import numpy as np

from posenc.checks.conventions import UNIT
from posenc.checks.laws import law
from posenc.checks.probe import (
    Broken,
    Measured,
    Raised,
    Skip,
    WrongShape,
    floats,
    same_type,
    user,
    worst,
)
from posenc.checks.rotations import Rotation

TORCH = "module rotary"


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


def moved(probe: Any, *to: Any) -> Any:
    """Return what to call after a move or a cast: a module moves along, a function is as it is."""
    try:
        return user(a_copy(probe).to, *to)
    except Skip:
        return probe.rotate


@law("adds", "module", after="batch")
def adds(probe: Any) -> Measured:
    """The result is x, or x times √width, plus rows that don't depend on x.

    Bound: 3u(|x| + |p|): a product, a sum, a difference; p is what is added.
    Likely: the sum is scaled, normalized, or thrown away.
    """
    x = probe.draw((2,), min(9, probe.rows))
    usual = probe.multiplier
    rest = probe.call(x, range(x.shape[1])) - probe.table(x.shape[1], x.shape[2])
    bounds = 3 * UNIT * (usual * np.abs(x) + max(probe.scale, 1.0))
    error, bound, _ = worst(np.abs(rest - usual * x), bounds)
    return error, bound, f"{usual:.4g} · x"


@law("gradient", TORCH, after="batch norm start adds")
def gradient(probe: Any) -> Measured:
    """Gradients flow, and no table is trained.

    Bound: 4(τ + u)·max|g|, as for a turned x; 4u(|g| + 1) and 2τ, as for x + p.
    Likely: the graph is cut, or a table is a parameter.
    """
    torch_of(probe)
    where, module = range(min(9, probe.rows)), None
    x = probe.give(probe.draw((2,), len(where))).requires_grad_()
    weights = probe.draw((2,), len(where))[::-1].copy()
    if probe.kind == "module":
        module = a_copy(probe)
    elif probe.norm_weights(probe.widths[0]) is not None:
        raise Skip("a norm follows the rotation")
    out = probe.raw(x, probe.places(where), module)
    if out.shape != x.shape:
        raise WrongShape(f"shape {tuple(out.shape)} for {tuple(x.shape)}")
    user((out * probe.give(weights)).sum().backward)
    if x.grad is None:
        raise Broken("no gradient reaches x")
    trained = [
        name
        for name, each in (module.named_parameters() if module is not None else ())
        if each.ndim > 1 and each.shape[-1] == x.shape[2] and each.grad is not None
    ]
    if trained and not probe.other_kind:
        raise Broken(f"{trained[0]} is trained", "trained table")
    back, found = probe.back(weights, where), floats(x.grad)
    bounds = np.broadcast_to(probe.allowed(weights, back, where), back.shape)
    error, bound, place = worst(np.abs(found - back), bounds)
    return error, bound, f"position {where[place[-2]]}"


@law("state", "module")
def state(probe: Any) -> Measured:
    """A saved state loads, and gives the same result.

    Bound: exact.
    Likely: the table is stored outside the module and its state dict, or modified by a call.
    """
    torch, other = torch_of(probe), a_copy(probe)
    x, where = probe.draw((2,), min(9, probe.rows)), range(min(9, probe.rows))
    expected, file = probe.call(x, where), io.BytesIO()
    user(torch.save, probe.module.state_dict(), file)
    file.seek(0)
    with torch.no_grad():
        for each in other.state_dict().values():
            each.fill_(0)
    user(other.load_state_dict, torch.load(file, weights_only=True))
    if not np.array_equal(probe.call(x, where, via=other), expected):
        raise Broken("a different result after saving and loading")
    saved = sum(each.numel() for each in other.state_dict().values())
    return 0.0, 0.0, f"{saved} numbers saved"


@law("meta", TORCH, after="batch")
def meta(probe: Any) -> Measured:
    """Created on meta and filled as frameworks do, it gives the same result.

    Bound: 4u: computed twice.
    Likely: a buffer that isn't in the state dict is never initialized: give the module
    `reset_parameters`.
    """
    made, torch = a_copy(probe), torch_of(probe)
    from posenc.checks._torch import refilled

    saved = copy.deepcopy(made.state_dict())
    if probe.kind == "module" and not probe.fixed:
        try:
            with torch.device("meta"):
                made = user(probe.make, probe.widths[0])
        except Raised as error:  # it reads values, which meta tensors don't have
            kind = str(error).partition(":")[0]
            raise Skip(f"can't be created on meta: {kind}") from None
    filled, ways = user(refilled, made, saved)
    where = range(min(9, probe.rows))
    x = np.eye(probe.widths[0])[:, None].repeat(len(where), axis=1)
    expected = probe.call(x, where)
    try:
        off = np.abs(probe.call(x, where, via=filled) - expected).max()
    except (Broken, Raised):  # NaN: uninitialized memory
        off = np.inf
    same = off <= 4 * probe.unit * max(probe.attention_factor, np.abs(expected).max())
    if not same and not ways and "made on meta" not in probe.tags:
        raise Skip("nothing reinitializes its buffers; to test anyway, pass tags=['made on meta']")
    if not same:
        raise Broken("a different result once created on meta and filled")
    return 0.0, 0.0, ", ".join(ways)


@law("device", TORCH)
def device(probe: Any) -> Measured:
    """It moves: the result has the device and the dtype of the input.

    Bound: exact.
    Likely: a tensor stays behind: register it as a buffer, or make it on `x.device`.
    """
    torch = torch_of(probe)
    count = min(9, probe.rows)
    x, where = probe.give(probe.draw((2,), count)), probe.places(range(count))
    probe.raw(x, where)
    places = None if where is None else where.to("meta")
    if probe.raw(x.to("meta"), places, moved(probe, "meta")).device.type != "meta":
        raise Broken("the result isn't on the device of the input")
    double = probe.raw(x.double(), where, moved(probe, torch.float64))
    same_type(double, "float64")
    floats(double)
    return 0.0, 0.0, "to another device (torch's meta) and to float64"


@law("compile", TORCH)
def compiles(probe: Any) -> Measured:
    """Torch.compile takes it as one graph, with the same result.

    Bound: 4(τ + u)·max|y|, as for a turned x; 4u(|y| + |p|) and 2τ, as for x + p.
    Likely: a value is read from a tensor (`.item()`), or the code leaves torch.
    """
    torch = torch_of(probe)
    torch.compiler.reset()
    code = probe.rotate if isinstance(probe, Rotation) else a_copy(probe)
    compiled = torch.compile(code, fullgraph=True, backend="eager")
    where = range(min(9, probe.rows))
    x = probe.draw((2,), len(where))
    with torch.no_grad():
        return probe.compare(probe.call(x, where, via=compiled), x, where)  # type: ignore[no-any-return]
