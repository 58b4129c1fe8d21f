"""What positions do in attention: rotations of queries and keys, biases of scores, in numpy.

The reference to compare a kernel with: computed in float64 and rounded once, at the end.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from posenc._validate import (
    check_array,
    check_d_model,
    check_dtype,
    check_frequencies,
    check_int,
    check_positions,
    check_real,
    check_rotation,
    check_turns,
    fit_turns,
    refuse_pair,
)
from posenc.encoding import angular_frequencies, is_length

Array = NDArray[Any]


def rotary_turns(
    positions: ArrayLike,
    d_model: int | None = None,
    *,
    base: float | None = None,
    frequencies: ArrayLike | None = None,
    attention_factor: float | None = None,
    dtype: DTypeLike = np.float64,
) -> tuple[Array, Array]:
    """Cosine and sine for `rotate_pairs`, to compute once for all layers of a model.

    Both have shape (seq_len, pairs) or (batch, seq_len, pairs), as positions do, and include the
    `attention_factor`. Without `frequencies`, the width of what turns is needed: `d_model`,
    positive and even. `dtype` is the result's; other arguments are as for `rotate_pairs`.

    Examples
    --------
    >>> cos, sin = rotary_turns([0, 1], 4, base=100)
    >>> cos.round(4)
    array([[1.    , 1.    ],
           [0.5403, 0.995 ]])
    """
    places = check_positions(positions, ndim=None)
    kind = check_dtype(dtype)
    factor = 1.0 if attention_factor is None else attention_factor
    check_real("attention_factor", factor, positive=True)
    if frequencies is not None:
        refuse_pair(frequencies)
        omega = check_positions(frequencies, "frequencies", ndim=None)
        check_frequencies(omega.shape, places.shape, base)
    else:
        width = check_d_model(d_model)
        omega = angular_frequencies(width, base=10_000.0 if base is None else base)
    # (..., seq_len, pairs); with axes, from (..., seq_len, axes) and (axes, pairs).
    angles = places @ omega if omega.ndim == 2 else places[..., None] * omega
    cos, sin = factor * np.cos(angles), factor * np.sin(angles)
    return cos.astype(kind), sin.astype(kind)


def rotate_pairs(
    x: ArrayLike,
    positions: ArrayLike | None = None,
    *,
    base: float | None = None,
    frequencies: ArrayLike | None = None,
    attention_factor: float | None = None,
    pairing: str = "halves",
    turns: tuple[Array, Array] | None = None,
    seq_dim: int = -2,
    first: int = 0,
) -> Array:
    r"""Rotary encoding (RoFormer: Su et al., 2021): turn each pair by its position.

    .. math:: a' = a \cos k\omega_i - b \sin k\omega_i, \qquad
        b' = a \sin k\omega_i + b \cos k\omega_i

    for the two dimensions a, b of pair i of a query or key at position k.

    Parameters
    ----------
    x : array_like, shape (..., seq_len, d_model)
        Queries or keys; the width of a head is positive and even.
    positions : array_like, shape (seq_len,), (1, seq_len) or (batch, seq_len), optional
        Position of each row, finite, not in half precision; 0, …, seq_len - 1 by default; batch is
        the first dimension of `x`. With frequencies for several axes, one more dimension has a
        coordinate for each.
    base : float, optional
        The constant that spreads the frequencies; positive, 10 000 by default.
    frequencies : array_like, shape (pairs,) or (axes, pairs), optional
        Radians per position, instead of `base`, as `posenc.rotary_frequencies` returns them. If
        there are fewer than d_model / 2, the other dimensions are unchanged. With several axes,
        pair i turns by the sum over the axes of coordinate times frequency.
    attention_factor : float, optional
        Multiplier of what turns, as `posenc.rotary_frequencies` returns it; 1 by default.
    pairing : {"halves", "neighbors"}
        Whether pair i is dimensions (i, i + pairs), as most checkpoints want, or (2i, 2i + 1), as
        in the paper, elsewhere called interleaved.
    turns : pair of arrays, optional
        What `rotary_turns` returned for all layers, instead of the arguments that it includes.
    seq_dim : int
        The dimension of `x` that holds positions: 1 for (batch, seq_len, heads, d_model).
    first : int
        The first dimension of a head that turns; even.

    Returns
    -------
    ndarray, shape and dtype of `x`

    Examples
    --------
    >>> rotate_pairs(np.array([[1.0, 0.0], [1.0, 0.0]])).round(4)
    array([[1.    , 0.    ],
           [0.5403, 0.8415]])
    """
    array = check_array("x", x)
    if array.dtype.kind != "f":
        raise TypeError(f"x must hold floating-point numbers, got {array.dtype}")
    axis = check_rotation(array.shape, seq_dim, pairing, first)
    included: dict[str, Any] = {
        "positions": positions,
        "base": base,
        "frequencies": frequencies,
        "attention_factor": attention_factor,
    }
    if turns is None:
        if positions is None:
            included["positions"] = np.arange(array.shape[axis])
        turns = rotary_turns(d_model=array.shape[-1] - first, **included)
    else:
        check_turns(turns, np.ndarray, included)
    shape = fit_turns(array.shape, turns[0].shape, axis, first)
    cos = turns[0].reshape(shape).astype(np.float64)
    sin = turns[1].reshape(shape).astype(np.float64)

    # The first and the second dimension of every pair, as slices of the width.
    pairs = shape[-1]
    end = first + 2 * pairs
    if pairing == "neighbors":
        one, two = slice(first, end, 2), slice(first + 1, end, 2)
    else:
        one, two = slice(first, first + pairs), slice(first + pairs, end)
    a, b = array[..., one], array[..., two]
    out = array.copy()
    out[..., one] = a * cos - b * sin
    out[..., two] = a * sin + b * cos
    return out


def alibi_slopes(n_heads: int) -> NDArray[np.float32]:
    r"""Slopes of the heads' distance penalties in ALiBi (Press et al., 2022), shape (n_heads,).

    .. math:: m_h = 2^{-8h/n}, \qquad h = 1, \dots, n

    for n a power of two. For any other n, the slopes for the next lower power of two come first,
    then every second slope for the next higher one, as in the reference implementation.

    Examples
    --------
    >>> alibi_slopes(4)
    array([0.25      , 0.0625    , 0.015625  , 0.00390625], dtype=float32)
    """
    n = check_int("n_heads", n_heads, minimum=1)
    below = 1 << (n.bit_length() - 1)
    # The slopes for `below` heads, then those for 2 · below heads that lie between them.
    whole, between = np.arange(1, below + 1), np.arange(1, 2 * below, 2) / 2
    exponents = 8 / below * np.append(whole, between)[:n]
    return (0.5**exponents).astype(np.float32)


def alibi_bias(
    n_heads: int, queries: int | ArrayLike, keys: ArrayLike | None = None
) -> NDArray[np.float32]:
    r"""Return what ALiBi adds to each score: minus the slope times the distance.

    It is :math:`-m_h |j - k|`, shape (n_heads, queries, keys); later keys aren't masked.

    Parameters
    ----------
    n_heads : int
        As for `alibi_slopes`.
    queries, keys : 1-D array_like
        Positions; an int L of queries stands for 0, …, L - 1. Keys have the same by default.

    Examples
    --------
    One step of decoding: the query stands at position 2, after two other keys.

    >>> alibi_bias(1, [2], range(3)) / alibi_slopes(1)
    array([[[-2., -1.,  0.]]], dtype=float32)
    """
    if is_length("queries", queries):
        queries = np.arange(check_int("queries", queries, minimum=0))
    at_queries = check_positions(queries, "queries")
    # Not a length: it wouldn't say which of these positions are the queries'.
    at_keys = at_queries if keys is None else check_positions(keys, "keys")
    distance = np.abs(at_queries[:, None] - at_keys)  # (queries, keys)
    # Subtracted from 0, so that a distance of 0 gives 0 and not -0.
    bias = 0 - alibi_slopes(n_heads)[:, None, None] * distance
    return bias.astype(np.float32)


def t5_buckets(
    offsets: ArrayLike,
    *,
    n_buckets: int = 32,
    max_distance: int = 128,
    bidirectional: bool = True,
) -> NDArray[np.int64]:
    """Bucket of each offset in T5 (Raffel et al., 2020, section 2.1).

    Scores get a learned number per head and bucket. Half of a direction's buckets hold one distance
    each; bounds of the others grow geometrically to `max_distance`; the last holds what is farther.

    Parameters
    ----------
    offsets : array_like of int
        Position of the key minus that of the query.
    n_buckets : int
        A multiple of 4, or of 2 in a decoder.
    max_distance : int
        The distance toward which bounds grow; above the distances with a bucket of their own.
    bidirectional : bool
        Whether keys after the query have buckets of their own; in a decoder they share bucket 0.

    Returns
    -------
    ndarray of int64, shape of `offsets`
        From 0 to n_buckets - 1.

    Examples
    --------
    >>> t5_buckets([-91, -90, -8, -7, 0, 7, 8])
    array([15, 14,  8,  7,  0, 23, 24])

    In a decoder, where no key follows its query:

    >>> t5_buckets([-113, -112, -16, -15, 0, 1], bidirectional=False)
    array([31, 30, 16, 15,  0,  0])
    """
    array = check_array("offsets", offsets)
    if array.size and array.dtype.kind not in "iu":  # numpy takes [] for floats
        raise TypeError(f"offsets must hold whole numbers, got {offsets!r}")
    multiple = 4 if bidirectional else 2
    if check_int("n_buckets", n_buckets, minimum=2) % multiple:
        raise ValueError(
            f"n_buckets must be a multiple of {multiple}, got {n_buckets!r}"
        )
    exact = n_buckets // multiple  # distances that have a bucket of their own
    limit = check_int("max_distance", max_distance, minimum=exact + 1)

    # All distances from `limit` on share a bucket; so the least int64 has a magnitude.
    offset = np.maximum(array.astype(np.int64), -limit)
    distance = np.abs(offset) if bidirectional else np.maximum(-offset, 0)

    # Beyond the exact ones, bucket exact + j begins at exact · (limit / exact)^(j / exact).
    share = np.log(np.maximum(distance, exact) / exact) / np.log(limit / exact)
    wide = np.minimum(exact + (share * exact).astype(np.int64), 2 * exact - 1)
    bucket = np.where(distance < exact, distance, wide)
    if bidirectional:
        bucket = bucket + 2 * exact * (offset > 0)
    return np.asarray(bucket, dtype=np.int64)
