r"""Rotary frequencies as a model's ``config.json`` specifies them.

A rotary encoding turns pair i of a query or key by the angle k·ω_i. Models for longer texts than
those in training change the ω_i, and sometimes scale the scores; their configuration says how, in
a mapping called ``rope_scaling`` or ``rope_parameters``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posenc._validate import check_base, check_d_model, check_int, check_real
from posenc.encoding import angular_frequencies

Floats = NDArray[np.float64]

BASE = 10_000.0


@dataclass(frozen=True)
class _Setting:
    """The arguments of `rotary_frequencies`, validated, for one scaling."""

    base: float
    rotated: int  # number of dimensions that turn, even
    d_model: int
    fields: Mapping[str, Any]
    max_position_embeddings: int | None
    seq_len: int | None

    @property
    def omega(self) -> Floats:
        return angular_frequencies(self.rotated, base=self.base)

    def number(self, name: str, default: float | None = None, *, minimum: float = 0.0) -> float:
        """Return a field as a float, positive and at least `minimum`."""
        value = self.fields.get(name, default)
        if value is None:
            raise ValueError(f"scaling needs the field {name!r}")
        found = check_real(f"scaling[{name!r}]", value)
        if found <= 0 or found < minimum:
            rule = f"at least {minimum:g}" if minimum else "positive"
            raise ValueError(f"scaling[{name!r}] must be {rule}, got {value!r}")
        return found

    def trained_len(self) -> int:
        """Return the length before stretching."""
        name = "original_max_position_embeddings"
        value = self.fields.get(name, self.max_position_embeddings)
        if value is None:
            raise ValueError(f"scaling needs the field {name!r}, or pass max_position_embeddings")
        return check_int(f"scaling[{name!r}]", value, minimum=2)

    def stretch(self) -> float:
        """Return the factor, or the ratio of the two lengths if the mapping has none."""
        if "factor" in self.fields or self.max_position_embeddings is None:
            return self.number("factor", minimum=1.0)
        if "original_max_position_embeddings" not in self.fields:
            raise ValueError(
                "scaling needs the field 'factor', or 'original_max_position_embeddings'"
            )
        return self.max_position_embeddings / self.trained_len()

    def factors(self, name: str) -> Floats:
        """Return a field as an array with a positive number for each pair."""
        if name not in self.fields:
            raise ValueError(f"scaling needs the field {name!r}")
        value = self.fields[name]
        if not isinstance(value, (list, tuple)) or len(value) != self.rotated // 2:
            raise ValueError(
                f"scaling[{name!r}] must be a list with a number for each of the "
                f"{self.rotated // 2} pairs, got {value!r}"
            )
        found = np.array([check_real(f"scaling[{name!r}]", each) for each in value])
        if (found <= 0).any():
            raise ValueError(f"scaling[{name!r}] must hold positive numbers, got {value!r}")
        return found


def _default(setting: _Setting) -> tuple[Floats, float]:
    return setting.omega, 1.0


def _linear(setting: _Setting) -> tuple[Floats, float]:
    return setting.omega / setting.number("factor", minimum=1.0), 1.0


def _proportional(setting: _Setting) -> tuple[Floats, float]:
    # A share of the pairs turns, at the frequencies of the full width. The rest don't turn.
    omega = angular_frequencies(setting.d_model, base=setting.base)
    share = setting.number("partial_rotary_factor", 1.0)
    omega[int(share * setting.d_model // 2) :] = 0
    return omega / setting.number("factor", 1.0, minimum=1.0), 1.0


def _dynamic(setting: _Setting) -> tuple[Floats, float]:
    factor, width = setting.number("factor", minimum=1.0), setting.rotated
    limit = setting.max_position_embeddings
    if limit is None:
        raise ValueError("scaling of type 'dynamic' needs max_position_embeddings")
    if width == 2:
        raise ValueError("scaling of type 'dynamic' needs two pairs or more, got one")
    seq_len = max(setting.seq_len or limit, limit)
    raised = (factor * seq_len / limit - (factor - 1)) ** (width / (width - 2))
    return angular_frequencies(width, base=setting.base * raised), 1.0


def _yarn(setting: _Setting) -> tuple[Floats, float]:
    width, factor, trained = setting.rotated, setting.stretch(), setting.trained_len()
    if factor < 1:
        raise ValueError(
            f"max_position_embeddings must be at least original_max_position_embeddings = "
            f"{trained}, got {setting.max_position_embeddings}"
        )
    if setting.base <= 1:
        raise ValueError(f"base must be above 1 for scaling of type 'yarn', got {setting.base!r}")
    fast, slow = setting.number("beta_fast", 32.0), setting.number("beta_slow", 1.0)
    if fast < slow:
        raise ValueError(
            f"scaling['beta_fast'] must not be below beta_slow = {slow:g}, got {fast:g}"
        )

    def pair_with(turns: float) -> float:
        """Return the fractional index of the pair that makes `turns` over the trained length."""
        return width * math.log(trained / (turns * 2 * math.pi)) / (2 * math.log(setting.base))

    low, high = pair_with(fast), pair_with(slow)
    truncate = setting.fields.get("truncate", True)
    if not isinstance(truncate, bool):
        raise TypeError(f"scaling['truncate'] must be a bool, got {truncate!r}")
    if truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, width - 1)
    if low == high:
        high += 0.001
    stretched = np.clip((np.arange(width // 2) - low) / (high - low), 0, 1)
    omega = setting.omega
    frequencies = omega / factor * stretched + omega * (1 - stretched)

    def temperature(weight: float) -> float:
        return 0.1 * weight * math.log(factor) + 1 if factor > 1 else 1.0

    if "attention_factor" in setting.fields:
        return frequencies, setting.number("attention_factor")
    if {"mscale", "mscale_all_dim"} <= setting.fields.keys():
        above, below = setting.number("mscale"), setting.number("mscale_all_dim")
        return frequencies, temperature(above) / temperature(below)
    return frequencies, temperature(1.0)


def _longrope(setting: _Setting) -> tuple[Floats, float]:
    short, long = setting.factors("short_factor"), setting.factors("long_factor")
    factor, trained = setting.stretch(), setting.trained_len()
    chosen = long if (setting.seq_len or 0) > trained else short
    if "attention_factor" in setting.fields:
        attention = setting.number("attention_factor")
    else:
        attention = math.sqrt(1 + math.log(factor) / math.log(trained)) if factor > 1 else 1.0
    return setting.omega / chosen, attention


def _llama3(setting: _Setting) -> tuple[Floats, float]:
    factor, trained = setting.number("factor", minimum=1.0), setting.trained_len()
    low, high = setting.number("low_freq_factor"), setting.number("high_freq_factor")
    if high < low:
        raise ValueError(
            f"scaling['high_freq_factor'] must not be below low_freq_factor = {low:g}, got {high:g}"
        )
    omega = setting.omega
    turns = trained * omega / (2 * np.pi)
    if high == low:  # as in Llama 4 Scout: no blending
        kept = (turns >= high).astype(np.float64)
    else:
        kept = np.clip((turns - low) / (high - low), 0, 1)
    return (1 - kept) * omega / factor + kept * omega, 1.0


_EVERYWHERE = {"rope_type", "type", "rope_theta", "partial_rotary_factor"}
_TRAINED = "original_max_position_embeddings"
_SCALINGS: dict[str, tuple[Callable[[_Setting], tuple[Floats, float]], set[str]]] = {
    "default": (_default, set()),
    "linear": (_linear, {"factor"}),
    "dynamic": (_dynamic, {"factor"}),
    "yarn": (
        _yarn,
        {
            *("factor", _TRAINED, "attention_factor", "beta_fast", "beta_slow"),
            *("mscale", "mscale_all_dim", "truncate"),
        },
    ),
    "longrope": (
        _longrope,
        {"factor", _TRAINED, "attention_factor", "short_factor", "long_factor"},
    ),
    "llama3": (_llama3, {"factor", _TRAINED, "low_freq_factor", "high_freq_factor"}),
    "proportional": (_proportional, {"factor"}),
}


def _rope_type(fields: Mapping[str, Any]) -> str:
    """Return the type that a mapping names, or "default"."""
    named = {str(fields[key]) for key in ("rope_type", "type") if key in fields}
    if len(named) > 1:
        raise ValueError(
            f"scaling['rope_type'] and scaling['type'] differ: "
            f"{fields['rope_type']!r}, {fields['type']!r}"
        )
    if not named and any(isinstance(value, Mapping) for value in fields.values()):
        raise ValueError(
            f"scaling has a mapping for each kind of layer, {', '.join(sorted(fields))}: "
            "pass one of them"
        )
    (found,) = named or {"default"}
    if found not in _SCALINGS:
        raise ValueError(
            f"scaling['rope_type'] must be one of {', '.join(_SCALINGS)}, got {found!r}"
        )
    return found


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
        The constant that spreads the frequencies; positive. By default ``rope_theta`` of
        `scaling`, or 10 000. A base that contradicts ``rope_theta`` is an error.
    scaling : mapping, optional
        ``rope_scaling`` or ``rope_parameters`` of a ``config.json``. Its ``rope_type`` (or
        ``type``) is one of default, linear, dynamic, yarn, longrope, llama3 and proportional; the
        other fields are named as in the file. A field that is None counts as missing.
    max_position_embeddings : int, optional
        The configuration's field of that name. Required for dynamic; for yarn and longrope if the
        mapping lacks ``factor`` or ``original_max_position_embeddings``; for llama3 if it lacks
        the latter.
    seq_len : int, optional
        Length of the current sequence, which dynamic and longrope depend on. Without it, they give
        the frequencies for short sequences.

    Returns
    -------
    frequencies : ndarray of float64, shape (pairs,)
        Radians per position. ``pairs`` is ``d_model // 2``, or fewer if ``partial_rotary_factor``
        is below 1: then only the first ``2 * pairs`` dimensions turn. Proportional always has
        ``d_model // 2``, and the last ones are 0.
    attention_factor : float
        Multiplier of both rotated queries and keys; 1 except for yarn and longrope.

    Raises
    ------
    TypeError
        If an argument or a field has the wrong type.
    ValueError
        If `scaling` has an unknown type, a missing or an unknown field, a ``factor`` below 1, a
        list of the wrong length, or a ``rope_theta`` that contradicts `base`, or if
        `max_position_embeddings` is below the original length for yarn.

    Notes
    -----
    With the factor s and the width d, linear divides every frequency by s. Dynamic multiplies the
    base by the stretch that the sequence needs, to the power d / (d - 2), so that the first pair
    is unchanged and the last one is divided by that stretch. YaRN and llama3 divide the slow pairs
    by s, leave the fast ones, and blend in between. LongRoPE has a divisor for each pair. A test
    compares all of them with transformers.

    References
    ----------
    - Chen et al., "Extending context window of large language models via positional
      interpolation", 2023 (linear).
    - Peng et al., "YaRN: Efficient context window extension of large language models", 2023.
    - Ding et al., "LongRoPE: Extending LLM context window beyond 2 million tokens", 2024.

    Examples
    --------
    >>> rotary_frequencies(4, base=100)[0]
    array([1. , 0.1])
    >>> rotary_frequencies(4, base=100, scaling={"rope_type": "linear", "factor": 4.0})[0]
    array([0.25 , 0.025])
    """
    width = check_d_model(d_model)
    number = BASE if base is None else check_base(base)
    if scaling is not None and not isinstance(scaling, Mapping):
        raise TypeError(f"scaling must be a mapping, got {scaling!r}")
    fields = {name: value for name, value in (scaling or {}).items() if value is not None}
    rule, known = _SCALINGS[_rope_type(fields)]
    unknown = sorted(map(str, set(fields) - known - _EVERYWHERE))
    if unknown:
        raise ValueError(
            f"scaling has an unknown field for type {_rope_type(fields)!r}: {unknown[0]!r}"
        )
    if "rope_theta" in fields:
        theta = check_base(fields["rope_theta"])
        if base is not None and theta != number:
            raise ValueError(f"scaling['rope_theta'] is {theta:g}, but base is {number:g}")
        number = theta
    lengths = {"max_position_embeddings": max_position_embeddings, "seq_len": seq_len}
    for name, value in lengths.items():
        if value is not None:
            check_int(name, value, minimum=1)
    setting = _Setting(number, width, width, fields, max_position_embeddings, seq_len)
    share = setting.number("partial_rotary_factor", 1.0)
    if share > 1:
        raise ValueError(f"scaling['partial_rotary_factor'] must be at most 1, got {share:g}")
    if rule is not _proportional:
        rotated = int(width * share)
        if rotated % 2 or not rotated:
            raise ValueError(
                f"scaling['partial_rotary_factor'] must leave an even number of dimensions, got "
                f"{rotated} of {width}"
            )
        setting = _Setting(number, rotated, width, fields, max_position_embeddings, seq_len)
    return rule(setting)
