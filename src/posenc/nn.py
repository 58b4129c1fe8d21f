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

    The table is computed in float64, rounded once to float32 (float64 after ``module.double()``)
    and kept as a buffer, which is not trained. Moving or casting the module, or ``to_empty()``,
    rebuilds the table instead of casting it, so ``module.bfloat16().float()`` loses no precision.
    The sum is rounded to the dtype of the input. The buffer is not persistent, since the arguments
    determine it. Checkpoints of older layers that contain the table as ``pe`` still load if it is
    the same table.

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
        self.base = check_base(base)
        table = torch.from_numpy(sinusoidal_encoding(seq_len, d_model, base=base))
        self.register_buffer("pe", table, persistent=False)
        self.register_load_state_dict_pre_hook(_drop_saved_table)  # type: ignore[no-untyped-call]
        self.dropout = nn.Dropout(probability)
        self.batch_first = batch_first

    def reset_parameters(self) -> None:
        """Rebuild the table on the buffer's device, whatever the buffer contains.

        Needed only if a framework replaces the buffer itself; ``to_empty`` calls it for you.
        """
        max_len, d_model = self.pe.shape
        wide = self.pe.dtype == torch.float64
        table = sinusoidal_encoding(
            max_len, d_model, base=self.base, dtype=np.float64 if wide else np.float32
        )
        self.pe = torch.from_numpy(table).to(self.pe.device)

    def _apply(self, fn: Any, recurse: bool = True) -> SinusoidalPositionalEncoding:
        """Move or cast the module, as ``to``, ``float`` and ``to_empty`` do; rebuild the table."""
        before = self.pe
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        if self.pe is not before:
            self.reset_parameters()
        return self

    def forward(self, x: Tensor, positions: Tensor | None = None) -> Tensor:
        """Return dropout(x + PE), in the shape and dtype of `x`.

        Parameters
        ----------
        x : Tensor
            Floating-point embeddings, (batch, seq_len, d_model), or (seq_len, batch, d_model)
            if ``batch_first`` is false.
        positions : Tensor, shape (seq_len,) or (batch, seq_len), optional
            Position of each row; 0, …, seq_len - 1 by default. Pass it for decoding, left padding
            and packed sequences. The rows are computed on the fly, so positions may be any finite
            real numbers, even beyond max_len.

        Raises
        ------
        TypeError
            If `x` is not a floating-point tensor, or `positions` not a tensor of real numbers.
        ValueError
            If `x` doesn't have 3 dimensions or has the wrong width, if it is longer than max_len
            and no positions are given, or if `positions` has the wrong shape.
        """
        _check_floating("x", x)
        if x.ndim != 3:
            raise ValueError(f"x must have 3 dimensions, got shape {tuple(x.shape)}")
        max_len, d_model = self.pe.shape
        if x.shape[2] != d_model:
            raise ValueError(f"x must have width d_model = {d_model}, got {x.shape[2]}")
        batch, seq_len = x.shape[:2] if self.batch_first else (x.shape[1], x.shape[0])
        if positions is not None:
            _check_positions(positions, batch, (seq_len,))
            omega = _frequencies(d_model, self.base, _device_of_angles(positions.device))
            angles = positions.to(omega.device).double()[..., None] * omega
            rows = torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)
            rows = rows.to(self.pe.dtype).to(x.device)  # round as the table does, to match it
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


def _drop_saved_table(
    module: SinusoidalPositionalEncoding, state_dict: dict[str, Any], prefix: str, *_: Any
) -> None:
    """Drop a saved ``pe`` after verifying that it holds the same encoding."""
    stored = state_dict.pop(f"{prefix}pe", None)
    if stored is None or stored.is_meta:
        return
    d_model, base = module.pe.shape[1], module.base
    rows = stored.detach().cpu().float().reshape(-1, stored.shape[-1] if stored.ndim else 1)
    same = rows.shape[1] == d_model and len(rows) == max((1, *stored.shape[:-1]))
    # A table computed in float32 or stored in bfloat16 is off by about 1e-3; another layout by 1.
    if not same or not np.allclose(
        rows.numpy(), sinusoidal_encoding(len(rows), d_model, base=base), rtol=0, atol=1e-2
    ):
        raise ValueError(
            f"{prefix}pe in the checkpoint is not the table of this layer: "
            "its width, base or layout differs"
        )


_NO_FLOAT64 = {"mps"}
"""Device types without float64."""


def _device_of_angles(device: torch.device) -> torch.device:
    """Return the device to compute angles on: the CPU if this one has no float64."""
    return torch.device("cpu") if device.type in _NO_FLOAT64 else device


def _frequencies(d_model: int, base: float, device: torch.device) -> Tensor:
    """Return angular frequencies as a tensor, in arithmetic that torch.compile can trace."""
    exponents = torch.arange(0, d_model, 2, dtype=torch.float64, device=device) / d_model
    return torch.pow(base, -exponents)


def _check_floating(name: str, x: Any) -> None:
    """Raise unless `x` is a floating-point tensor."""
    if not isinstance(x, Tensor):
        raise TypeError(f"{name} must be a floating-point tensor, got {x!r}")
    if not x.is_floating_point():
        raise TypeError(f"{name} must be a floating-point tensor, got one of {x.dtype}")


def _check_positions(positions: Any, batch: int | None, shape: tuple[int, ...]) -> None:
    """Raise unless positions have `shape`, or (batch, *shape) if there is a batch."""
    if not isinstance(positions, Tensor):
        raise TypeError(f"positions must be a tensor of real numbers, got {positions!r}")
    if positions.dtype == torch.bool or positions.is_complex():
        raise TypeError(f"positions must be a tensor of real numbers, got one of {positions.dtype}")
    allowed = [shape] if batch is None else [shape, (batch, *shape)]
    if tuple(positions.shape) not in allowed:
        rule = " or ".join(str(tuple(each)) for each in allowed)
        raise ValueError(f"positions must have shape {rule}, got {tuple(positions.shape)}")


Turns = tuple[Tensor, Tensor]
"""Cosine and sine of each position and pair, shape (..., seq_len, pairs)."""


def rotary_turns(
    positions: Tensor,
    d_model: int | None = None,
    *,
    base: float = 10_000.0,
    frequencies: Tensor | NDArray[np.float64] | None = None,
    attention_factor: float = 1.0,
    dtype: torch.dtype = torch.float32,
) -> Turns:
    r"""Cosine and sine for `rotate_pairs`, to compute once for all layers of a model.

    Parameters
    ----------
    positions : Tensor
        Position of each row, shape (seq_len,) or (batch, seq_len). With frequencies for several
        axes, one coordinate per axis: shape (seq_len, axes) or (batch, seq_len, axes).
    d_model : int, optional
        Width of a head; positive and even. Needed unless `frequencies` are given.
    base, frequencies, attention_factor
        As for `rotate_pairs`.
    dtype : torch.dtype
        Floating-point type of the result. Angles are computed in float64 and cast last.

    Returns
    -------
    cos, sin : Tensor, shape (seq_len, pairs) or (batch, seq_len, pairs)
        On the device of `positions`, multiplied by `attention_factor`.

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If neither `d_model` nor `frequencies` are given, or an argument has the wrong shape.

    Examples
    --------
    >>> turns = rotary_turns(torch.arange(5), 8)
    >>> x = torch.ones(2, 3, 5, 8)
    >>> bool((rotate_pairs(x, turns=turns) == rotate_pairs(x)).all())
    True
    """
    _check_positions(positions, None, tuple(getattr(positions, "shape", ())))
    device = _device_of_angles(positions.device)
    if frequencies is not None:
        omega = torch.as_tensor(frequencies, device=device)
        _check_floating("frequencies", omega)
        omega = omega.double()
    elif d_model is None:
        raise ValueError("d_model or frequencies must be given")
    else:
        omega = _frequencies(check_d_model(d_model), check_base(base), device)
    if omega.ndim not in (1, 2) or not omega.shape[-1]:
        raise ValueError(
            "frequencies must have shape (pairs,) or (axes, pairs), with at least 1 pair, "
            f"got {tuple(omega.shape)}"
        )
    if check_real("attention_factor", attention_factor) <= 0:
        raise ValueError(f"attention_factor must be positive, got {attention_factor!r}")
    where = positions.to(device).double()
    if omega.ndim == 2 and where.shape[-1:] != omega.shape[:1]:
        raise ValueError(
            f"positions must have a coordinate for each of {len(omega)} axes, "
            f"got shape {tuple(positions.shape)}"
        )
    angles = where[..., None] * omega
    if omega.ndim == 2:  # not a matrix product, which autocast would round
        angles = angles.sum(dim=-2)
    turns = (angles.cos() * attention_factor, angles.sin() * attention_factor)
    cos, sin = (each.to(dtype).to(positions.device) for each in turns)
    return cos, sin


def rotate_pairs(
    x: Tensor,
    positions: Tensor | None = None,
    *,
    base: float = 10_000.0,
    frequencies: Tensor | NDArray[np.float64] | None = None,
    attention_factor: float = 1.0,
    pairing: str = "halves",
    turns: Turns | None = None,
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
        With frequencies for several axes, one coordinate per axis: shape (seq_len, axes) or
        (batch, seq_len, axes).
    base : float
        The constant that spreads the frequencies; positive. Ignored if `frequencies` are given.
    frequencies : Tensor or ndarray, shape (pairs,) or (axes, pairs), optional
        Radians per position, as `posenc.rotary_frequencies` returns them. If there are fewer than
        d_model / 2, the first 2 · pairs dimensions turn and the rest are unchanged. With several
        axes, pair i turns by the sum over the axes of coordinate times frequency.
    attention_factor : float
        Multiplier of the turned dimensions, as `posenc.rotary_frequencies` returns it.
    pairing : {"halves", "neighbors"}
        Whether pair i is dimensions (i, i + pairs), as most checkpoints want, or (2i, 2i + 1), as
        in the paper; the latter is elsewhere called interleaved.
    turns : pair of Tensor, optional
        The result of `rotary_turns`, instead of `positions`, `base`, `frequencies` and
        `attention_factor`, to reuse sines and cosines in all layers.

    Returns
    -------
    Tensor, shape of `x`
        Turning keeps the norm, up to `attention_factor`. Angles are computed in float64 and cast
        last.

    Raises
    ------
    TypeError
        If `x` is not a floating-point tensor, or `positions` not a tensor of real numbers.
    ValueError
        If `x` has fewer than 2 dimensions, its width is odd, `pairing` is not one of the two, or
        `positions`, `frequencies` or `turns` don't fit `x`.

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
    if pairing not in ("halves", "neighbors"):
        raise ValueError(f"pairing must be 'halves' or 'neighbors', got {pairing!r}")
    _check_floating("x", x)
    if x.ndim < 2:
        raise ValueError(f"x must have at least 2 dimensions, got shape {tuple(x.shape)}")
    seq_len, d_model = x.shape[-2], check_d_model(x.shape[-1])
    batch = x.shape[0] if x.ndim > 2 else None
    if turns is None:
        if frequencies is not None:
            frequencies = torch.as_tensor(frequencies, device=_device_of_angles(x.device))
        axes = () if frequencies is None or frequencies.ndim < 2 else frequencies.shape[:1]
        if positions is None:
            positions = torch.arange(seq_len, device=_device_of_angles(x.device))
        _check_positions(positions, batch, (seq_len, *axes))
        turns = rotary_turns(
            positions,
            d_model,
            base=base,
            frequencies=frequencies,
            attention_factor=attention_factor,
            dtype=x.dtype,
        )
    elif positions is not None:
        raise ValueError("positions must not be given with turns, which include them")
    cos, sin = (each.to(x.dtype).to(x.device) for each in turns)
    pairs = cos.shape[-1]
    if 2 * pairs > d_model:
        raise ValueError(f"frequencies must have at most {d_model // 2} pairs, got {pairs}")
    if cos.ndim == 3:  # batched: all heads of a sequence turn by the same angles
        shape = (len(cos), *[1] * (x.ndim - 3), seq_len, pairs)
        cos, sin = cos.reshape(shape), sin.reshape(shape)
    turning, rest = x[..., : 2 * pairs], x[..., 2 * pairs :]
    if pairing == "neighbors":
        first, second = turning[..., 0::2], turning[..., 1::2]
        turned = (first * cos - second * sin, first * sin + second * cos)
        return torch.cat((torch.stack(turned, dim=-1).flatten(-2), rest), dim=-1)
    first, second = turning.chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, first * sin + second * cos, rest), dim=-1)


def alibi_slopes(n_heads: int) -> Tensor:
    r"""Slope of each head's linear distance penalty in ALiBi.

    .. math:: m_h = 2^{-8h/n}, \qquad h = 1, \dots, n

    for n a power of two. For any other n, the slopes for the next lower power of two come first,
    then every second slope for the next higher one, as in the reference implementation.

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
    exponents = [8 * h / below for h in range(1, below + 1)]
    exponents += [4 * h / below for h in range(1, 2 * below, 2)]
    return torch.tensor([2.0**-each for each in exponents[:n]], dtype=torch.float32)
