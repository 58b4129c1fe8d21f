"""One pytest test per law."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import pytest

from posenc import checks
from posenc.checks.laws import RAISES, choose


def parametrize(
    subjects: list[Any],
    kind: str | None,
    expect: Mapping[str, Mapping[str, str]],
    options: dict[str, Any],
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make the decorator. Each subject is checked lazily and once, by the test of its first law."""
    parameters = []
    for subject in subjects:
        named = checks.kind_of(checks._callable("subjects", subject)) if kind is None else kind
        report = cache(lambda subject=subject: checks.check(subject, kind, **options))
        laws = [law.name for law in choose(named, options.get("laws"))]
        reasons = expect.get(checks._name(subject), {})
        for law in reasons:
            if law not in laws:
                raise ValueError(f"expect must name laws among {', '.join(laws)}, got {law!r}")
        for law in laws:
            name = f"{checks._name(subject)}-{law}"
            marks = pytest.mark.xfail(reason=reasons[law], strict=True) if law in reasons else ()
            parameters.append(pytest.param(one_law(report, law), id=name, marks=marks))
    decorator: Callable[..., Any] = pytest.mark.parametrize("check", parameters)
    return decorator


def one_law(report: Callable[[], checks.Report], law: str) -> Callable[[], None]:
    """Return the function that a test calls; it fails or skips as the law does."""

    def check() -> None:
        row = report()[law]
        if row.status in ("skipped", "follows"):
            pytest.skip(row.note)
        if row.status == "internal":
            raise RuntimeError(f"{row}\n{report().error}")
        if row.status == "failed":
            trace = f"\n{report().error}" if RAISES in row.likely else ""
            pytest.fail(f"{report().subject}\n{row}{trace}", pytrace=False)

    return check
