"""The landing page stands at the root of the site too.

Jupyter Book writes an ``index.html`` that sends the reader on to ``book/intro.html``: a second
request, and an empty page for who links to the root. This writes the page itself there.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from sphinx.application import Sphinx

LINK = re.compile(r'(<[a-z][^<>]* (?:href|src|action|data-content_root)=")(?![#/]|[a-z]+:)([^"]*)"')


def from_root(page: str, folder: str) -> str:
    """The page with its relative links as they read from the folder above."""

    def lift(found: re.Match[str]) -> str:
        path, mark, rest = re.fullmatch(r"([^?#]*)([?#]?)(.*)", found[2]).groups()  # type: ignore[union-attr]
        slash = "/" if path.endswith("/") else ""
        return found[1] + posixpath.normpath(f"{folder}/{path}") + slash + mark + rest + '"'

    return LINK.sub(lift, page)


def write_index(app: Sphinx, error: Exception | None) -> None:
    """Write the root page, once all that changes the pages has run."""
    if error is None and app.builder.format == "html":
        folder, _, name = app.config.root_doc.rpartition("/")
        page = Path(app.outdir, folder, f"{name}.html").read_text(encoding="utf-8")
        Path(app.outdir, "index.html").write_text(from_root(page, folder), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("build-finished", write_index, priority=990)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
