"""Check a positional encoding of your own: a table, a layer, a rotation, or a bias.

Each check tries the laws that the book proves, and says what it measured, what is allowed and where
that bound comes from, which convention it found, and what a failure most likely is. The checks need
numpy alone; torch is used where the code under test uses it.

>>> from posenc import checks, sinusoidal_encoding
>>> report = checks.check_table(sinusoidal_encoding)
>>> report.passed
True
>>> print(report.convention)
interleaved; exponent i/(d/2); base 10000; counted from 0 up (paper)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from posenc._validate import check_base, check_int, check_positions, check_real
from posenc.checks.conventions import KNOWN, Convention
from posenc.checks.laws import KINDS, LAWS, Law, chosen, laws_of, run
from posenc.checks.museum import MUSEUM, Exhibit
from posenc.checks.report import Report, Row
from posenc.checks.subjects import kind_of

if TYPE_CHECKING:
    from torch import nn

__all__ = [
    "KNOWN",
    "LAWS",
    "MUSEUM",
    "Convention",
    "Exhibit",
    "Law",
    "Report",
    "Row",
    "check",
    "check_bias",
    "check_module",
    "check_rotary",
    "check_table",
    "kind_of",
    "laws_of",
    "parametrize_with_checks",
]


def check_table(
    encode: Callable[..., Any],
    *,
    base: float | None = None,
    convention: str | Convention | None = None,
    widths: Sequence[int] = (16, 24),
    length: int = 2048,
    longest: int = 1_000_000,
    laws: Iterable[str] | None = None,
) -> Report:
    """Check a function that makes a table.

    Parameters
    ----------
    encode : callable
        ``encode(seq_len, d_model)`` returns a table of shape (seq_len, d_model), an array of numpy,
        torch or another library; an axis of length 1 for the batch is allowed.
    base : float, optional
        The base that is meant. Without it any base passes that is the same at all widths.
    convention : str or Convention, optional
        The convention that is meant, or its name in `KNOWN`. Without it any that is known passes.
    widths : sequence of int
        Widths to ask for; even, and at least 6. Two of them tell d/2 from d/2 - 1 in the exponent.
    length : int
        Rows that must all differ.
    longest : int
        Rows up to which entries are compared with exact ones. Where the function refuses, the
        longest length that it takes.
    laws : iterable of str, optional
        Names of the laws to try, of those that `laws_of` lists; all of them by default.

    Returns
    -------
    Report

    Raises
    ------
    TypeError, ValueError
        If an argument is not as described. What `encode` raises is reported, not raised.

    Examples
    --------
    >>> import numpy as np
    >>> def encode(seq_len, d_model):  # 2 * i for 2 * (i // 2)
    ...     i, k = np.arange(d_model), np.arange(seq_len)[:, None]
    ...     angles = k / 10_000 ** (2 * i / d_model)
    ...     return np.where(i % 2, np.cos(angles), np.sin(angles))
    >>> report = check_table(encode)
    >>> report["norm"].exhibit.number
    '2'
    """
    from posenc.checks.tables import Table

    options = _options(base, convention, widths, length, longest)
    return run(Table(_callable("encode", encode), **options), _name(encode), laws)


def check_module(
    module: nn.Module | Callable[[int], nn.Module],
    *,
    d_model: int | None = None,
    batch_first: bool | None = None,
    positions: str | None = None,
    base: float | None = None,
    convention: str | Convention | None = None,
    widths: Sequence[int] = (16, 24),
    length: int = 2048,
    longest: int = 1_000_000,
    laws: Iterable[str] | None = None,
) -> Report:
    """Check a layer that adds positions to embeddings.

    A copy of it is checked, in evaluation mode, so that dropout does nothing.

    Parameters
    ----------
    module : torch.nn.Module or callable
        A layer, or a class or function that makes one of a given width.
    d_model : int, optional
        Width of a layer; read off its attributes or its table by default.
    batch_first : bool, optional
        Whether input is (batch, seq_len, d_model) or (seq_len, batch, d_model). By default its
        attribute of that name, or True.
    positions : str, optional
        Name of the argument that takes positions of shape (seq_len,); by default one of the usual
        names, if ``forward`` has it.
    base, convention, widths, length, longest, laws
        As for `check_table`; the widths are for what makes a layer.

    Returns
    -------
    Report

    Raises
    ------
    TypeError, ValueError
        If an argument is not as described, or the width of a layer can't be seen.

    Examples
    --------
    >>> from posenc.nn import SinusoidalPositionalEncoding
    >>> check_module(SinusoidalPositionalEncoding(16)).passed
    True
    """
    from posenc.checks.layers import Layer

    options = _options(base, convention, widths, length, longest)
    _callable("module", module)
    chosen("module", laws)
    if d_model is not None:
        check_int("d_model", d_model, minimum=2)
    for name, given, wanted in (("batch_first", batch_first, bool), ("positions", positions, str)):
        if given is not None and not isinstance(given, wanted):
            raise TypeError(f"{name} must be a {wanted.__name__}, got {given!r}")
    return run(Layer(module, d_model, batch_first, positions, **options), _name(module), laws)


def check_rotary(
    rotate: Callable[..., Any],
    *,
    base: float | None = None,
    frequencies: Any = None,
    attention_factor: float = 1.0,
    convention: str | Convention | None = None,
    widths: Sequence[int] = (16, 24),
    length: int = 2048,
    longest: int = 1_000_000,
    laws: Iterable[str] | None = None,
) -> Report:
    """Check a function that turns queries and keys.

    Parameters
    ----------
    rotate : callable
        ``rotate(x, positions)`` with x of shape (..., seq_len, d) and positions of shape
        (seq_len,), integers, returns the shape of x. Arrays of numpy, or tensors of torch.
    base : float, optional
        The base that is meant. Without it any base passes that is the same at all widths.
    convention : str or Convention, optional
        The convention that is meant, or its name in `KNOWN`.
    frequencies : array_like, optional
        Radians per position of each pair, where they follow no power of a base: what
        `posenc.rotary_frequencies` returns for yarn, llama3 and the like. For one width.
    attention_factor : float
        What rotated dimensions are multiplied by.
    widths, length, longest, laws
        As for `check_table`; of the widths, those that the function takes.

    Returns
    -------
    Report

    Raises
    ------
    TypeError, ValueError
        If an argument is not as described.

    Examples
    --------
    >>> from posenc.nn import rotate_pairs
    >>> print(check_rotary(rotate_pairs).convention)
    neighbors; exponent i/(d/2); base 10000; turned forwards (rotary, neighbors)
    """
    from posenc.checks.rotaries import Rotary

    options = _options(base, convention, widths, length, longest)
    if check_real("attention_factor", attention_factor) <= 0:
        raise ValueError(f"attention_factor must be positive, got {attention_factor!r}")
    if frequencies is not None:
        frequencies = check_positions(frequencies, "frequencies")
    subject = Rotary(
        _callable("rotate", rotate),
        frequencies=frequencies,
        attention_factor=float(attention_factor),
        **options,
    )
    return run(subject, _name(rotate), laws)


def check_bias(
    bias: Callable[[int], Any], *, causal: bool = False, laws: Iterable[str] | None = None
) -> Report:
    """Check a bias that is added to scores and knows the offset alone, such as ALiBi's.

    A penalty may stop growing at some distance. A bias that is learned, such as T5's, may look
    forward in another way than back and reward a distance: leave out "mirror" and "penalty" then.

    Parameters
    ----------
    bias : callable
        ``bias(seq_len)`` returns shape (seq_len, seq_len) or (heads, seq_len, seq_len), query by
        key, of numbers or whole numbers.
    causal : bool
        Whether a mask hides later keys; what the bias says of them doesn't count then.
    laws : iterable of str, optional
        Names of the laws to try; all of them by default.

    Returns
    -------
    Report

    Raises
    ------
    TypeError, ValueError
        If an argument is not as described.

    Examples
    --------
    >>> import numpy as np
    >>> def bias(seq_len):
    ...     k = np.arange(seq_len)
    ...     return -0.5 * np.abs(k[:, None] - k)
    >>> check_bias(bias).passed
    True
    """
    from posenc.checks.biases import Bias

    if not isinstance(causal, bool):
        raise TypeError(f"causal must be a bool, got {causal!r}")
    return run(Bias(_callable("bias", bias), causal), _name(bias), laws)


CHECKS: dict[str, Callable[..., Report]] = dict(
    zip(KINDS, (check_table, check_module, check_rotary, check_bias), strict=True)
)


def check(subject: Any, kind: str | None = None, **options: Any) -> Report:
    """Check whatever it is: `check_table`, `check_module`, `check_rotary` or `check_bias`.

    Parameters
    ----------
    subject : callable
        A function, a layer, or the class of one.
    kind : {"table", "module", "rotary", "bias"}, optional
        Which check; what `kind_of` guesses by default.
    **options
        For that check.

    Returns
    -------
    Report

    Raises
    ------
    ValueError
        If there is no such kind.
    """
    name = kind_of(_callable("subject", subject)) if kind is None else kind
    laws_of(name)
    return CHECKS[name](subject, **options)


def parametrize_with_checks(
    subjects: Iterable[Any], kind: str | None = None, **options: Any
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorate a pytest function, to get a test for each law of each subject.

    The function takes one argument, ``check``, and calls it.

    Parameters
    ----------
    subjects : iterable
        Functions and layers, as for `check`.
    kind : {"table", "module", "rotary", "bias"}, optional
        What they are; what `kind_of` guesses by default.
    **options
        For the check, such as ``base=10_000``.

    Returns
    -------
    callable
        A decorator; it needs pytest.

    Raises
    ------
    TypeError, ValueError
        If there is no such kind or law, or a subject can't be called.

    Examples
    --------
    >>> from posenc import sinusoidal_encoding
    >>> @parametrize_with_checks([sinusoidal_encoding], base=10_000)
    ... def test_positions(check):
    ...     check()
    """
    from posenc.checks._pytest import parametrize

    return parametrize([*subjects], kind, options)


def _options(
    base: float | None,
    convention: str | Convention | None,
    widths: Sequence[int],
    length: int,
    longest: int,
) -> dict[str, Any]:
    """Validate what three checks have in common."""
    if isinstance(widths, str) or not isinstance(widths, Iterable):
        raise TypeError(f"widths must be a sequence of ints, got {widths!r}")
    found = tuple(check_int("widths", each, minimum=6) for each in widths)
    if not found or any(each % 2 for each in found):
        raise ValueError(f"widths must be even, and one at least, got {widths!r}")
    if isinstance(convention, str):
        if convention not in KNOWN:
            raise ValueError(f"convention must be one of {', '.join(KNOWN)}, got {convention!r}")
        convention = KNOWN[convention]
    if not (convention is None or isinstance(convention, Convention)):
        raise TypeError(f"convention must be a Convention, or a name, got {convention!r}")
    return {
        "base": None if base is None else check_base(base),
        "asked": convention,
        "widths": found,
        "length": check_int("length", length, minimum=2),
        "longest": check_int("longest", longest, minimum=16),
    }


def _callable(name: str, value: Any) -> Any:
    """Return what can be called."""
    if not callable(value):
        raise TypeError(f"{name} must be callable, got {value!r}")
    return value


def _name(subject: Any) -> str:
    """Name of a function, a class, or the class of a layer."""
    return str(getattr(subject, "__qualname__", type(subject).__name__))
