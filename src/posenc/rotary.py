"""Rotary frequencies as a model's ``config.json`` specifies them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posenc._validate import check_base, check_d_model, check_int
from posenc.scaling import SCALINGS, SHARED, Scaling, Setting, find_scaling

__all__ = ["rotary_frequencies"]


def _scaling(fields: Mapping[str, Any]) -> Scaling:
    """Return the type of scaling that a mapping names, or "default"."""
    kind = None
    for key in [key for key in ("rope_type", "type") if key in fields]:
        found = find_scaling(fields[key])
        if found is None:
            rule = f"one of {', '.join(SCALINGS)}, got {fields[key]!r:.80}"
            raise ValueError(f"scaling[{key!r}] must be {rule}")
        if found != (kind := kind or found):
            both = f"{fields['rope_type']!r}, {fields['type']!r}"
            raise ValueError(f"scaling['rope_type'] and scaling['type'] differ: {both}")
    if not kind and any(isinstance(value, Mapping) for value in fields.values()):
        kinds = ", ".join(sorted(fields))
        raise ValueError(f"scaling has a mapping for each kind of layer, {kinds}: pass one of them")
    return kind or SCALINGS["default"]


def rotary_frequencies(
    d_model: int,
    *,
    base: float | None = None,
    scaling: Mapping[str, Any] | None = None,
    max_position_embeddings: int | None = None,
    seq_len: int | None = None,
) -> tuple[NDArray[np.float64], float]:
    r"""Angular frequencies of a rotary encoding, scaled as a model's configuration says.

    .. math:: \omega_i = \mathrm{base}^{-2i/d_\mathrm{model}} / s_i

    with a stretch :math:`s_i \ge 1` for each pair; without scaling, all are 1.

    Parameters
    ----------
    d_model : int
        Width of one head; positive and even.
    base : float, optional
        Positive; by default ``rope_theta`` of `scaling`, which it must not contradict, or 10 000.
    scaling : mapping, optional
        ``rope_scaling`` or ``rope_parameters`` of a ``config.json``. Its ``rope_type`` (or
        ``type``) is one of those in `posenc.scaling.SCALINGS`, whose rules have the formulas and
        sources; other fields are named as in the file. A field that is None counts as missing.
    max_position_embeddings : int, optional
        The configuration's field of that name, which dynamic needs, and other types for which the
        mapping lacks ``factor`` or ``original_max_position_embeddings``.
    seq_len : int, optional
        Length of the current sequence, on which dynamic and longrope depend; short by default.

    Returns
    -------
    frequencies : ndarray of float64, shape (pairs,)
        Radians per position. ``pairs`` is ``d_model // 2``, or fewer if ``partial_rotary_factor``
        is below 1: then only the first ``2 * pairs`` dimensions turn. Proportional always has
        ``d_model // 2``, and the last ones are 0.
    attention_factor : float
        Multiplier of both rotated queries and keys; 1 except for yarn and longrope.

    Examples
    --------
    >>> rotary_frequencies(4, base=100, scaling={"rope_type": "linear", "factor": 4.0})[0]
    array([0.25 , 0.025])
    """
    width = check_d_model(d_model)
    number = 10_000.0 if base is None else check_base(base)
    if scaling is not None and not isinstance(scaling, Mapping):
        raise TypeError(f"scaling must be a mapping, got {scaling!r}")
    fields = {name: value for name, value in (scaling or {}).items() if value is not None}
    kind = _scaling(fields)
    unknown = sorted(map(str, set(fields) - kind.fields - SHARED))
    if unknown:
        raise ValueError(f"scaling has an unknown field for type {kind.name!r}: {unknown[0]!r}")
    if "rope_theta" in fields:
        theta = check_base(fields["rope_theta"])
        if base is not None and theta != number:
            raise ValueError(f"scaling['rope_theta'] is {theta:g}, but base is {number:g}")
        number = theta
    if max_position_embeddings is not None:
        check_int("max_position_embeddings", max_position_embeddings, minimum=1)
    if seq_len is not None:
        check_int("seq_len", seq_len, minimum=1)
    setting = Setting(number, width, width, fields, max_position_embeddings, seq_len)
    share = setting.number("partial_rotary_factor", 1.0)
    rotated = int(width * share)
    if share > 1:
        raise ValueError(f"scaling['partial_rotary_factor'] must be at most 1, got {share:g}")
    if kind.name == "proportional":
        return kind.rule(setting)
    if rotated % 2 or not rotated:
        rule = f"leave an even number of dimensions, got {rotated} of {width}"
        raise ValueError(f"scaling['partial_rotary_factor'] must {rule}")
    return kind.rule(replace(setting, rotated=rotated))
