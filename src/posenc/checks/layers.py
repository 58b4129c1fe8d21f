"""Layers that add positions to embeddings."""

from __future__ import annotations

import copy
import inspect
import io
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from posenc.checks._torch import RoundedProducts, refilled
from posenc.checks.conventions import AROUND, UNIT, rounding, split
from posenc.checks.subjects import (
    FAR,
    POSITIONS,
    UNITS,
    Broken,
    Measured,
    Skip,
    floats,
    same_shape,
    same_type,
    severe,
    take,
    worst,
)
from posenc.checks.tables import Table

USES = (
    *("token", "rows", "far", "meta"),
    *("masked", "strided", "repeat", "adds", "gradient", "state", "device", "compile", "start"),
)
WIDTH = ("d_model", "embedding_dim", "embed_dim", "hidden_size", "dim", "channels", "d_hid")


class Layer(Table):
    """A module, or a factory for a given width, checked by what it adds to zeros."""

    kind = "module"

    def __init__(
        self,
        module: nn.Module | Callable[[int], nn.Module],
        d_model: int | None = None,
        batch_first: bool | None = None,
        positions: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(self.added, **options)
        if isinstance(module, nn.Module):
            self.module = copy.deepcopy(module).eval()
            self.make: Callable[[int], nn.Module] = lambda d_model: self.module
            self.widths = (width_of(self.module) if d_model is None else d_model,)
        else:
            self.make = module
            self.module = module(self.widths[0]).eval()
        self.fixed = isinstance(module, nn.Module)
        self.modules = {self.widths[0]: self.module}
        first = getattr(self.module, "batch_first", True) if batch_first is None else batch_first
        self.batch_first = bool(first)
        names = inspect.signature(self.module.forward).parameters
        if positions is not None and positions not in names:
            raise ValueError(f"positions must name an argument of forward, got {positions!r}")
        self.positions = positions or take(list(names), POSITIONS)

    def layer(self, d_model: int) -> nn.Module:
        """Return the module for a width, cached."""
        if d_model not in self.modules:
            self.modules[d_model] = self.make(d_model).eval()
        return self.modules[d_model]

    def call(self, x: Tensor, positions: Tensor | None = None, layer: Any = None) -> Tensor:
        """Call the layer; input and result are (batch, seq_len, d_model), whatever its order."""
        module = self.layer(x.shape[-1]) if layer is None else layer
        named = {} if positions is None else {str(self.positions): positions}
        out = module(x if self.batch_first else x.transpose(0, 1), **named)
        out = out[0] if isinstance(out, tuple) else out
        found: Tensor = out if self.batch_first else out.transpose(0, 1)
        if not (x.is_meta or found.is_meta) and torch.isfinite(x).all():
            floats(found)
        return found

    def added(self, seq_len: int, d_model: int) -> Tensor:
        """Return what the layer adds to the first of two equal sequences."""
        with torch.no_grad():
            return self.call(torch.zeros(2, seq_len, d_model))[0]

    def text(self, batch: int, seq_len: int) -> Tensor:
        """Draw embeddings."""
        generator = torch.Generator().manual_seed(0)
        return torch.randn(batch, min(seq_len, self.rows), self.widths[0], generator=generator)

    def near(self, one: Tensor, two: Tensor) -> Measured:
        """Compare two results for the same input, each with a rounded product and a rounded sum.

        The product is at most |y| + |p|, with the sum y and the table's entry p, so the bound is
        2u(2|y| + |p|).
        """
        left, right = floats(one), floats(two)
        same_shape(left, right)
        bounds = 4 * UNIT * (np.abs(right) + max(self.scale, 1.0))
        error, bound, place = worst(np.abs(left - right), bounds)
        return error, bound, f"sequence {place[0]}, row {place[1]}"

    @torch.no_grad()
    def law_adds(self) -> Measured:
        x = self.text(2, 9)
        given = floats(x)
        rest = floats(self.call(x) - self.added(x.shape[1], x.shape[2]))
        usual = usual_factor(float((rest * given).sum() / (given * given).sum()), x.shape[2])
        bounds = 3 * UNIT * (usual * np.abs(given) + max(self.scale, 1.0))
        error, bound, _ = worst(np.abs(rest - usual * given), bounds)
        return error, bound, f"{usual:.4g} · x"

    @torch.no_grad()
    def law_batch(self) -> Measured:
        x = self.text(3, 5)
        together = self.call(x)
        alone = torch.cat([self.call(each[None]) for each in x])
        return self.near(together, alone)

    @torch.no_grad()
    def law_token(self) -> Measured:
        x = self.text(3, 1)
        where = None if self.positions is None else torch.tensor([min(7, self.rows - 1)])
        alone = torch.cat([self.call(each[None], where) for each in x])
        return self.near(self.call(x, where), alone)

    @torch.no_grad()
    def law_rows(self) -> Measured:
        """Pass different positions for each sequence, if the layer takes them."""
        where = torch.tensor([[0, 1, 2, 3, 4], [7, 8, 9, 10, 2], [40, 3, 5, 1, 0]]) % self.rows
        x = torch.zeros(*where.shape, self.widths[0])
        try:
            if self.positions is None:
                raise ValueError("no argument for positions")
            made = self.call(x, where)
            if made.shape != x.shape:
                raise ValueError("refused")
        except Broken:
            raise
        except Exception:  # refused
            raise Skip("takes no positions of shape (batch, seq_len)") from None
        return self.compared(floats(made), self.main[where], self.rows)

    @torch.no_grad()
    def law_far(self) -> Measured:
        """Request distant rows one by one: they must be correct or refused."""
        known, d_model = self.reference, self.widths[0]
        if self.positions is None or known is None or known.step == AROUND or self.down:
            raise Skip("no argument for positions, or no convention to compare with")
        taken, rows = [], []
        for k in (*FAR, 5001):
            try:
                made = self.call(torch.zeros(1, 1, d_model), torch.tensor([k]))
            except Broken:
                raise
            except Exception:  # beyond its limit
                continue
            taken.append(k)
            rows.append(floats(made)[0, 0])
        if not taken:
            raise Skip("far positions are refused")
        omega = known.speeds(d_model)
        counted = np.array(taken) + known.first
        off = split(np.array(rows) / self.scale, known.layout) - np.exp(
            1j * known.angles(taken, 1, d_model)
        )
        allowed = rounding(np.outer(counted, omega), omega / omega[0], self.unit)
        allowed = allowed + self.doubt(counted, omega, self.rows)
        error, bound, place = worst(np.maximum(np.abs(off.real), np.abs(off.imag)), allowed)
        return error, bound, f"position {taken[place[0]]}, pair {place[1]}"

    @torch.no_grad()
    def law_reduced(self) -> Measured:
        """Round matrix products, as autocast and tensor cores do."""
        seq_len, found = self.at_most(2500), []
        x = torch.zeros(1, seq_len, self.widths[0])
        for name, mode in (
            ("bfloat16", torch.autocast("cpu", dtype=torch.bfloat16)),
            ("TF32", RoundedProducts()),
        ):
            with mode:
                made = self.call(x)[0]
            error, bound, place = self.half_of(made, seq_len, UNITS[name])
            found.append((error, bound, f"{name}, {place}"))
        return severe(found)

    @torch.no_grad()
    def law_meta(self) -> Measured:
        d_model = self.widths[0]
        if self.fixed:
            made = copy.deepcopy(self.module)
        else:
            try:
                with torch.device("meta"):
                    made = self.make(d_model)
            except Exception as error:  # it reads values, which meta tensors don't have
                raise Skip(f"can't be created on meta: {type(error).__name__}") from None
        filled, ways = refilled(made, copy.deepcopy(self.module.state_dict()))
        x = self.text(2, 9)
        try:
            same = torch.equal(self.call(x), self.call(x.clone(), layer=filled))
        except Broken:  # NaN: uninitialized memory
            same = False
        if not same and not ways and "meta" not in self.named:
            raise Skip("nothing reinitializes its buffers; to test anyway, pass laws=['meta']")
        if not same:
            raise Broken("a different result once created on meta and filled")
        return 0.0, 0.0, ", ".join(ways)

    @torch.no_grad()
    def law_masked(self) -> Measured:
        x = self.text(2, 9)
        out = self.call(x)
        x[0, 3], x[1, 7] = math.nan, math.inf
        other = self.call(x)
        kept = torch.ones(other.shape[:2], dtype=torch.bool)
        kept[0, 3] = kept[1, 7] = False
        if not torch.equal(out[kept], other[kept]):
            raise Broken("rows with unchanged input changed")
        return 0.0, 0.0, ""

    @torch.no_grad()
    def law_start(self) -> Measured:
        if self.positions is None:
            return super().law_start()
        where = torch.tensor([7, 8, 9, 3, 40, 41])
        where = where[where < self.rows]
        x = torch.zeros(2, len(where), self.widths[0])
        return self.compared(floats(self.call(x, where)[1]), self.main[where], self.rows)

    @torch.no_grad()
    def law_steps(self) -> Measured:
        if self.positions is None:
            return super().law_steps()
        x = torch.zeros(1, 1, self.widths[0])
        loop = [self.call(x, torch.tensor([k]))[0] for k in range(9)]
        return self.compared(floats(torch.cat(loop)), self.main[:9], self.rows)

    @torch.no_grad()
    def law_half(self) -> Measured:
        seq_len = self.at_most(1024)
        half = copy.deepcopy(self.module).to(torch.bfloat16)
        x = torch.zeros(1, seq_len, self.widths[0], dtype=torch.bfloat16)
        made = self.call(x, layer=half)[0]
        same_type(made, "bfloat16")
        return self.half_of(made, seq_len)

    def law_odd(self) -> Measured:
        if self.fixed:
            raise Skip("the layer has one width")
        return super().law_odd()

    @torch.no_grad()
    def law_empty(self) -> Measured:
        none = self.call(self.text(0, 5))
        if none.shape[:2] != (0, min(5, self.rows)):
            raise Broken(f"shape {tuple(none.shape)} for an empty batch")
        return super().law_empty()

    @torch.no_grad()
    def law_strided(self) -> Measured:
        x = self.text(4, 12)
        views = [x.transpose(0, 1)[:5], x[:, ::2], x[:1].expand(3, -1, -1)]
        names = ("transposed", "every second row", "expanded")
        found = [self.near(self.call(view), self.call(view.contiguous())) for view in views]
        return severe([(*each[:2], name) for each, name in zip(found, names, strict=True)])

    @torch.no_grad()
    def law_repeat(self) -> Measured:
        x = self.text(2, 9)
        before = x.clone()
        first = self.call(x)
        kept = first.clone()
        second = self.call(x)
        self.call(torch.ones(3, 4, x.shape[2]))
        if not torch.equal(x, before):
            raise Broken("the input was changed")
        if not torch.equal(first, kept):
            raise Broken("a later call overwrote the first result")
        return float((second - kept).abs().max()), 0.0, ""

    def law_gradient(self) -> Measured:
        x = self.text(2, 9).requires_grad_()
        module = copy.deepcopy(self.module)
        out = self.call(x, layer=module)
        weights = torch.linspace(-1, 1, out.numel()).reshape(out.shape)
        (out * weights).sum().backward()  # type: ignore[no-untyped-call]
        if x.grad is None:
            raise Broken("no gradient reaches x")
        trained = [
            name
            for name, each in module.named_parameters()
            if each.grad is not None and each.ndim > 1 and each.shape[-1] == x.shape[2]
        ]
        if trained:
            raise Broken(f"{trained[0]} is trained", "trained table")
        given, found = floats(weights), floats(x.grad)
        factor = usual_factor(float((found * given).sum() / (given * given).sum()), x.shape[2])
        error, bound, _ = worst(np.abs(found - factor * given), 2 * UNIT * factor * np.abs(given))
        return error, bound, f"{factor:.4g} · g"

    @torch.no_grad()
    def law_state(self) -> Measured:
        x = self.text(2, 9)
        expected = self.call(x)
        file = io.BytesIO()
        torch.save(self.module.state_dict(), file)
        file.seek(0)
        other = copy.deepcopy(self.module)
        for each in other.state_dict().values():
            each.fill_(0)
        other.load_state_dict(torch.load(file, weights_only=True))
        if not torch.equal(self.call(x, layer=other), expected):
            raise Broken("a different result after saving and loading")
        saved = sum(each.numel() for each in other.state_dict().values())
        return 0.0, 0.0, f"{saved} numbers saved"

    @torch.no_grad()
    def law_device(self) -> Measured:
        x = self.text(2, 9)
        self.call(x)
        moved = self.call(x.to("meta"), layer=copy.deepcopy(self.module).to("meta"))
        if moved.device.type != "meta":
            raise Broken("the result isn't on the device of the input")
        double = self.call(x.double(), layer=copy.deepcopy(self.module).double())
        same_type(double, "float64")
        return 0.0, 0.0, "to another device (torch's meta) and to float64"

    @torch.no_grad()
    def law_compile(self) -> Measured:
        x = self.text(2, 9)
        expected = self.call(x)
        torch.compiler.reset()
        found = self.call(
            x, layer=torch.compile(copy.deepcopy(self.module), fullgraph=True, backend="eager")
        )
        return self.near(found, expected)

    def resembles(self, law: str) -> str | None:
        """Compare with the exhibits, if the law is about the added table."""
        return None if law in USES else super().resembles(law)


def usual_factor(found: float, d_model: int) -> float:
    """Return the factor of x: 1 or the root of the width, whichever is nearer."""
    return min((1.0, math.sqrt(d_model)), key=lambda one: abs(one - found))


def width_of(module: nn.Module) -> int:
    """Infer the width of a layer from its attributes or its table."""
    name = take(list(vars(module)), WIDTH)
    if name is not None and isinstance(getattr(module, name), int):
        return int(getattr(module, name))
    for each in [*module.buffers(), *module.parameters()]:
        if each.ndim > 1:
            return each.shape[-1]
    raise ValueError("the width of the layer can't be inferred: pass d_model")
