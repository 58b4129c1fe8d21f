"""The encoding as torch modules and functions."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from posenc._validate import check_d_model, check_int, check_real
from posenc.encoding import angular_frequencies, sinusoidal_encoding


class SinusoidalPositionalEncoding(nn.Module):
    r"""Add the sinusoidal encoding to a batch of embeddings, then apply dropout.

    .. math:: y_k = \operatorname{dropout}(x_k + \mathrm{PE}_k)

    The table is computed once in float64, cast to float32 and kept as a buffer: it moves with the
    module from device to device, follows ``module.to(dtype)``, and is not trained. It is not part
    of the state dict, since it follows from the arguments.

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
        self.dropout = nn.Dropout(probability)
        self.batch_first = batch_first

    def forward(self, x: Tensor) -> Tensor:
        """Return dropout(x + PE), in the shape and dtype of `x`.

        Parameters
        ----------
        x : Tensor
            Floating-point embeddings, (batch, seq_len, d_model), or (seq_len, batch, d_model)
            where ``batch_first`` is false.

        Raises
        ------
        ValueError
            If `x` has another number of dimensions or another width, or is longer than max_len.
        """
        if x.ndim != 3:
            raise ValueError(f"x must have 3 dimensions, got shape {tuple(x.shape)}")
        max_len, d_model = self.pe.shape
        if x.shape[2] != d_model:
            raise ValueError(f"x must have width d_model = {d_model}, got {x.shape[2]}")
        seq_len = x.shape[1 if self.batch_first else 0]
        if seq_len > max_len:
            raise ValueError(f"x must have at most max_len = {max_len} positions, got {seq_len}")
        rows = self.pe[:seq_len].to(x.dtype)
        out: Tensor = self.dropout(x + (rows if self.batch_first else rows[:, None]))
        return out


def rotate_pairs(
    x: Tensor,
    positions: Tensor | None = None,
    *,
    base: float = 10_000.0,
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
    x : Tensor, shape (..., seq_len, d_model)
        Queries or keys of one head; the width is positive and even.
    positions : Tensor, shape (seq_len,), optional
        Position of each row; 0, …, seq_len - 1 by default.
    base : float
        The constant that spreads the frequencies; positive.
    layout : {"interleaved", "halves"}
        Whether pair i is dimensions (2i, 2i + 1) or (i, i + d_model / 2).

    Returns
    -------
    Tensor, shape of `x`
        Rows of unchanged norm. Angles are computed in float64 and cast last.

    Raises
    ------
    ValueError
        If the width is odd, `layout` is not one of the two, or `positions` has another length.

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
    seq_len, d_model = x.shape[-2:]
    omega = torch.from_numpy(angular_frequencies(check_d_model(d_model), base)).to(x.device)
    if positions is None:
        positions = torch.arange(seq_len, device=x.device)
    if positions.shape != (seq_len,):
        raise ValueError(f"positions must have shape ({seq_len},), got {tuple(positions.shape)}")
    angles = positions.double()[:, None] * omega
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    if layout == "interleaved":
        first, second = x[..., 0::2], x[..., 1::2]
        turned = (first * cos - second * sin, first * sin + second * cos)
        return torch.stack(turned, dim=-1).flatten(-2)
    first, second = x.chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, first * sin + second * cos), dim=-1)


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
