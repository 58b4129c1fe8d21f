"""Rotary frequencies as a model's ``config.json`` specifies them.

A model for longer texts than those in training changes the frequencies ω_i of its rotary encoding.
`SCALINGS` has a `Scaling` for each type of change; ``CONTRIBUTING.md`` says how to add one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from posenc._table import Floats
from posenc._validate import check_choice, check_d_model, check_int, check_real
from posenc.encoding import angular_frequencies

ORIGINAL = "original_max_position_embeddings"
LONGEST = 2**53  # of lengths: beyond, floats skip whole numbers
# Fields of such a mapping that don't depend on the type: they are read elsewhere, or by other code.
SHARED = (
    "rope_type",
    "type",
    "rope_theta",
    "partial_rotary_factor",
    "max_position_embeddings",
    "mrope_section",
    "mrope_interleaved",
    "llama_4_scaling_beta",
)


@dataclass(frozen=True)
class Setting:
    """The arguments of `rotary_frequencies`, validated, for one scaling."""

    base: float
    #: Number of dimensions that turn, even; of the whole head if proportional.
    rotated: int
    fields: Mapping[str, Any]
    max_position_embeddings: int | None
    seq_len: int | None

    @property
    def omega(self) -> Floats:
        """Return the frequencies without scaling, a new array that a rule may write into."""
        return angular_frequencies(self.rotated, base=self.base)

    def field(self, name: str, default: Any = None, rule: str = "") -> Any:
        """Return a field or its default; one of them is needed."""
        value = self.fields.get(name, default)
        if value is None:
            raise ValueError(f"scaling needs the field {name!r}{rule}")
        return value

    def number(
        self, name: str, default: float | None = None, *, minimum: float = 0.0
    ) -> float:
        """Return a field as a float, positive and at least `minimum`."""
        key = f"scaling[{name!r}]"
        number = check_real(key, self.field(name, default), positive=not minimum)
        if number < minimum:
            raise ValueError(f"{key} must be at least {minimum:g}, got {number!r}")
        return number

    def trained_len(self) -> int:
        """Return the length before stretching."""
        limit = self.max_position_embeddings
        value = self.field(ORIGINAL, limit, ", or pass max_position_embeddings")
        return check_int(f"scaling[{ORIGINAL!r}]", value, minimum=2, maximum=LONGEST)

    def stretch(self) -> float:
        """Return the factor, or the ratio of the two lengths if the mapping has none."""
        if "factor" in self.fields or self.max_position_embeddings is None:
            return self.number("factor", minimum=1.0)
        if ORIGINAL not in self.fields:
            raise ValueError(f"scaling needs the field 'factor', or {ORIGINAL!r}")
        return self.max_position_embeddings / self.trained_len()

    def factors(self, name: str) -> Floats:
        """Return a field as an array with a positive number for each pair."""
        value = self.field(name)
        pairs = self.rotated // 2
        key = f"scaling[{name!r}]"
        if not isinstance(value, (list, tuple)) or len(value) != pairs:
            raise ValueError(
                f"{key} must be "
                f"a list with a number for each of the {pairs} pairs, got {value!r}"
            )
        return np.array([check_real(key, number, positive=True) for number in value])


Rule = Callable[[Setting], tuple[Floats, float]]


@dataclass(frozen=True)
class Scaling:
    """One type of scaling."""

    name: str  #: The value of ``rope_type``.
    #: Maps a `Setting` to frequencies and attention factor; its docstring has the formula.
    rule: Rule
    fields: tuple[str, ...] = ()  #: Fields that the rule reads.

    def lengths(
        self, fields: Mapping[str, Any], limit: int | None
    ) -> tuple[int | None, int | None]:
        """Return the length that a scaling starts from, and the one that it is meant for."""
        if fields.get("alpha") is not None:
            return None, limit
        start: int | None = limit if self.name == "dynamic" else fields.get(ORIGINAL)
        # llama3's factor doesn't say how much longer texts may be.
        factor = fields.get("factor")
        if factor is not None:
            # Where no frequencies are computed, nothing else checks it.
            factor = check_real("scaling['factor']", factor, positive=True)
        if start and factor and self.name != "llama3":
            return start, int(start * factor)
        return start, limit

    def score_factor(self, fields: Mapping[str, Any]) -> float | None:
        """Return what YaRN's ``mscale_all_dim`` multiplies scores by, in some models' code."""
        depth, factor = fields.get("mscale_all_dim"), fields.get("factor") or 1
        if not depth or factor <= 1:
            return None
        depth = check_real("scaling['mscale_all_dim']", depth, positive=True)
        return _heat(factor, depth) ** 2


def _default(setting: Setting) -> tuple[Floats, float]:
    """ω_i, unchanged."""
    return setting.omega, 1.0


def _linear(setting: Setting) -> tuple[Floats, float]:
    """ω_i / factor: positional interpolation (Chen et al., 2023, arXiv:2306.15595)."""
    return setting.omega / setting.number("factor", minimum=1.0), 1.0


def _proportional(setting: Setting) -> tuple[Floats, float]:
    """Turn a share of the pairs, at the frequencies of the full width, and leave the rest."""
    omega, share = setting.omega, setting.number("partial_rotary_factor", 1.0)
    # Pairs from the share on stand still: the slow ones, which would see the least of a turn.
    omega[int(share * setting.rotated // 2) :] = 0
    return omega / setting.number("factor", 1.0, minimum=1.0), 1.0


def _dynamic(setting: Setting) -> tuple[Floats, float]:
    """Raise the base by (factor·L/limit - factor + 1)^(d/(d-2)) in a text of L > limit positions.

    With the field ``alpha`` (Hunyuan), the base is always raised, by alpha^(d/(d-2)).
    """
    width = setting.rotated
    limit = setting.max_position_embeddings
    if width == 2:
        raise ValueError("scaling of type 'dynamic' needs two pairs or more, got one")
    if "alpha" in setting.fields:
        stretch = setting.number("alpha", minimum=1.0)
    elif limit is None:
        raise ValueError("scaling of type 'dynamic' needs max_position_embeddings")
    else:
        length = max(setting.seq_len or limit, limit)
        factor = setting.number("factor", minimum=1.0)
        stretch = factor * length / limit - (factor - 1)
    # The power makes the slowest pair turn `stretch` times slower.
    base = setting.base * stretch ** (width / (width - 2))
    return angular_frequencies(width, base=base), 1.0


def _ntk(setting: Setting) -> tuple[Floats, float]:
    """Divide ω_i by factor^(2(i+1)/d), or by exp(log(factor)·(2/d)^b·(i+1)^b) with ``mixed_b``.

    transformers doesn't know this type; vLLM does (`NTKScalingRotaryEmbedding`).
    """
    power = setting.number("mixed_b", 1.0)
    pairs = setting.rotated // 2
    share = np.arange(1, pairs + 1) / pairs  # 2(i+1)/d, up to 1 at the slowest pair
    stretch = setting.number("factor", minimum=1.0) ** share**power
    return setting.omega / stretch, 1.0


def _yarn(setting: Setting) -> tuple[Floats, float]:
    """Blend from ω_i to ω_i / factor between two pairs (YaRN: Peng et al., arXiv:2309.00071).

    The ends are the pairs that make beta_fast and beta_slow turns over the trained length.
    """
    factor = setting.stretch()
    if factor < 1:
        raise ValueError(
            f"max_position_embeddings must be at least {ORIGINAL} = "
            f"{setting.trained_len()}, got {setting.max_position_embeddings}"
        )
    low, high = _ends_of_blend(setting)
    # 0 for pairs up to `low`, which keep their frequencies, and 1 from `high` on.
    stretched = np.clip((np.arange(setting.rotated // 2) - low) / (high - low), 0, 1)
    omega = setting.omega
    frequencies = omega / factor * stretched + omega * (1 - stretched)
    usual = _yarn_attention(setting, factor)
    return frequencies, setting.number("attention_factor", usual)


def _ends_of_blend(setting: Setting) -> tuple[float, float]:
    """Return the indices of the pairs between which YaRN blends."""
    width, base, trained = setting.rotated, setting.base, setting.trained_len()
    if base <= 1:
        raise ValueError(
            f"base must be above 1 for scaling of type 'yarn', got {base!r}"
        )
    fast, slow = setting.number("beta_fast", 32.0), setting.number("beta_slow", 1.0)
    if fast < slow:
        raise ValueError(
            f"scaling['beta_fast'] must not be below beta_slow = {slow:g}, got {fast:g}"
        )

    def pair_with(turns: float) -> float:
        # Solve trained · base^(-2i/d) = 2π · turns for i, which needn't be whole.
        ratio = trained / (turns * 2 * math.pi)
        return width * math.log(ratio) / (2 * math.log(base))

    low, high = pair_with(fast), pair_with(slow)
    truncate = setting.fields.get("truncate", True)
    if not isinstance(truncate, bool):
        raise TypeError(f"scaling['truncate'] must be a bool, got {truncate!r}")
    if truncate:
        low, high = math.floor(low), math.ceil(high)
    # As in YaRN's own code: the limit is width - 1, though the last pair is width / 2 - 1.
    low, high = max(low, 0), min(high, width - 1)
    if low == high:
        high += 0.001
    return low, high


def _yarn_attention(setting: Setting, factor: float) -> float:
    """Return YaRN's attention factor, 0.1·ln(factor) + 1, or the ratio that DeepSeek asks for."""
    fields = setting.fields
    if not (fields.get("mscale") and fields.get("mscale_all_dim")):
        return _heat(factor)
    usual = _heat(factor, setting.number("mscale"))
    return usual / _heat(factor, setting.number("mscale_all_dim"))


def _heat(factor: float, mscale: float = 1.0) -> float:
    """Return by how much YaRN sharpens attention in texts so many times longer."""
    return 0.1 * mscale * math.log(factor) + 1


def _longrope(setting: Setting) -> tuple[Floats, float]:
    """ω_i / short_factor_i, or ω_i / long_factor_i beyond the trained length (arXiv:2402.13753)."""
    factor, trained = setting.stretch(), setting.trained_len()
    usual = 1.0
    if factor > 1:
        usual = math.sqrt(1 + math.log(factor) / math.log(trained))
    length = "long" if (setting.seq_len or 0) > trained else "short"
    omega = setting.omega / setting.factors(f"{length}_factor")
    # Phi-3.5-MoE has an mscale for each length; other files have one factor, or none.
    mscale = f"{length}_mscale"
    name = mscale if mscale in setting.fields else "attention_factor"
    return omega, setting.number(name, usual)


def _llama3(setting: Setting) -> tuple[Floats, float]:
    """Blend from ω_i / factor to ω_i between low_freq_factor and high_freq_factor turns."""
    factor, trained = setting.number("factor", minimum=1.0), setting.trained_len()
    low, high = setting.number("low_freq_factor"), setting.number("high_freq_factor")
    if high < low:
        raise ValueError(
            "scaling['high_freq_factor'] "
            f"must not be below low_freq_factor = {low:g}, got {high:g}"
        )
    omega = setting.omega
    # Full turns of each pair over the trained length: many for fast pairs, which stay.
    turns = trained * omega / (2 * np.pi)
    # Equal in Llama 4 Scout: no blending.
    kept = np.clip((turns - low) / (high - low), 0, 1) if high > low else turns >= high
    return (1 - kept) * omega / factor + kept * omega, 1.0


_BOTH = ("factor", ORIGINAL, "attention_factor")  # fields of yarn and longrope
_ALL = (
    Scaling("default", _default),
    Scaling("linear", _linear, ("factor",)),
    Scaling("proportional", _proportional, ("factor",)),
    Scaling("dynamic", _dynamic, ("factor", "alpha")),
    Scaling("ntk", _ntk, ("factor", "mixed_b")),
    Scaling(
        "yarn",
        _yarn,
        (*_BOTH, "beta_fast", "beta_slow", "mscale", "mscale_all_dim", "truncate"),
    ),
    Scaling(
        "longrope",
        _longrope,
        (*_BOTH, "short_factor", "long_factor", "short_mscale", "long_mscale"),
    ),
    Scaling(
        "llama3",
        _llama3,
        ("factor", ORIGINAL, "low_freq_factor", "high_freq_factor"),
    ),
)
SCALINGS: dict[str, Scaling] = {scaling.name: scaling for scaling in _ALL}
# Other names of a type in files
SPELLINGS = {"mrope": "default", "deepseek_yarn": "yarn", "su": "longrope"}


def find_scaling(name: Any) -> Scaling:
    """Return the type of scaling that a file names, in any spelling."""
    usual = SPELLINGS.get(str(name), name)
    check_choice("a scaling's type", usual, SCALINGS)
    return SCALINGS[usual]


def _scaling(fields: Mapping[str, Any]) -> Scaling:
    """Return the type of scaling that a mapping names, or "default"."""
    keys = "rope_type", "type"
    named = [find_scaling(fields[key]) for key in keys if key in fields]
    if len({*named}) > 1:
        both = f"{fields['rope_type']!r}, {fields['type']!r}"
        raise ValueError(f"scaling['rope_type'] and scaling['type'] differ: {both}")
    if not named and any(isinstance(value, Mapping) for value in fields.values()):
        raise ValueError(
            "scaling has a mapping for each kind of layer, "
            f"{', '.join(sorted(map(str, fields)))}: pass one of them"
        )
    return named[0] if named else SCALINGS["default"]


def _base(fields: Mapping[str, Any], base: float | None) -> float:
    """Return the base: the argument, or the mapping's, which must not differ."""
    number = check_real("base", 10_000.0 if base is None else base, positive=True)
    theta = check_real("base", fields.get("rope_theta", number), positive=True)
    if base is not None and theta != number:
        raise ValueError(f"scaling['rope_theta'] is {theta:g}, but base is {number:g}")
    return theta


def rotary_frequencies(
    d_model: int,
    *,
    base: float | None = None,
    scaling: Mapping[str, Any] | None = None,
    max_position_embeddings: int | None = None,
    seq_len: int | None = None,
) -> tuple[Floats, float]:
    r"""Angular frequencies of a rotary encoding, scaled as a model's configuration says.

    .. math:: \omega_i = \mathrm{base}^{-2i/d_\mathrm{model}} / s_i

    with a stretch :math:`s_i` for each pair; without scaling, all are 1.

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
    if scaling is not None and not isinstance(scaling, Mapping):
        raise TypeError(f"scaling must be a mapping, got {scaling!r}")
    fields = {
        name: value for name, value in (scaling or {}).items() if value is not None
    }
    number = _base(fields, base)
    kind = _scaling(fields)
    unknown = sorted(map(str, fields.keys() - {*kind.fields, *SHARED}))
    if unknown:
        raise ValueError(
            f"scaling has an unknown field for type {kind.name!r}: {unknown[0]!r}"
        )
    lengths = {"max_position_embeddings": max_position_embeddings, "seq_len": seq_len}
    for name, length in lengths.items():
        if length is not None:
            check_int(name, length, minimum=1, maximum=LONGEST)
    key = "partial_rotary_factor"
    share = check_real(f"scaling[{key!r}]", fields.get(key, 1.0), positive=True)
    if share > 1:
        raise ValueError(f"scaling[{key!r}] must be at most 1, got {share:g}")
    # A proportional scaling keeps the frequencies of the full width.
    rotated = width if kind.name == "proportional" else int(width * share)
    if rotated % 2 or not rotated:
        raise ValueError(
            f"scaling[{key!r}] must "
            f"leave an even number of dimensions, got {rotated} of {width}"
        )
    setting = Setting(number, rotated, fields, max_position_embeddings, seq_len)
    return kind.rule(setting)
