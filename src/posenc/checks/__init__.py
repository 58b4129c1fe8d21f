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

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import numpy as np

from posenc._validate import check_base, check_int, check_positions, check_real
from posenc.checks import calls, modules, numerics  # noqa: F401 - each registers its laws
from posenc.checks.biases import Bias, Expected
from posenc.checks.conventions import KNOWN, Convention
from posenc.checks.decoders import Decoder
from posenc.checks.laws import KINDS, LAWS, Law, laws_of, run
from posenc.checks.museum import MUSEUM, Exhibit
from posenc.checks.probe import POSITIONS, TAGS, Raised, library_of, loaded_torch
from posenc.checks.report import Report, Row
from posenc.checks.rotations import Rotation
from posenc.checks.tables import Table

if TYPE_CHECKING:
    from torch import nn

__all__ = ["KNOWN", "LAWS", "MUSEUM", "TAGS", "Convention", "Exhibit", "Law", "Options", "Report"]
__all__ += ["Row", "check", "check_bias", "check_decoder", "check_module"]
__all__ += ["check_rotary", "check_table", "expected_failures", "kind_of", "laws_of"]
__all__ += ["parametrize_with_checks"]


class Options(TypedDict, total=False):
    """Arguments that `check_table`, `check_module` and `check_rotary` share.

    Parameters
    ----------
    base : float, optional
        The intended base. By default, any base that is the same at all widths passes.
    convention : str or Convention, optional
        The intended convention, or its name in `KNOWN`. By default, any known one passes.
    widths : sequence of int
        Widths to test, by default 16 and 24; even, and at least 6. Two of them tell d/2 from
        d/2 - 1 in the exponent. Widths that a rotation refuses are skipped; a layer has its own.
    length : int
        Number of rows that must all differ, by default 2048.
    longest : int
        Number of rows to compare with exact values, by default 1 000 000; if that raises, the
        longest length that is accepted.
    tags : iterable of str
        What the subject is declared to be, from `TAGS`: "learned", "causal", "ring cache" or "made
        on meta". Laws that aren't meant for it are skipped. Without a base or a convention, a
        learned table and NeRF's are recognized, and reported as another kind.
    laws : iterable of str, optional
        Names of the laws to test, from those that `laws_of` lists; all of them by default.
    """

    base: float | None
    convention: str | Convention | None
    widths: Sequence[int]
    length: int
    longest: int
    tags: Iterable[str]
    laws: Iterable[str] | None


def check_table(encode: Callable[..., Any], **options: Unpack[Options]) -> Report:
    """Check a function that makes a table.

    Parameters
    ----------
    encode : callable
        ``encode(seq_len, d_model)`` returns a table of shape (seq_len, d_model), an array of numpy,
        torch or another library; a batch axis of length 1 is allowed.
    **options
        See `Options`.

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
    named = _validated(options)
    return _run(Table(_callable("encode", encode), **named), encode, options)


def check_module(
    module: nn.Module | Callable[[int], nn.Module],
    *,
    d_model: int | None = None,
    batch_first: bool | None = None,
    positions: str | None = None,
    **options: Unpack[Options],
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
    **options
        See `Options`.

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

    named = _validated(options)
    _callable("module", module)
    if d_model is not None:
        check_int("d_model", d_model, minimum=2)
    for name, given, wanted in (("batch_first", batch_first, bool), ("positions", positions, str)):
        if given is not None and not isinstance(given, wanted):
            raise TypeError(f"{name} must be a {wanted.__name__}, got {given!r}")
    try:
        layer = Layer(module, d_model, batch_first, positions, **named)
    except Raised as error:
        raise error.__cause__ or error from None
    return _run(layer, module, options)


def check_rotary(
    rotate: Callable[..., Any],
    *,
    frequencies: Any = None,
    attention_factor: float = 1.0,
    axes: int | Sequence[int] | None = None,
    library: Any = None,
    **options: Unpack[Options],
) -> Report:
    """Check a function, or a torch module, that turns queries and keys.

    Parameters
    ----------
    rotate : callable
        ``rotate(x, positions)`` with x of shape (..., seq_len, d) and positions of shape
        (seq_len,), integers, returns the shape of x. If it also takes positions of shape (batch,
        seq_len), they are checked; otherwise that law is skipped. A result whose dimensions are
        permuted passes, since scores are what counts, and so does a norm after the rotation. A
        class of modules is made for each width.
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
    **options
        See `Options`.

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
    named = _validated(options)
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
    made = cache(_callable("rotate", rotate))
    probe = Rotation(
        (lambda x, places: made(x.shape[-1])(x, places)) if isinstance(rotate, type) else rotate,
        frequencies=frequencies,
        attention_factor=float(attention_factor),
        axes=axes or 0,
        axis_of_pair=owners,
        library=None if library is None else library_of(library),
        **named,
    )
    return _run(probe, rotate, options)


def check_bias(
    bias: Callable[[int], Any],
    *,
    causal: bool = False,
    expected: Expected = None,
    **options: Unpack[Options],
) -> Report:
    """Check a bias that is added to scores and depends only on the offset, such as ALiBi's.

    A penalty may stop growing at some distance. A learned bias, such as T5's, may treat later keys
    differently from earlier ones and reward a distance: then pass ``tags=["learned"]``.

    Parameters
    ----------
    bias : callable
        ``bias(seq_len)`` returns shape (seq_len, seq_len) or (heads, seq_len, seq_len), query by
        key, of floats or integers.
    causal : bool
        Whether a mask hides later keys; their entries are then ignored.
    expected : "alibi", "t5" or callable, optional
        What it should be: ALiBi with its authors' slopes for that number of heads; any bias that
        has one value for each of T5's buckets (32, the last from distance 128 on); or a function
        of seq_len that returns the right one.
    **options
        `tags` and `laws`, as in `Options`.

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
    if not isinstance(causal, bool):
        raise TypeError(f"causal must be a bool, got {causal!r}")
    if not (expected in (None, "alibi", "t5") or callable(expected)):
        raise ValueError(f"expected must be 'alibi', 't5' or a function, got {expected!r}")
    if unknown := [name for name in options if name not in ("tags", "laws")]:
        raise TypeError(f"options of a bias must be tags or laws, got {unknown[0]!r}")
    return _run(Bias(_callable("bias", bias), causal, expected), bias, options)


def check_decoder(
    full: Callable[..., Any],
    step: Callable[..., Any] | None = None,
    *,
    vocabulary: int = 8,
    length: int = 24,
    relative: bool = True,
    library: Any = None,
    tags: Iterable[str] = (),
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
        Whether scores depend only on offsets, as with RoPE and ALiBi, unless a norm with weights
        follows the rotation.
    library : module or str, optional
        The array library that it uses, as for `check_rotary`.
    tags, laws
        As in `Options`.

    Returns
    -------
    Report

    Raises
    ------
    TypeError, ValueError
        If an argument is not as described.

    Examples
    --------
    >>> from posenc.book import tiny
    >>> decoder = tiny.Decoder(tiny.initial_weights(0))
    >>> check_decoder(decoder.full, decoder.step).passed
    True
    """
    if not isinstance(relative, bool):
        raise TypeError(f"relative must be a bool, got {relative!r}")
    probe = Decoder(
        _callable("full", full),
        None if step is None else _callable("step", step),
        vocabulary=check_int("vocabulary", vocabulary, minimum=3),
        length=check_int("length", length, minimum=12),
        relative=relative,
        library=None if library is None else library_of(library),
    )
    return _run(probe, full, {"tags": tags, "laws": laws})


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


def kind_of(subject: Any) -> str:
    """Guess what a subject is: "table", "module", "rotary" or "bias".

    A torch module, or its class, is a "module", unless its ``forward`` can't be called without
    positions: then it is "rotary". Functions differ in their arguments: a single one means "bias",
    a second one with a name for positions means "rotary", and anything else is a "table".
    """
    torch = loaded_torch()
    module = torch.nn.Module if torch is not None else ()
    layer = isinstance(subject, module) or (
        isinstance(subject, type) and bool(module) and issubclass(subject, module)
    )
    try:
        named = inspect.signature(subject.forward if layer else subject).parameters.values()
    except ValueError:  # of a builtin
        return "table"
    given = [
        each for each in named if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
    ][layer and isinstance(subject, type) :]  # without self
    places = given[1] if len(given) > 1 and given[1].name in POSITIONS else None
    if layer:
        return "rotary" if places and places.default is places.empty else "module"
    return "bias" if len(given) == 1 else "rotary" if places else "table"


def expected_failures(file: str | Path) -> dict[str, dict[str, str]]:
    """Read expected failures from a TOML file: subject → law → reason.

    Parameters
    ----------
    file : str or Path
        A table for each subject, named as in its report, with a line ``law = "reason"`` for each
        expected failure.

    Returns
    -------
    dict

    Raises
    ------
    ValueError
        If a reason is missing.
    """
    import tomllib  # not among what a page loads

    found = tomllib.loads(Path(file).read_text("utf-8"))
    for subject, laws in found.items():
        for law, reason in laws.items() if isinstance(laws, dict) else [("", "")]:
            if not isinstance(reason, str) or not reason:
                raise ValueError(f'{file} needs lines law = "reason" under [{subject}], got {law}')
    return found


def parametrize_with_checks(
    subjects: Iterable[Any],
    kind: str | None = None,
    *,
    expect: Mapping[str, str] | str | Path | None = None,
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
    expect : mapping of str to str, or path, optional
        Expected failures: laws with reasons, or a file of them (see `expected_failures`). Their
        tests are strict xfails.
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

    if isinstance(expect, (str, Path)):
        return parametrize([*subjects], kind, expected_failures(expect), options)
    listed = [*subjects]
    return parametrize(listed, kind, {_name(each): expect or {} for each in listed}, options)


def _validated(options: Options) -> dict[str, Any]:
    """Validate the arguments that three checks share, and name them as probes do."""
    unknown = [name for name in options if name not in Options.__annotations__]
    if unknown:
        known = ", ".join(Options.__annotations__)
        raise TypeError(f"options must be among {known}, got {unknown[0]!r}")
    widths: Any = options.get("widths", (16, 24))
    if isinstance(widths, str) or not isinstance(widths, Iterable):
        raise TypeError(f"widths must be a sequence of ints, got {widths!r}")
    found = tuple(check_int("widths", each, minimum=6) for each in widths)
    if not found or any(each % 2 for each in found):
        raise ValueError(f"widths must be even, and at least one, got {widths!r}")
    convention = options.get("convention")
    if isinstance(convention, str):
        if convention not in KNOWN:
            raise ValueError(f"convention must be one of {', '.join(KNOWN)}, got {convention!r}")
        convention = KNOWN[convention]
    if not (convention is None or isinstance(convention, Convention)):
        raise TypeError(f"convention must be a Convention or a name, got {convention!r}")
    base = options.get("base")
    return {
        "base": None if base is None else check_base(base),
        "asked": convention,
        "widths": found,
        "length": check_int("length", options.get("length", 2048), minimum=2),
        "longest": check_int("longest", options.get("longest", 1_000_000), minimum=16),
    }


def _run(probe: Any, subject: Any, options: Options) -> Report:
    """Test the laws on a probe, under the name of its subject."""
    tags = options.get("tags", ())
    declared = [tags] if isinstance(tags, str) else [*tags]
    for tag in declared:
        if tag not in TAGS:
            raise ValueError(f"tags must be among {', '.join(TAGS)}, got {tag!r}")
    probe.tags = frozenset(declared)
    return run(probe, _name(subject), options.get("laws"))


def _callable(name: str, value: Any) -> Any:
    """Return `value` if it is callable."""
    if not callable(value):
        raise TypeError(f"{name} must be callable, got {value!r}")
    return value


def _name(subject: Any) -> str:
    """Return the name of a function, a class, or a layer's class."""
    return str(getattr(subject, "__qualname__", type(subject).__name__))
