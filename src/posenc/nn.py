"""The encodings as torch modules and functions."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any, NoReturn

import numpy as np

from posenc import attention
from posenc._validate import (
    check_base,
    check_d_model,
    check_factor,
    check_frequencies,
    check_int,
    check_real,
    check_rotation,
    check_turns,
    fit_turns,
)
from posenc.encoding import _frequencies, sinusoidal_encoding

try:
    import torch
except ImportError as error:
    raise ImportError("posenc.nn needs torch: pip install 'posenc[torch]'") from error
from numpy.typing import ArrayLike
from torch import Tensor, nn

__all__ = ["SinusoidalPositionalEncoding", "Turns", "alibi_slopes", "rotary_turns", "rotate_pairs"]


class SinusoidalPositionalEncoding(nn.Module):
    r"""Add the sinusoidal encoding to a batch of embeddings, then apply dropout.

    .. math:: y_k = \operatorname{dropout}(x_k + \mathrm{PE}_k)

    The table is computed in float64, rounded once to float32 (float64 after ``module.double()``)
    and kept as a buffer, which is not trained. Moving or casting the module, or ``to_empty()``,
    rebuilds the table instead of casting it, so ``module.bfloat16().float()`` loses no precision.
    The sum is rounded to the dtype of the input. The buffer is not persistent, since the arguments
    determine it. Checkpoints of older layers that contain the table as ``pe`` still load if it is
    the same table; another one counts as an unexpected key, with a warning.

    Parameters
    ----------
    d_model : int
        Width of the embeddings; positive and even.
    max_len : int
        Longest sequence that can be encoded; at least 1.
    dropout : float
        Probability of zeroing an entry of the sum in training, in [0, 1). The default is the
        paper's (section 5.4), and that of `torch.nn.TransformerEncoderLayer`.
    base : float
        The constant that spreads the frequencies; positive.
    batch_first : bool
        Whether input is (batch, seq_len, d_model) or (seq_len, batch, d_model).
    device, dtype : torch.device, torch.dtype, optional
        As for torch's own modules; the table is float64 if `dtype` is, else float32.

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
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        probability = check_real("dropout", dropout)
        if not 0 <= probability < 1:
            raise ValueError(f"dropout must be in [0, 1), got {dropout!r}")
        if not isinstance(batch_first, bool):
            raise TypeError(f"batch_first must be a bool, got {batch_first!r}")
        seq_len = check_int("max_len", max_len, minimum=1)
        self.base: float = check_base(base)
        table = torch.from_numpy(sinusoidal_encoding(seq_len, d_model, base=base))
        self.register_buffer("pe", table, persistent=False)
        self.register_load_state_dict_pre_hook(_drop_saved_table)  # type: ignore[no-untyped-call]
        self.dropout: nn.Dropout = nn.Dropout(probability)
        self.batch_first: bool = batch_first
        self.to(device=device or torch.get_default_device(), dtype=dtype)

    def extra_repr(self) -> str:
        """Return the arguments, for `repr`."""
        max_len, d_model = self.pe.shape
        return f"{d_model}, max_len={max_len}, base={self.base}, batch_first={self.batch_first}"

    def __prepare_scriptable__(self) -> NoReturn:
        """Say in a sentence what `torch.jit.script` would in many."""
        _refuse_scripting()

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
        positions : Tensor, shape (seq_len,), (1, seq_len) or (batch, seq_len), optional
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
        _check_tensor("x", x)
        if x.ndim != 3:
            raise ValueError(f"x must have 3 dimensions, got shape {tuple(x.shape)}")
        max_len, d_model = self.pe.shape
        if x.shape[2] != d_model:
            raise ValueError(f"x must have width d_model = {d_model}, got {x.shape[2]}")
        batch, seq_len = x.shape[:2] if self.batch_first else (x.shape[1], x.shape[0])
        if positions is not None:
            cos, sin = rotary_turns(positions, d_model, base=self.base, dtype=self.pe.dtype)
            fit_turns((batch, seq_len, d_model), cos.shape, sin.shape, 1, 0)
            rows = torch.stack((sin, cos), dim=-1).flatten(-2).to(x.device)
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
    module: SinusoidalPositionalEncoding,
    state_dict: dict[str, Any],
    prefix: str,
    local_metadata: object,
    strict: bool,
    missing_keys: list[str],
    unexpected_keys: list[str],
    error_msgs: list[str],
) -> None:
    """Drop a saved ``pe``; report one that holds another encoding."""
    stored = state_dict.pop(f"{prefix}pe", None)
    if stored is None or stored.is_meta:
        return
    d_model, base = module.pe.shape[1], module.base
    rows = stored.detach().cpu().float().reshape(-1, stored.shape[-1] if stored.ndim else 1)
    same = rows.shape[1] == d_model and len(rows) == max((1, *stored.shape[:-1]))
    # A table computed in float32 or stored in bfloat16 is off by about 1e-3; another layout by 1.
    if same and np.allclose(
        rows.numpy(), sinusoidal_encoding(len(rows), d_model, base=base), rtol=0, atol=1e-2
    ):
        return
    unexpected_keys.append(f"{prefix}pe")  # an error unless strict=False
    warnings.warn(
        f"{prefix}pe in the checkpoint is not the table of this layer: "
        "its width, base or layout differs",
        stacklevel=2,
    )


def _refuse_scripting() -> NoReturn:
    raise TypeError("posenc.nn can't be scripted: use torch.compile or torch.export")


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _device_of_angles(device: torch.device) -> torch.device:
    """Return the device to compute angles on: the CPU if this one has no float64."""
    return _with_float64(device)


@cache
def _with_float64(device: torch.device) -> torch.device:
    try:
        return torch.empty((), dtype=torch.float64, device=device).device
    except (RuntimeError, TypeError):
        return torch.device("cpu")


def _check_tensor(name: str, x: Any, *, floating: bool = True) -> None:
    """Raise unless `x` is a dense tensor of floating-point (or of any real) numbers."""
    kind = "floating-point tensor" if floating else "tensor of real numbers"
    if not isinstance(x, Tensor):
        raise TypeError(f"{name} must be a {kind}, got {x!r}")
    if x.is_nested:
        raise TypeError(f"{name} must be a dense {kind}: pass x.values(), and their positions")
    if not x.is_floating_point() and (floating or x.dtype == torch.bool or x.is_complex()):
        raise TypeError(f"{name} must be a {kind}, got one of {x.dtype}")


def _check_finite(name: str, x: Tensor) -> None:
    """Raise if a floating-point tensor has NaN or infinity, where its values can be read."""
    if x.is_floating_point() and not torch.compiler.is_compiling():
        try:
            finite = bool(x.isfinite().all())
        except RuntimeError:  # traced, batched by vmap, or on the meta device
            return
        if not finite:
            raise ValueError(f"{name} must be finite, got {x!r}")


Turns = tuple[Tensor, Tensor]
"""Cosine and sine of each position and pair, shape (..., seq_len, pairs)."""


def rotary_turns(
    positions: Tensor,
    d_model: int | None = None,
    *,
    base: float | None = None,
    frequencies: Tensor | ArrayLike | None = None,
    attention_factor: float | None = None,
    dtype: torch.dtype = torch.float32,
) -> Turns:
    r"""Cosine and sine for `rotate_pairs`, to compute once for all layers of a model.

    As `posenc.rotary_turns`, for tensors. Where values can't be read (in `torch.compile`,
    `torch.export` and `torch.vmap`), `positions` aren't checked for NaN and infinity.

    Parameters
    ----------
    positions : Tensor
        Position of each row, shape (seq_len,) or (batch, seq_len). With frequencies for several
        axes, one coordinate per axis: shape (seq_len, axes) or (batch, seq_len, axes).
    d_model : int, optional
        Width of what turns; positive and even. Needed unless `frequencies` are given.
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
    TypeError, ValueError
        As for `posenc.rotary_turns`.

    Examples
    --------
    >>> turns = rotary_turns(torch.arange(5), 8)
    >>> x = torch.ones(2, 3, 5, 8)
    >>> bool((rotate_pairs(x, turns=turns) == rotate_pairs(x)).all())
    True
    """
    _check_tensor("positions", positions, floating=False)
    _check_finite("positions", positions)
    if not dtype.is_floating_point:
        raise TypeError(f"dtype must be a floating-point type, got {dtype}")
    factor, device = check_factor(attention_factor), _device_of_angles(positions.device)
    if frequencies is not None:
        exact = isinstance(frequencies, (Tensor, np.ndarray))  # a list would become float32
        omega = torch.as_tensor(frequencies, dtype=None if exact else torch.float64, device=device)
        _check_tensor("frequencies", omega)
        if not isinstance(frequencies, Tensor):  # a tensor may be a parameter, on any device
            _check_finite("frequencies", omega)
        check_frequencies(omega.shape, positions.shape, d_model, base)
        omega = omega.double()
    elif d_model is None:
        raise ValueError("d_model or frequencies must be given")
    else:
        width, number = check_d_model(d_model), check_base(10_000.0 if base is None else base)
        if torch.compiler.is_compiling():  # in arithmetic that can be traced
            exponents = torch.arange(0, width, 2, dtype=torch.float64, device=device) / width
            omega = torch.pow(number, -exponents)
        else:
            omega = torch.tensor(_frequencies(width, number), device=device)
    angles = positions.to(device, torch.float64).unsqueeze(-1) * omega
    if omega.ndim == 2:  # not a matrix product, which autocast would round
        angles = angles.sum(dim=-2)
    cos, sin = angles.cos(), angles.sin()
    if factor != 1:
        cos, sin = cos * factor, sin * factor
    return cos.to(dtype).to(positions.device), sin.to(dtype).to(positions.device)


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
    r"""Rotary encoding: turn each pair of a query or key by its position.

    As `posenc.rotate_pairs`, for tensors.

    Parameters
    ----------
    x : Tensor, shape (..., seq_len, d_model) or (batch, ..., seq_len, d_model)
        Queries or keys; the width of a head is positive and even.
    positions : Tensor, optional
        Position of each row, shape (seq_len,), (1, seq_len) or (batch, seq_len), where batch is
        the first dimension of `x`; 0, …, seq_len - 1 by default. With frequencies for several
        axes, one more dimension holds a coordinate per axis.
    base, frequencies, attention_factor, pairing, seq_dim, first
        As for `posenc.rotate_pairs`.
    turns : pair of Tensor, optional
        The result of `rotary_turns`, instead of `positions`, `base`, `frequencies` and
        `attention_factor`, to reuse sines and cosines in all layers.
    dtype : torch.dtype, optional
        Floating-point type of cosine, sine and products; by default that of `x`. With
        ``torch.float32``, half-precision input is rounded once, at the end.

    Returns
    -------
    Tensor, shape and dtype of `x`
        Angles are computed in float64 and cast last.

    Raises
    ------
    TypeError
        If `x` is not a dense floating-point tensor, or `positions` not a dense tensor of real
        numbers.
    ValueError
        As for `posenc.rotate_pairs`.

    Examples
    --------
    >>> x = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    >>> rotate_pairs(x).round(decimals=4)
    tensor([[1.0000, 0.0000],
            [0.5403, 0.8415]])
    """
    _check_tensor("x", x)
    sizes, kind = x.shape, dtype or x.dtype
    if not kind.is_floating_point:
        raise TypeError(f"dtype must be a floating-point type, got {dtype}")
    given: dict[str, Any] = {
        "base": base,
        "frequencies": frequencies,
        "attention_factor": attention_factor,
    }
    axis = check_rotation(sizes, seq_dim, pairing, turns, positions=positions, **given)
    if turns is None:
        if positions is None:
            positions = torch.arange(sizes[axis], device=_device_of_angles(x.device))
        turns = rotary_turns(positions, check_d_model(sizes[-1]) - first, dtype=kind, **given)
    check_turns(turns, Tensor)
    cos, sin = turns
    shape = fit_turns(sizes, cos.shape, sin.shape, axis, first)
    if len(sizes) > 2 and (cos.ndim > 2 or axis != len(sizes) - 2):
        cos, sin = cos.reshape(shape), sin.reshape(shape)
    if cos.dtype != kind or cos.device != x.device:
        cos, sin = cos.to(kind).to(x.device), sin.to(kind).to(x.device)
    pairs = shape[-1]
    turning = x if 2 * pairs == sizes[-1] else x.narrow(-1, first, 2 * pairs)
    if kind != x.dtype:
        turning = turning.to(kind)
    if pairing == "halves":
        one, two = turning.chunk(2, -1)
    else:
        one, two = torch.unflatten(turning, -1, (pairs, 2)).unbind(-1)
    both = (torch.addcmul(one * cos, two, sin, value=-1), torch.addcmul(two * cos, one, sin))
    out = torch.cat(both, -1) if pairing == "halves" else torch.stack(both, -1).flatten(-2)
    if kind != x.dtype:
        out = out.to(x.dtype)
    if 2 * pairs == sizes[-1]:
        return out
    return torch.cat((x[..., :first], out, x[..., first + 2 * pairs :]), dim=-1)


def alibi_slopes(n_heads: int, *, device: torch.device | str | None = None) -> Tensor:
    """Slope of each head's linear distance penalty in ALiBi: `posenc.alibi_slopes` as a tensor.

    Parameters
    ----------
    n_heads : int
        Number of heads; at least 1.
    device : torch.device, optional
        Where the result is.

    Returns
    -------
    Tensor of float32, shape (n_heads,)

    Raises
    ------
    TypeError, ValueError
        If `n_heads` is not a positive int.

    Examples
    --------
    >>> alibi_slopes(4)
    tensor([0.2500, 0.0625, 0.0156, 0.0039])
    """
    return torch.from_numpy(attention.alibi_slopes(n_heads)).to(device)


for _function in (rotary_turns, rotate_pairs, alibi_slopes):
    vars(_function)["__prepare_scriptable__"] = _refuse_scripting
