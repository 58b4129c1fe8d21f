"""The encodings as torch modules and functions.

Wrong arguments raise what those of the numpy functions do. NaN and infinity are noticed where
values can be read: not in `torch.compile`, `torch.export`, `torch.vmap` and on the meta device.
"""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from posenc import attention
from posenc._validate import (
    check_d_model,
    check_frequencies,
    check_int,
    check_positions,
    check_real,
    check_rotation,
    check_turns,
    fit_turns,
    not_rounded,
    refuse_pair,
)
from posenc.encoding import _frequencies, sinusoidal_encoding

try:
    import torch
    from torch import Tensor, nn
except ImportError as error:
    raise ImportError("posenc.nn needs torch: pip install 'posenc[torch]'") from error

# What branches for other ways of running are for:
# - `is_compiling`: values can't be read (`_check_numbers`, `_given_frequencies`), frequencies are
#   constants of the graph (`_geometric_frequencies`), products are fused (`_turned`, `_rotated`);
# - `suppress(RuntimeError)`: in vmap and on the meta device values can't be read either, and some
#   strides and devices have no complex numbers. The error is how one knows;
# - `is_tracing`: `torch.jit.trace` would keep the example's sizes, so it is refused.

__all__ = [
    "SinusoidalPositionalEncoding",
    "Turns",
    "alibi_slopes",
    "rotary_turns",
    "rotate_pairs",
]

Turns = tuple[Tensor, Tensor]
"""Cosine and sine of each position and pair, shape (..., seq_len, pairs)."""


class SinusoidalPositionalEncoding(nn.Module):
    r"""Add the sinusoidal encoding to embeddings, then apply dropout (Vaswani et al., 2017, 5.4).

    .. math:: y_k = \operatorname{dropout}(x_k + \mathrm{PE}_k)

    The table is a buffer in float32 (float64 after ``module.double()``), rounded once; moving or
    casting the module rebuilds it. The sum is rounded to the dtype of the input. State dicts don't
    have the table. A checkpoint that has it as ``pe`` loads if it is the same within 0.01; another
    one counts as an unexpected key, with a warning.

    Parameters
    ----------
    d_model : int
        Width of the embeddings; positive and even.
    max_len : int
        Longest sequence that can be encoded; at least 1.
    dropout : float
        Probability of zeroing an entry of the sum in training, in [0, 1).
    base : float
        The constant that spreads the frequencies; positive.
    batch_first : bool
        Whether input is (batch, seq_len, d_model) or (seq_len, batch, d_model).
    device, dtype : torch.device, torch.dtype, optional
        As for torch's own modules; the table is float64 if `dtype` is, else float32.

    Examples
    --------
    >>> layer = SinusoidalPositionalEncoding(6, dropout=0.0)
    >>> layer(torch.zeros(2, 10, 6)).shape
    torch.Size([2, 10, 6])
    """

    pe: Tensor

    def __init__(
        self,
        d_model: int,
        max_len: int = 5000,
        dropout: float = 0.1,
        *,
        base: float = 10_000.0,
        batch_first: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        probability = check_real("dropout", dropout)
        if not 0 <= probability < 1:
            raise ValueError(f"dropout must be in [0, 1), got {dropout!r}")
        if not isinstance(batch_first, bool):
            raise TypeError(f"batch_first must be a bool, got {batch_first!r}")
        rows = check_int("max_len", max_len, minimum=1)
        width = check_d_model(d_model)
        if dtype is not None:
            _check_floating("dtype", dtype)
        self.base = check_real("base", base, positive=True)
        kind = torch.float64 if dtype == torch.float64 else torch.float32
        table = torch.empty(rows, width, device=device, dtype=kind)
        self.register_buffer("pe", table, persistent=False)
        self.reset_parameters()
        self.dropout = nn.Dropout(probability)
        self.batch_first = batch_first

    def extra_repr(self) -> str:
        """Return the arguments, for `repr`."""
        max_len, d_model = self.pe.shape
        return f"{d_model}, max_len={max_len}, base={self.base}, batch_first={self.batch_first}"

    def reset_parameters(self) -> None:
        """Rebuild the table on the buffer's device, for frameworks that replace the buffer."""
        max_len, d_model = self.pe.shape
        kind = np.float64 if self.pe.dtype == torch.float64 else np.float32
        # By numpy, in float64 whatever the device has.
        table = sinusoidal_encoding(max_len, d_model, base=self.base, dtype=kind)
        self.pe = torch.from_numpy(table).to(self.pe.device)

    def _apply(self, fn: Any, recurse: bool = True) -> SinusoidalPositionalEncoding:
        """Move or cast the module, as ``to``, ``float`` and ``to_empty`` do; rebuild the table."""
        before = self.pe
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        if self.pe is not before:
            self.reset_parameters()
        return self

    def forward(self, x: Tensor, positions: Tensor | None = None) -> Tensor:
        """Return dropout(x + PE), in the shape and dtype of `x`, which are embeddings.

        For decoding, left padding and packed sequences, pass the position of each row, in shape
        (seq_len,), (1, seq_len) or (batch, seq_len): finite real numbers, not in half precision,
        even beyond max_len.
        """
        _check_tensor("x", x)
        _check_floating("x", x.dtype)
        max_len, d_model = self.pe.shape
        if x.ndim != 3 or x.shape[2] != d_model:
            raise ValueError(
                f"x must have 3 dimensions, the last of width d_model = {d_model}"
                f", got shape {tuple(x.shape)}"
            )
        batch, seq_len = x.shape[:2] if self.batch_first else (x.shape[1], x.shape[0])
        if positions is not None:
            cos, sin = rotary_turns(
                positions, d_model, base=self.base, dtype=self.pe.dtype
            )
            fit_turns((batch, seq_len, d_model), cos.shape, axis=1, first=0)
            # (..., seq_len, pairs) twice -> (..., seq_len, d_model), interleaved
            rows = _on(x.device, torch.stack((sin, cos), dim=-1).flatten(-2))
        elif seq_len > max_len:
            raise ValueError(
                f"x must have at most max_len = {max_len} positions, got {seq_len}: "
                "give the layer a larger max_len, or pass positions"
            )
        else:
            rows = self.pe[:seq_len]
        if not self.batch_first:  # to (seq_len, 1 or batch, d_model)
            rows = rows[:, None] if rows.ndim == 2 else rows.transpose(0, 1)
        out: Tensor = self.dropout(x + rows.to(x.dtype))
        return out

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *rest: Any
    ) -> None:
        """Drop a saved ``pe``, unless it is another table: torch reports what is left."""
        name = f"{prefix}pe"
        if name in state_dict and self._is_mine(state_dict[name]):
            del state_dict[name]
        elif name in state_dict:
            warnings.warn(
                f"{name} in the checkpoint is not the table of this layer: "
                "its width, base or layout differs, or it is no dense tensor",
                stacklevel=2,
            )
        super()._load_from_state_dict(state_dict, prefix, *rest)

    def _is_mine(self, stored: Any) -> bool:
        """Return whether a saved table, of any length and shape, is that of this layer."""
        d_model = self.pe.shape[1]
        if not isinstance(stored, Tensor) or stored.layout != torch.strided:
            return False
        if stored.is_meta:  # it has no values to compare
            return True
        if stored.numel() % d_model:
            return False
        rows = stored.detach().cpu().float().reshape(-1, d_model)
        table = sinusoidal_encoding(len(rows), d_model, base=self.base)
        # One computed in float32 or stored in bfloat16 is off by 1e-3; another layout by 1.
        return torch.allclose(rows, torch.from_numpy(table), rtol=0, atol=1e-2)


def _device_of_angles(device: torch.device) -> torch.device:
    """Return the device to compute angles on: the CPU if this one has no float64."""
    try:
        return torch.empty((), dtype=torch.float64, device=device).device
    except (RuntimeError, TypeError):
        return torch.device("cpu")


# As `torch.compiler.assume_constant_result` does, but that loads the compiler: seconds, at import.
_device_of_angles._dynamo_marked_constant = True  # type: ignore[attr-defined]


def _on(device: torch.device, part: Tensor, dtype: torch.dtype | None = None) -> Tensor:
    """Move positions, frequencies, or turns to a device, and cast them."""
    if part.is_meta and device.type != "meta":
        raise ValueError(
            "positions, frequencies, and turns must "
            f"have values for x on the device {device}, got the meta device"
        )
    return part.to(device=device, dtype=dtype)


def _check_floating(name: str, dtype: Any) -> None:
    """Raise unless torch can add and multiply in a floating-point type: not in float8."""
    floating = isinstance(dtype, torch.dtype) and dtype.is_floating_point
    if not floating or dtype.itemsize < 2:
        raise TypeError(
            f"{name} must be floating-point, with 16 bits or more, got {dtype!r}"
        )


def _check_tensor(name: str, x: Any) -> None:
    """Raise unless `x` is a dense tensor."""
    if torch.jit.is_tracing():  # type: ignore[attr-defined, no-untyped-call]
        # It passes sizes as tensors, and would keep those of the example for all others.
        raise RuntimeError("posenc.nn doesn't run in torch.jit.trace: use torch.export")
    if not isinstance(x, Tensor):
        raise TypeError(f"{name} must be a tensor, got {x!r}")
    if x.is_nested or x.layout != torch.strided:
        raise TypeError(
            f"{name} must be a dense tensor: pass x.to_dense(), or of a nested one "
            "x.values() and their positions"
        )


def _check_numbers(name: str, x: Any, *, finite: bool) -> None:
    """Raise unless `x` is a dense tensor of real (and finite) numbers, exact enough for angles."""
    _check_tensor(name, x)
    if x.dtype == torch.bool or x.is_complex():
        raise TypeError(
            f"{name} must be a tensor of real numbers, got one of {x.dtype}"
        )
    if x.is_floating_point() and x.dtype.itemsize < 4:
        raise TypeError(f"{name} {not_rounded(x.dtype)}")
    if finite and x.is_floating_point() and not torch.compiler.is_compiling():
        # Values can't be read where they are traced, batched by vmap, or on the meta device.
        with suppress(RuntimeError):
            if not x.isfinite().all():
                raise ValueError(f"{name} must be finite, got {x!r}")


def rotary_turns(
    positions: Tensor,
    d_model: int | None = None,
    *,
    base: float | None = None,
    frequencies: Tensor | ArrayLike | None = None,
    attention_factor: float | None = None,
    dtype: torch.dtype = torch.float32,
) -> Turns:
    """Cosine and sine for `rotate_pairs`, as `posenc.rotary_turns`, on the positions' device.

    Examples
    --------
    >>> turns = rotary_turns(torch.arange(5), 8)
    >>> x = torch.ones(2, 3, 5, 8)
    >>> bool((rotate_pairs(x, turns=turns) == rotate_pairs(x)).all())
    True
    """
    _check_numbers("positions", positions, finite=True)
    _check_floating("dtype", dtype)
    factor = 1.0 if attention_factor is None else attention_factor
    check_real("attention_factor", factor, positive=True)
    device = _device_of_angles(positions.device)
    if frequencies is not None:
        omega = _given_frequencies(frequencies, device)
        check_frequencies(omega.shape, positions.shape, base)
        omega = omega.double()
    else:
        omega = _geometric_frequencies(d_model, base, device)
    # (..., seq_len, pairs); with axes, (..., seq_len, axes, pairs), whose angles add up.
    angles = positions.to(device, torch.float64).unsqueeze(-1) * omega
    if omega.ndim == 2:  # not a matrix product, which autocast would round
        angles = angles.sum(dim=-2)
    # One tensor: compiled, it is computed once, and not in each head anew.
    turns = torch.stack((angles.cos(), angles.sin())) * factor
    cos, sin = turns.to(dtype).to(positions.device).unbind()
    return cos, sin


def _given_frequencies(frequencies: Tensor | ArrayLike, device: torch.device) -> Tensor:
    """Return frequencies that a caller has given as a tensor."""
    refuse_pair(frequencies)
    if isinstance(frequencies, Tensor):
        # It may be a parameter, on any device: its values aren't read.
        _check_numbers("frequencies", frequencies, finite=False)
        return _on(device, frequencies)
    if not torch.compiler.is_compiling():
        frequencies = check_positions(frequencies, "frequencies", ndim=None)
    return torch.as_tensor(frequencies, dtype=torch.float64, device=device)


def _geometric_frequencies(
    d_model: int | None, base: float | None, device: torch.device
) -> Tensor:
    """Return the frequencies of a width and a base."""
    number = check_real("base", 10_000.0 if base is None else base, positive=True)
    width = check_d_model(d_model)
    if torch.compiler.is_compiling():
        # Constants of the graph, not computed at each step.
        powers = [number ** (-i / width) for i in range(0, width, 2)]
        return torch.tensor(powers, dtype=torch.float64, device=device)
    return torch.tensor(_frequencies(width, number), device=device)


def rotate_pairs(
    x: Tensor,
    positions: Tensor | None = None,
    *,
    base: float | None = None,
    frequencies: Tensor | ArrayLike | None = None,
    attention_factor: float | None = None,
    pairing: str = "halves",
    turns: Turns | None = None,
    seq_dim: int = -2,
    first: int = 0,
    dtype: torch.dtype | None = None,
) -> Tensor:
    """Rotary encoding, as `posenc.rotate_pairs`, for tensors.

    Angles are computed in float64 and cast last. Cosine and sine have the dtype of `x`, or `dtype`;
    so have products, unless they cost less in float32. With ``torch.float32``, half-precision input
    is rounded once, at the end. The result has the shape and dtype of `x`.
    """
    _check_tensor("x", x)
    _check_floating("x", x.dtype)
    kind = x.dtype if dtype is None else dtype
    _check_floating("dtype", kind)
    sizes = x.shape
    axis = check_rotation(sizes, seq_dim, pairing, first)
    included: dict[str, Any] = {
        "positions": positions,
        "base": base,
        "frequencies": frequencies,
        "attention_factor": attention_factor,
    }
    d_model = sizes[-1]
    if turns is None:
        if positions is None:
            device = _device_of_angles(x.device)
            included["positions"] = torch.arange(sizes[axis], device=device)
        turns = rotary_turns(d_model=d_model - first, dtype=kind, **included)
    else:
        check_turns(turns, Tensor, included)
    shape = fit_turns(sizes, turns[0].shape, axis, first)
    cos = _on(x.device, turns[0].reshape(shape), kind)
    sin = _on(x.device, turns[1].reshape(shape), kind)

    width = 2 * shape[-1]
    part = x if width == d_model else x.narrow(-1, first, width)
    if kind == x.dtype:  # in one step of decoding, even casts to the same type count
        turned = _turned(part, cos, sin, pairing)
    else:
        turned = _turned(part.to(kind), cos, sin, pairing).to(x.dtype)
    if width == d_model:
        return turned
    return torch.cat((x[..., :first], turned, x[..., first + width :]), dim=-1)


def _turned(x: Tensor, cos: Tensor, sin: Tensor, pairing: str) -> Tensor:
    """Return `x`, of which all dimensions turn; cos and sin are (..., pairs).

    All three have one dtype, and so has the result. Halves are computed in it; neighbors of a half
    type in float32, and rounded once, unless a compiler does it.
    """
    if pairing == "halves":
        one, two = x.chunk(2, -1)
        return torch.cat(_rotated(one, two, cos, sin), -1)
    pairs = torch.unflatten(x, -1, (cos.shape[-1], 2))  # (..., pairs, 2)
    if not torch.compiler.is_compiling():
        if x.dtype.itemsize < 4:  # there are no complex numbers of such
            return _turned(x.float(), cos.float(), sin.float(), pairing).to(x.dtype)
        # In one pass, unless strides are odd, or the device has no complex numbers.
        with suppress(RuntimeError, TypeError):
            turned = torch.view_as_complex(pairs) * torch.complex(cos, sin)
            return torch.view_as_real(turned).flatten(-2)
    one, two = pairs.unbind(-1)
    return torch.stack(_rotated(one, two, cos, sin), -1).flatten(-2)


def _rotated(
    one: Tensor, two: Tensor, cos: Tensor, sin: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the first and the second dimension of each pair, turned."""
    if torch.compiler.is_compiling():  # the compiler fuses these, and not addcmul
        return one * cos - two * sin, two * cos + one * sin
    first = (one * cos).addcmul_(two, sin, value=-1)
    return first, (two * cos).addcmul_(one, sin)


def alibi_slopes(n_heads: int, *, device: torch.device | str | None = None) -> Tensor:
    """`posenc.alibi_slopes` as a tensor in float32, shape (n_heads,)."""
    return torch.from_numpy(attention.alibi_slopes(n_heads)).to(device)
