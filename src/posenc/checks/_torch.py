"""Helpers for checks that need torch."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

PRODUCTS = "mm bmm addmm baddbmm mv dot matmul linear __matmul__ __rmatmul__ addmv inner tensordot"
REFILLS = ("reset_parameters", "reset_buffers", "rope_init", "init_weights")


class RoundedProducts(TorchFunctionMode):
    """Round the operands of float32 matrix products to TF32, which has 11 significant bits."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call a function, with rounded arguments if it is a matrix product."""
        name = getattr(func, "__name__", "")
        given, arrow, kept = str(args[0] if name == "einsum" else "a->a").partition("->")
        summed = not arrow or {*given} - {*kept, ",", " ", "."}  # over an index
        if name in PRODUCTS.split() or summed:
            args = tuple(tf32(each) if isinstance(each, Tensor) else each for each in args)
        return func(*args, **(kwargs or {}))


def tf32(x: Tensor) -> Tensor:
    """Round float32 to 11 significant bits."""
    fraction, exponent = torch.frexp(x)
    rounded = torch.ldexp(torch.round(fraction * 2**11), exponent - 11)
    return rounded if x.dtype == torch.float32 else x


def refilled(module: nn.Module, state: dict[str, Any]) -> tuple[nn.Module, list[str]]:
    """Empty a module as `to_empty` does, then initialize it as frameworks do.

    Uninitialized memory is NaN here. The second result names the methods that were called.
    """

    def emptied(tensor: Tensor) -> Tensor:
        filler = float("nan") if tensor.is_floating_point() or tensor.is_complex() else 0
        return torch.full_like(tensor, filler, device="cpu")

    module._apply(emptied)  # type: ignore[no-untyped-call]
    ways = [getattr(each, name, None) for each in module.modules() for name in REFILLS]
    names = [(way(), way.__name__)[1] for way in ways if callable(way)]
    module.load_state_dict(state, strict=False)
    return module.eval(), names
