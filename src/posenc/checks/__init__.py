"""Check your own positional encoding: a table, a layer, a rotation, a bias, or a decoder.

Each check tests the laws that the book proves, and reports the measured error, the bound and its
derivation, the convention found, and the most likely cause of a failure. The checks need only
numpy; they use torch if the code under test does.

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
        torch or another library; a batch axis of length 1 is allowed.
    base : float, optional
        The intended base. By default, any base that is the same at all widths passes.
    convention : str or Convention, optional
        The intended convention, or its name in `KNOWN`. By default, any known one passes.
    widths : sequence of int
        Widths to test; even, and at least 6. Two of them tell d/2 from d/2 - 1 in the exponent.
    length : int
        Number of rows that must all differ.
    longest : int
        Number of rows to compare with exact values. If the function raises, the longest length
        that it accepts.
    laws : iterable of str, optional
        Names of the laws to test, from those that `laws_of` lists; all of them by default.

    Returns
    -------
    Report

    Raises
    ------
    TypeError, ValueError
        If an argument is not as described. Exceptions from `encode` are reported, not raised.

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

    The check uses a copy in evaluation mode, so that dropout is a no-op.

    Parameters
    ----------
    module : torch.nn.Module or callable
        A layer, or a class or function that makes one of a given width.
    d_model : int, optional
        Width of the layer; by default inferred from its attributes or its table.
    batch_first : bool, optional
        Whether input is (batch, seq_len, d_model) or (seq_len, batch, d_model). By default the
        layer's attribute of that name, or True.
    positions : str, optional
        Name of the argument for positions of shape (seq_len,); by default one of the usual names,
        if ``forward`` has it.
    base, convention, widths, length, longest, laws
        As for `check_table`; the widths apply only to a class or function.

    Returns
    -------
    Report

    Raises
    ------
    TypeError, ValueError
        If an argument is not as described, or the width of a layer can't be inferred.

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
        (seq_len,), integers, returns the shape of x. If it also takes positions of shape (batch,
        seq_len), they are checked; otherwise that law is skipped.
    base : float, optional
        The intended base. By default, any base that is the same at all widths passes.
    convention : str or Convention, optional
        The intended convention, or its name in `KNOWN`.
    frequencies : array_like, optional
        Radians per position of each pair, if they aren't powers of a base: the result of
        `posenc.rotary_frequencies` for yarn, llama3 and the like; with several axes, shape
        (axes, pairs). For one width.
    attention_factor : float
        Multiplier of the rotated dimensions.
    axes : int or sequence of int, optional
        For positions of shape (seq_len, axes), such as time, height and width: the number of axes,
        or the axis of each pair, as in ``[0, 0, 0, 0, 1, 1, 2, 2]`` (sections) or
        ``[0, 1, 2, 0, 1, 2, 0, 0]`` (interleaved), for one width. All laws are tested with equal
        coordinates, as text has.
    library : module or str, optional
        The array library that it uses: numpy, torch, or one that follows the array API standard,
        such as ``"jax.numpy"``. By default torch if it takes tensors, else numpy.
    widths, length, longest, laws
        As for `check_table`; widths that the function refuses are skipped.

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
    halves; exponent i/(d/2); base 10000; turned forwards (rotary, halves)
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
        raise ValueError(f"frequencies need a row per axis, got {len(frequencies)}, axes={axes}")
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
    """Check a bias that is added to scores and depends only on the offset, such as ALiBi's.

    A penalty may stop growing at some distance. A learned bias, such as T5's, may treat later keys
    differently from earlier ones and reward a distance: then leave out "mirror" and "penalty".

    Parameters
    ----------
    bias : callable
        ``bias(seq_len)`` returns shape (seq_len, seq_len) or (heads, seq_len, seq_len), query by
        key, of floats or integers.
    causal : bool
        Whether a mask hides later keys; their entries are then ignored.
    laws : iterable of str, optional
        Names of the laws to test; all of them by default.

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
    """Check a small decoder: whole texts, steps, chunks, padding, packing and shifted positions.

    A model with random weights, two layers and a vocabulary of about ten tokens is enough.

    Parameters
    ----------
    full : callable
        ``full(tokens)`` with tokens of shape (batch, seq_len) returns scores of shape (batch,
        seq_len, any number). It may have arguments for ``positions``, ``mask`` (False for
        padding) and ``segments`` (which of several packed texts a token belongs to), all of shape
        (batch, seq_len), under these or other usual names; laws that need one it lacks are skipped.
    step : callable, optional
        ``step(tokens, cache)`` continues from a cache, None at first, and returns the scores of
        these tokens and the new cache. It may have arguments for ``positions`` and ``mask`` of the
        new tokens.
    vocabulary : int
        The tokens are 1, …, vocabulary - 1; 0 is padding. At least 3.
    length : int
        Length of the texts, at least 12. To test beyond an attention window or the length of a
        table, pass more than that.
    relative : bool
        Whether scores depend only on offsets, as with RoPE and ALiBi.
    library : module or str, optional
        The array library that it uses, as for `check_rotary`.
    laws : iterable of str, optional
        Names of the laws to test; all of them by default.

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
    """Check any kind of subject: dispatch to `check_table`, `check_module`, `check_rotary` etc.

    Parameters
    ----------
    subject : callable
        A function, a layer, or the class of one.
    kind : {"table", "module", "rotary", "bias", "decoder"}, optional
        Which check; by default, `kind_of` guesses.
    **options
        Passed to that check.

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
    """Decorate a pytest function to run as one test per subject and law.

    The function takes one argument, ``check``, and calls it.

    Parameters
    ----------
    subjects : iterable
        Functions and layers, as for `check`.
    kind : {"table", "module", "rotary", "bias", "decoder"}, optional
        Which check; by default, `kind_of` guesses.
    expect : mapping of str to str, optional
        Expected failures: laws with reasons. Their tests are strict xfails.
    **options
        Passed to the check, such as ``base=10_000``.

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
    """Validate the arguments that three checks share."""
    if isinstance(widths, str) or not isinstance(widths, Iterable):
        raise TypeError(f"widths must be a sequence of ints, got {widths!r}")
    found = tuple(check_int("widths", each, minimum=6) for each in widths)
    if not found or any(each % 2 for each in found):
        raise ValueError(f"widths must be even, and at least one, got {widths!r}")
    if isinstance(convention, str):
        if convention not in KNOWN:
            raise ValueError(f"convention must be one of {', '.join(KNOWN)}, got {convention!r}")
        convention = KNOWN[convention]
    if not (convention is None or isinstance(convention, Convention)):
        raise TypeError(f"convention must be a Convention or a name, got {convention!r}")
    return {
        "base": None if base is None else check_base(base),
        "asked": convention,
        "widths": found,
        "length": check_int("length", length, minimum=2),
        "longest": check_int("longest", longest, minimum=16),
    }


def _callable(name: str, value: Any) -> Any:
    """Return `value` if it is callable."""
    if not callable(value):
        raise TypeError(f"{name} must be callable, got {value!r}")
    return value


def _name(subject: Any) -> str:
    """Return the name of a function, a class, or a layer's class."""
    return str(getattr(subject, "__qualname__", type(subject).__name__))
