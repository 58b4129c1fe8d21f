"""The encoding as torch modules and functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from posenc._validate import check_base, check_d_model, check_int, check_real
from posenc.encoding import sinusoidal_encoding


class SinusoidalPositionalEncoding(nn.Module):
    r"""Add the sinusoidal encoding to a batch of embeddings, then apply dropout.

    .. math:: y_k = \operatorname{dropout}(x_k + \mathrm{PE}_k)

    The table is computed once in float64, cast to float32 and kept as a buffer: it moves with the
    module from device to device, follows ``module.to(dtype)``, and is not trained. It is not part
    of the state dict, since it follows from the arguments. A checkpoint of an older layer that
    holds the table as ``pe`` loads, if its table is this one.

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

    Raises
    ------
    TypeError, ValueError
        As for `posenc.sinusoidal_encoding`, and if `dropout` is not in [0, 1).

    References
    ----------
    Vaswani et al., "Attention is all you need", 2017, sections 3.5 and 5.4.

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
    ) -> None:
        super().__init__()
        probability = check_real("dropout", dropout)
        if not 0 <= probability < 1:
            raise ValueError(f"dropout must be in [0, 1), got {dropout!r}")
        if not isinstance(batch_first, bool):
            raise TypeError(f"batch_first must be a bool, got {batch_first!r}")
        seq_len = check_int("max_len", max_len, minimum=1)
        table = torch.from_numpy(sinusoidal_encoding(seq_len, d_model, base=base))
        self.register_buffer("pe", table, persistent=False)
        self.register_load_state_dict_pre_hook(_forget_table)  # type: ignore[no-untyped-call]
        self.base = check_base(base)
        self.dropout = nn.Dropout(probability)
        self.batch_first = batch_first

    def forward(self, x: Tensor, positions: Tensor | None = None) -> Tensor:
        """Return dropout(x + PE), in the shape and dtype of `x`.

        Parameters
        ----------
        x : Tensor
            Floating-point embeddings, (batch, seq_len, d_model), or (seq_len, batch, d_model)
            where ``batch_first`` is false.
        positions : Tensor, shape (seq_len,) or (batch, seq_len), optional
            Position of each row; 0, …, seq_len - 1 by default. Decoding, padding on the left and
            packed sequences need others. Their rows are computed on the spot, so they may be any
            finite real numbers, beyond max_len too.

        Raises
        ------
        ValueError
            If `x` has another number of dimensions or another width, or is longer than max_len
            and no positions are given, or `positions` has another shape.
        """
        if x.ndim != 3:
            raise ValueError(f"x must have 3 dimensions, got shape {tuple(x.shape)}")
        max_len, d_model = self.pe.shape
        if x.shape[2] != d_model:
            raise ValueError(f"x must have width d_model = {d_model}, got {x.shape[2]}")
        batch, seq_len = x.shape[:2] if self.batch_first else (x.shape[1], x.shape[0])
        if positions is not None:
            _check_positions(positions, batch, (seq_len,))
            angles = positions[..., None].double() * _frequencies(d_model, self.base, x.device)
            rows = torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)
        elif seq_len > max_len:
            raise ValueError(
                f"x must have at most max_len = {max_len} positions, got {seq_len}: "
                "give the layer a larger max_len, or pass positions"
            )
        else:
            rows = self.pe[:seq_len]
        if not self.batch_first:
            rows = rows[:, None] if rows.ndim == 2 else rows.transpose(0, 1)
        out: Tensor = self.dropout(x + rows.to(x.dtype))
        return out


def _forget_table(module: nn.Module, state_dict: dict[str, Any], prefix: str, *_: Any) -> None:
    """Take a table that an older layer saved out of a checkpoint, if it holds the same encoding."""
    stored = state_dict.pop(f"{prefix}pe", None)
    if stored is None:
        return
    table = module.get_buffer("pe").cpu().float()
    rows = stored.detach().cpu().float().squeeze()
    both = min(len(rows), len(table))
    # A table made in float32 or kept in bfloat16 is off by about 1e-3; another layout by 1.
    if rows.shape[1:] != table.shape[1:] or not torch.allclose(
        rows[:both], table[:both], rtol=0, atol=1e-2
    ):
        raise ValueError(
            f"{prefix}pe in the checkpoint is not the table of this layer: "
            "it has another width, base or layout"
        )


def _frequencies(d_model: int, base: float, device: torch.device) -> Tensor:
    """Angular frequencies as a tensor, in arithmetic that a compiler can follow."""
    exponents = torch.arange(0, d_model, 2, dtype=torch.float64, device=device) / d_model
    return torch.pow(base, -exponents)


def _check_positions(positions: Tensor, batch: int | None, shape: tuple[int, ...]) -> None:
    """Refuse positions that are not of `shape`, or of (batch, *shape) where there is a batch."""
    allowed = [shape] if batch is None else [shape, (batch, *shape)]
    if tuple(positions.shape) not in allowed:
        rule = " or ".join(str(tuple(each)) for each in allowed)
        raise ValueError(f"positions must have shape {rule}, got {tuple(positions.shape)}")


def rotate_pairs(
    x: Tensor,
    positions: Tensor | None = None,
    *,
    base: float = 10_000.0,
    frequencies: Tensor | NDArray[np.float64] | None = None,
    attention_factor: float = 1.0,
    layout: str = "interleaved",
) -> Tensor:
    r"""Rotary encoding: turn each pair of a query or key by its position.

    .. math::

        \begin{bmatrix} x'_{2i} \\ x'_{2i+1} \end{bmatrix} =
        \begin{bmatrix} \cos k\omega_i & -\sin k\omega_i \\ \sin k\omega_i & \cos k\omega_i
        \end{bmatrix}
        \begin{bmatrix} x_{2i} \\ x_{2i+1} \end{bmatrix}

    Parameters
    ----------
    x : Tensor, shape (..., seq_len, d_model) or (batch, ..., seq_len, d_model)
        Queries or keys; the width of a head is positive and even.
    positions : Tensor, optional
        Position of each row, shape (seq_len,) or (batch, seq_len); 0, …, seq_len - 1 by default.
        With frequencies for several axes, a coordinate for each axis: shape (seq_len, axes) or
        (batch, seq_len, axes).
    base : float
        The constant that spreads the frequencies; positive. Not used beside `frequencies`.
    frequencies : Tensor or ndarray, shape (pairs,) or (axes, pairs), optional
        Radians per position, such as `posenc.rotary_frequencies` returns. Where there are fewer
        than d_model / 2, the first 2 · pairs dimensions turn and the rest stay. With several axes,
        pair i turns by the sum over the axes of coordinate times frequency.
    attention_factor : float
        What the turned dimensions are multiplied by, as `posenc.rotary_frequencies` returns it.
    layout : {"interleaved", "halves"}
        Whether pair i is dimensions (2i, 2i + 1) or (i, i + pairs).

    Returns
    -------
    Tensor, shape of `x`
        Rows of unchanged norm (times `attention_factor`, where they turn). Angles are computed in
        float64 and cast last.

    Raises
    ------
    ValueError
        If the width is odd, `layout` is not one of the two, or `positions` or `frequencies` don't
        fit `x`.

    References
    ----------
    Su et al., "RoFormer: Enhanced transformer with rotary position embedding", 2021.

    Examples
    --------
    >>> x = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    >>> rotate_pairs(x).round(decimals=4)
    tensor([[1.0000, 0.0000],
            [0.5403, 0.8415]])
    """
    if layout not in ("interleaved", "halves"):
        raise ValueError(f"layout must be 'interleaved' or 'halves', got {layout!r}")
    seq_len, d_model = x.shape[-2], check_d_model(x.shape[-1])
    if frequencies is None:
        omega = _frequencies(d_model, check_base(base), x.device)
    else:
        omega = torch.as_tensor(frequencies, dtype=torch.float64, device=x.device)
    pairs = omega.shape[-1]
    if omega.ndim not in (1, 2) or not 0 < 2 * pairs <= d_model:
        raise ValueError(
            f"frequencies must have shape (pairs,) or (axes, pairs), with 1 to {d_model // 2} "
            f"pairs, got {tuple(omega.shape)}"
        )
    if positions is None:
        positions = torch.arange(seq_len, device=x.device)
    _check_positions(positions, x.shape[0] if x.ndim > 2 else None, (seq_len, *omega.shape[:-1]))
    where = positions.double()
    angles = where[..., None] * omega if omega.ndim == 1 else where @ omega
    if angles.ndim == 3:  # a batch: every head of a sequence turns alike
        angles = angles.reshape(len(angles), *[1] * (x.ndim - 3), seq_len, pairs)
    cos = (angles.cos() * attention_factor).to(x.dtype)
    sin = (angles.sin() * attention_factor).to(x.dtype)
    turning, rest = x[..., : 2 * pairs], x[..., 2 * pairs :]
    if layout == "interleaved":
        first, second = turning[..., 0::2], turning[..., 1::2]
        turned = (first * cos - second * sin, first * sin + second * cos)
        return torch.cat((torch.stack(turned, dim=-1).flatten(-2), rest), dim=-1)
    first, second = turning.chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, first * sin + second * cos, rest), dim=-1)


def alibi_slopes(n_heads: int) -> Tensor:
    r"""Slope of each head's linear distance penalty in ALiBi.

    .. math:: m_h = 2^{-8h/n}, \qquad h = 1, \dots, n

    for n a power of two. For any other n the slopes of the power of two below come first, then
    every second slope of the one above, as in the reference implementation.

    Parameters
    ----------
    n_heads : int
        Number of heads; at least 1.

    Returns
    -------
    Tensor of float32, shape (n_heads,)

    Raises
    ------
    TypeError, ValueError
        If `n_heads` is not a positive int.

    References
    ----------
    Press, Smith and Lewis, "Train short, test long", 2022.

    Examples
    --------
    >>> alibi_slopes(4)
    tensor([0.2500, 0.0625, 0.0156, 0.0039])
    """
    n = check_int("n_heads", n_heads, minimum=1)
    below = 1 << (n.bit_length() - 1)
    slopes = 2.0 ** (-8 * torch.arange(1, below + 1) / below)
    between = 2.0 ** (-4 * torch.arange(1, 2 * below, 2) / below)
    return torch.cat((slopes, between))[:n]
