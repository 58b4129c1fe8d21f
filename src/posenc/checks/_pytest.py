"""One pytest test per law."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import pytest

from posenc import checks
from posenc.checks.laws import chosen


def parametrize(
    subjects: list[Any], kind: str | None, expect: Mapping[str, str], options: dict[str, Any]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make the decorator. Each subject is checked lazily and once, by the test of its first law."""
    parameters = []
    for subject in subjects:
        named = checks.kind_of(checks._callable("subjects", subject)) if kind is None else kind
        report = cache(lambda subject=subject: checks.check(subject, kind, **options))
        laws = chosen(named, options.get("laws"))
        for law in expect:
            if law not in laws:
                raise ValueError(f"expect must name laws among {', '.join(laws)}, got {law!r}")
        for law in laws:
            name = f"{checks._name(subject)}-{law}"
            marks = pytest.mark.xfail(reason=expect[law], strict=True) if law in expect else ()
            parameters.append(pytest.param(one_law(report, law), id=name, marks=marks))
    decorator: Callable[..., Any] = pytest.mark.parametrize("check", parameters)
    return decorator


def one_law(report: Callable[[], checks.Report], law: str) -> Callable[[], None]:
    """Return the function that a test calls; it fails or skips as the law does."""

    def check() -> None:
        row = report()[law]
        if row.status == "skipped":
            pytest.skip(row.note)
        if row.status == "failed":
            pytest.fail(f"{report().subject}\n{row}", pytrace=False)

    return check
