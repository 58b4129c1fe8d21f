"""Check your own positional encoding: a table, a layer, a rotation, a bias, or a decoder.

A check compares it with the book's, on a battery of calls. Its report says in the first line where
the two part: which call, which entry, by how much, and what rounding explains. A cause is named if
a known fault gives the same numbers. The checks need only numpy, and torch if that code uses it.

>>> from posenc import checks, sinusoidal_encoding
>>> report = checks.check_table(sinusoidal_encoding)
>>> report.passed
True
>>> print(report.convention)
interleaved; exponent i/(d/2); base 10000; counted from 0 up (paper)
"""

import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from posenc._validate import check_choice
from posenc.checks.biases import Bias
from posenc.checks.builders import Builder
from posenc.checks.decoders import Decoder
from posenc.checks.kinds import Layer, Rotation, Table
from posenc.checks.laws import LAWS, choose, judge_all, laws_of
from posenc.checks.reports import Report, Row
from posenc.checks.trials import POSITIONS, Broken, Raised
from posenc.conventions import KNOWN, Convention
from posenc.museum import FAULTS, MUSEUM, Fault

__all__ = [
    "FAULTS",
    "KNOWN",
    "LAWS",
    "MUSEUM",
    "Convention",
    "Fault",
    "Report",
    "Row",
    "check",
    "check_bias",
    "check_decoder",
    "check_module",
    "check_positions",
    "check_rotary",
    "check_table",
    "kind_of",
    "laws_of",
    "parametrize_with_checks",
]

SUBJECTS: dict[str, Any] = {
    subject.kind: subject
    for subject in (Table, Layer, Rotation, Bias, Decoder, Builder)
}


def check(
    subject: Any,
    kind: str | None = None,
    laws: Collection[str] | None = None,
    **options: Any,
) -> Report:
    """Check a subject: "table", "module", "rotary", "bias", "decoder", or "positions".

    By default `kind_of` guesses it, from the first four. The options are those of that check.
    """
    kind = kind or kind_of(subject)
    check_choice("kind", kind, SUBJECTS)
    # Arguments are checked before anything is called.
    chosen, probe = choose(kind, laws), SUBJECTS[kind](subject, **options)
    try:
        probe.prepare()
    except (Broken, Raised) as error:
        raise ValueError(
            f"the function passed as expected= or right= can't be used: {error}"
        ) from error
    rows = tuple(judge_all(probe, chosen))
    convention, about = None, ""
    # What failed in a law would fail again here.
    if all(row.status != "internal" for row in rows):
        with suppress(Broken, Raised):
            convention, about = probe.described()
    return Report(name_of(subject), kind, rows, convention, about)


def check_table(encode: Callable[..., Any], **options: Any) -> Report:
    """Check a function that makes a table.

    Parameters
    ----------
    encode : callable
        ``encode(seq_len, d_model)`` returns a table of shape (seq_len, d_model), an array of numpy
        or torch; a batch axis of length 1 is allowed.
    base : float, optional
        The intended base. By default, any of the usual ones passes, such as 10,000.
    convention : str or Convention, optional
        The intended convention, or its name in `KNOWN`. By default, any known one passes.
    frequencies : array_like, optional
        Radians per position of each pair, if they aren't powers of a base.
    widths : sequence of int
        Even widths to test, by default 16 and 24, and width 2 must be finite, if it isn't refused.
        Two of them tell d/2 from d/2 - 1 in the exponent. A rotation that is made for one width
        needs that; a layer has its own. Frequencies have one width, twice their number, or of a
        rotation of which a part turns a greater one.
    longest : int
        Number of rows to compare with exact values, by default 131,073, and in a wide table, or
        layer that counts by itself, two million entries; or as many as are accepted.
    attention_factor : float, optional
        Multiplier of the rows, or of the dimensions that turn, by default 1.
    learned : bool, optional
        Whether it is another kind of table, which isn't compared with sinusoids. By default, that
        is recognized.
    laws : iterable of str, optional
        Names of the laws to test, from those that `laws_of` lists; by default all but
        `meta`, `device`, and `compile`.

    Notes
    -----
    A table of two coordinates, ``encode(height, width, d_model)`` with one half of the columns for
    each, is checked along each: pass ``lambda n, d: encode(n, 3, 2 * d)[::3, :d]``, and ``lambda n,
    d: encode(3, n, 2 * d)[:n, d:]``.
    """
    return check(encode, "table", **options)


def check_module(module: Any, **options: Any) -> Report:
    """Check a layer that adds positions to embeddings: a copy of it in evaluation mode.

    Parameters
    ----------
    module : torch.nn.Module or callable
        A layer, or a class or function that makes one of a given width. If ``forward`` has an
        argument for positions of shape (seq_len,), under a usual name, they are tested.
    widths : sequence of int, optional
        As for `check_table`; a layer's own is that of its first table.
    batch_first : bool, optional
        Whether input is (batch, seq_len, d_model) or (seq_len, batch, d_model). By default the
        layer's attribute of that name, or True.
    **options
        As for `check_table`.
    """
    return check(module, "module", **options)


def check_rotary(rotate: Callable[..., Any], **options: Any) -> Report:
    """Check a function, or a torch module, that turns queries and keys.

    Parameters
    ----------
    rotate : callable
        ``rotate(x, positions)`` with x of shape (..., seq_len, d) and positions of shape
        (seq_len,), integers, returns the shape of x. Positions of shape (batch, seq_len) are tested
        if it takes them. A class of modules is made for each width; a module has that of its first
        buffer of frequencies. What takes an offset instead is wrapped row by row: ``lambda x,
        positions: torch.cat([rotate(x[..., i : i + 1, :], offset=int(p)) for i, p in
        enumerate(positions)], -2)``.
    **options
        As for `check_table`. If positions have several coordinates, such as time, height and
        width, of shape (seq_len, axes), pass `frequencies` of shape (axes, pairs): 0 where a pair
        doesn't turn by that coordinate. Most laws are tested with equal coordinates, as text has.

    Notes
    -----
    A rotation of two halves, each as a head of its own by one of two coordinates, as in CroCo and
    DUSt3R, is checked along each: pass ``lambda x, p: rotate(torch.cat((x, 0 * x), -1),
    torch.stack((p, 0 * p), -1))[..., : x.shape[-1]]``, and ``lambda x, p: rotate(torch.cat((0 * x,
    x), -1), torch.stack((0 * p, p), -1))[..., x.shape[-1] :]``.
    """
    return check(rotate, "rotary", **options)


def check_bias(bias: Callable[[int], Any], **options: Any) -> Report:
    """Check a bias that is added to scores and depends only on the offset, such as ALiBi's.

    Parameters
    ----------
    bias : callable
        ``bias(seq_len)`` returns shape (seq_len, seq_len) or (heads, seq_len, seq_len), query by
        key, of floats or integers; a batch axis of length 1 is allowed.
    causal : bool, optional
        Whether a mask hides later keys, by default False. Then their entries are ignored, and a
        constant of a row, which a softmax ignores, too: shape (heads, 1, seq_len) is as good.
    expected : "alibi", callable or None, optional
        What it should be: by default, ALiBi with its authors' slopes for that number of heads; or a
        function of seq_len that returns the right one, such as T5's, ``lambda n: weights[:,
        posenc.t5_buckets(np.arange(n) - np.arange(n)[:, None])]``, with weights (heads, 32). With
        None, no values are compared.
    **options
        `laws`, as for `check_table`.
    """
    return check(bias, "bias", **options)


def check_decoder(
    full: Callable[..., Any], step: Callable[..., Any] | None = None, **options: Any
) -> Report:
    """Check a small decoder: whole texts, steps, chunks, padding and packing.

    A model with random weights, two layers and a vocabulary of eight tokens is enough.

    Parameters
    ----------
    full : callable
        ``full(tokens)`` with tokens of shape (batch, seq_len) returns scores of shape (batch,
        seq_len, any number). It may have arguments, with defaults, for ``positions``, ``mask``
        (False for padding) and ``segments`` (which of several packed texts a token belongs to), all
        of shape (batch, seq_len); laws that need one it lacks are skipped.
    step : callable, optional
        ``step(tokens, cache)`` continues from a cache, None at first, and returns the scores of
        these tokens and the new cache. It may have arguments for ``positions`` and ``mask``.
    length : int, optional
        How many tokens a text has, by default 24, at least 12: more than an attention window or a
        table has, to test beyond it. The tokens are 1 to 7, and 0 is padding.
    **options
        `laws`, as for `check_table`.
    """
    return check(full, "decoder", step=step, **options)


def check_positions(
    build: Callable[[Any], Any], expected: str, **options: Any
) -> Report:
    """Check a function that builds position ids.

    Parameters
    ----------
    build : callable
        ``build(given)`` returns whole numbers.
    expected : {"left padding", "packing", "images"}
        What it is given, and returns: a mask, 0 for padding, and ids of its shape; segments, which
        text each token belongs to, and ids of that shape; or the numbers of frames, rows and
        columns of patches, and frame, row and column of each, shape (3, patches).
    right : callable, optional
        A function that builds the ids which are meant, if they aren't those that count from 0: such
        as RoBERTa's, which begin behind the padding's, or frames in steps of some seconds. Then
        those of padding are compared, too.
    """
    return check(build, "positions", expected=expected, **options)


def name_of(subject: Any) -> str:
    """Return the name of a function, a class, or a layer's class."""
    return str(getattr(subject, "__qualname__", type(subject).__name__))


def kind_of(subject: Any) -> str:
    """Guess what a subject is: "table", "module", "rotary" or "bias".

    A torch module, or its class, is "rotary" if its ``forward`` can't be called without positions,
    else a "module". A function of a single argument is a "bias"; one that can't be called without
    positions, or has a second argument of such a name, "rotary"; any other, a "table".
    """
    is_module = hasattr(subject, "forward")
    call = subject.forward if is_module else subject
    arguments = dict(inspect.signature(call).parameters)
    arguments.pop("self", None)
    required = [
        name
        for name, argument in arguments.items()
        if argument.default is argument.empty
    ]
    # The first is x.
    others = required[1:] if is_module else required[1:] + [*arguments][1:2]
    if {*others} & {*POSITIONS}:
        return "rotary"
    if is_module:
        return "module"
    return "table" if len(arguments) > 1 else "bias"


def parametrize_with_checks(
    subjects: Iterable[Any],
    kind: str | None = None,
    *,
    laws: Collection[str] | None = None,
    expect: Mapping[str, str] | str | Path | None = None,
    **options: Any,
) -> Any:
    """Decorate a pytest function to run as one test per subject and law.

    The function takes one argument, ``check``, and calls it. Expected failures, as for
    `Report.expecting`, are xfails; a law that passes in spite of one fails. The other arguments are
    those of `check`.
    """
    import pytest

    laws = laws and tuple(laws)  # all subjects read them

    def tests_of(subject: Any) -> Iterator[Any]:
        of_kind = kind or kind_of(subject)
        # Made when the first test of the subject runs
        report = cache(
            lambda: check(subject, of_kind, laws, **options).expecting(expect or {})
        )
        for law in choose(of_kind, laws):
            name = f"{name_of(subject)}-{law.name}"
            yield pytest.param(partial(assert_law, report, law.name), id=name)

    tests = [test for subject in subjects for test in tests_of(subject)]
    return pytest.mark.parametrize("check", tests)


def assert_law(report: Callable[[], Report], law: str) -> None:
    """Pass, skip, or fail the running test of pytest, as one law of a report did."""
    import pytest

    __tracebackhide__ = True
    row = report()[law]
    if row.status in ("skipped", "follows"):
        pytest.skip(row.note)
    if row.status == "expected":
        pytest.xfail(row.note)
    replace(report(), rows=(row,)).raise_if_failed()
