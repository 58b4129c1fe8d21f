"""Helpers for checks that need torch."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

PRODUCTS = {"mm", "bmm", "addmm", "baddbmm", "mv", "dot", "matmul", "linear", "__matmul__"}
PRODUCTS |= {"__rmatmul__", "addmv", "inner", "tensordot"}
REFILLS = ("reset_parameters", "reset_buffers", "rope_init", "init_weights")


class RoundedProducts(TorchFunctionMode):
    """Round the operands of float32 matrix products to TF32, which has 11 significant bits."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call a function, with rounded arguments if it is a matrix product."""
        name = getattr(func, "__name__", "")
        if name in PRODUCTS or (name == "einsum" and contracts(args[0])):
            args = tuple(tf32(each) if isinstance(each, Tensor) else each for each in args)
        return func(*args, **(kwargs or {}))


def contracts(equation: Any) -> bool:
    """Whether an einsum sums over an index, and so is a matrix product."""
    given, arrow, kept = str(equation).partition("->")
    return not arrow or bool({*given} - {*kept, ",", " ", "."})


def tf32(x: Tensor) -> Tensor:
    """Round to 11 significant bits."""
    if x.dtype != torch.float32:
        return x
    fraction, exponent = torch.frexp(x)
    return torch.ldexp(torch.round(fraction * 2**11), exponent - 11)


def refilled(module: nn.Module, state: dict[str, Any]) -> tuple[nn.Module, list[str]]:
    """Empty a module as `to_empty` does, then initialize it as frameworks do.

    Uninitialized memory is NaN here. The second result names the methods that were called.
    """

    def emptied(tensor: Tensor) -> Tensor:
        filler = float("nan") if tensor.is_floating_point() or tensor.is_complex() else 0
        return torch.full_like(tensor, filler, device="cpu")

    module._apply(emptied)  # type: ignore[no-untyped-call]
    ways = []
    for each in module.modules():
        for way in (name for name in REFILLS if callable(getattr(each, name, None))):
            getattr(each, way)()
            ways.append(way)
    module.load_state_dict(state, strict=False)
    return module.eval(), ways
