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

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from posenc._validate import check_base, check_int, check_positions, check_real
from posenc.checks.conventions import KNOWN, Convention
from posenc.checks.laws import KINDS, LAWS, Law, chosen, laws_of, run
from posenc.checks.museum import MUSEUM, Exhibit
from posenc.checks.report import Report, Row
from posenc.checks.subjects import kind_of, library_of

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
    "check_decoder",
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
    axes: int | Sequence[int] | None = None,
    library: Any = None,
    convention: str | Convention | None = None,
    widths: Sequence[int] = (16, 24),
    length: int = 2048,
    longest: int = 1_000_000,
    laws: Iterable[str] | None = None,
) -> Report:
    """Check a function, or a torch module, that turns queries and keys.

    Parameters
    ----------
    rotate : callable
        ``rotate(x, positions)`` with x of shape (..., seq_len, d) and positions of shape
        (seq_len,), integers, returns the shape of x. Where it takes positions of shape (batch,
        seq_len), too, they are checked; where it refuses them, that law is skipped.
    base : float, optional
        The base that is meant. Without it any base passes that is the same at all widths.
    convention : str or Convention, optional
        The convention that is meant, or its name in `KNOWN`.
    frequencies : array_like, optional
        Radians per position of each pair, where they follow no power of a base: what
        `posenc.rotary_frequencies` returns for yarn, llama3 and the like; with several axes, shape
        (axes, pairs). For one width.
    attention_factor : float
        What rotated dimensions are multiplied by.
    axes : int or sequence of int, optional
        For positions of shape (seq_len, axes), such as time, height and width: how many axes, or
        the axis of each pair, as in ``[0, 0, 0, 0, 1, 1, 2, 2]`` (sections) or
        ``[0, 1, 2, 0, 1, 2, 0, 0]`` (interleaved), for one width. Text has equal coordinates, and
        is held to all laws.
    library : module or str, optional
        What makes its arrays: numpy, torch, or a library that follows the array API standard, such
        as ``"jax.numpy"``. By default torch if it takes tensors, else numpy.
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
        rows = [frequencies] if np.ndim(frequencies) < 2 else frequencies
        rows = [check_positions(row, "frequencies") for row in rows]
        frequencies = rows[0] if np.ndim(frequencies) < 2 else np.array(rows)
    owners = None
    if axes is not None and not isinstance(axes, int):
        if isinstance(axes, str) or not isinstance(axes, Sequence):
            raise TypeError(f"axes must be an int, or the axis of each pair, got {axes!r}")
        owners = [check_int("axes", each, minimum=0) for each in axes]
        axes = max(owners, default=0) + 1
    if axes is not None:
        check_int("axes", axes, minimum=2)
    if np.ndim(frequencies) == 2 and len(frequencies) != axes:
        raise ValueError(f"frequencies must have a row for each of {axes} axes")
    subject = Rotary(
        _callable("rotate", rotate),
        frequencies=frequencies,
        attention_factor=float(attention_factor),
        axes=axes or 0,
        axis_of_pair=owners,
        library=None if library is None else library_of(library),
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


def check_decoder(
    full: Callable[..., Any],
    step: Callable[..., Any] | None = None,
    *,
    vocabulary: int = 8,
    length: int = 24,
    relative: bool = True,
    library: Any = None,
    laws: Iterable[str] | None = None,
) -> Report:
    """Check a small decoder: whole, in steps, in chunks, padded, packed and moved along.

    Take a model of random weights, two layers and some ten tokens; it needs no training.

    Parameters
    ----------
    full : callable
        ``full(tokens)`` with tokens of shape (batch, seq_len) returns scores of shape (batch,
        seq_len, any number). It may have arguments for ``positions``, ``mask`` (False for
        padding) and ``segments`` (which of several packed texts a token belongs to), all of shape
        (batch, seq_len), under these or other usual names; laws that need one it lacks are skipped.
    step : callable, optional
        ``step(tokens, cache)`` reads on from a cache, None at first, and returns the scores of
        these tokens and the new cache. It may have arguments for ``positions`` and ``mask`` of the
        new tokens.
    vocabulary : int
        Tokens 1, …, vocabulary - 1 are read; 0 is the padding. At least 3.
    length : int
        Length of the texts, at least 12. Take more than a window, or than the length that a
        table was made for, to see what happens there.
    relative : bool
        Whether scores know offsets alone, as with RoPE and ALiBi.
    library : module or str, optional
        What makes its arrays, as for `check_rotary`.
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
    >>> from posenc import tiny
    >>> decoder = tiny.Decoder(tiny.initial_weights(0))
    >>> check_decoder(decoder.full, decoder.step).passed
    True
    """
    from posenc.checks.decoders import Decoder

    if not isinstance(relative, bool):
        raise TypeError(f"relative must be a bool, got {relative!r}")
    subject = Decoder(
        _callable("full", full),
        None if step is None else _callable("step", step),
        vocabulary=check_int("vocabulary", vocabulary, minimum=3),
        length=check_int("length", length, minimum=12),
        relative=relative,
        library=None if library is None else library_of(library),
    )
    return run(subject, _name(full), laws)


CHECKS: dict[str, Callable[..., Report]] = dict(
    zip(KINDS, (check_table, check_module, check_rotary, check_bias, check_decoder), strict=True)
)


def check(subject: Any, kind: str | None = None, **options: Any) -> Report:
    """Check whatever it is: `check_table`, `check_module`, `check_rotary` and so on.

    Parameters
    ----------
    subject : callable
        A function, a layer, or the class of one.
    kind : {"table", "module", "rotary", "bias", "decoder"}, optional
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
    subjects: Iterable[Any],
    kind: str | None = None,
    *,
    expect: Mapping[str, str] | None = None,
    **options: Any,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorate a pytest function, to get a test for each law of each subject.

    The function takes one argument, ``check``, and calls it.

    Parameters
    ----------
    subjects : iterable
        Functions and layers, as for `check`.
    kind : {"table", "module", "rotary", "bias", "decoder"}, optional
        What they are; what `kind_of` guesses by default.
    expect : mapping of str to str, optional
        Laws that fail, and why: their tests are expected failures, which fail once the law holds.
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

    return parametrize([*subjects], kind, expect or {}, options)


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
