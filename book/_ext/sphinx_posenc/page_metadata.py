"""Each page's description (see _templates/layout.html) and date.

The date is that of the page's last commit, omitted without the full git history.
"""

import re
import subprocess
from functools import cache
from shutil import which
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

LONGEST = 160  # characters of a description that a search engine shows
WITHOUT_TEXT = {
    "404": "This address leads nowhere: the list of chapters, and a search through all of them.",
    "genindex": "Index of the functions and the terms of the book.",
    "search": "Search the chapters, the glossary and the package for a word.",
}


def summary(doctree: nodes.document) -> str:
    """The first sentences without formulas, up to the length that a search engine shows."""
    text = ""
    for paragraph in doctree.findall(nodes.paragraph):
        aside = "reading-time" in paragraph["classes"] or isinstance(paragraph.parent, nodes.entry)
        if aside or next(paragraph.findall(nodes.math), None):
            continue
        for sentence in re.split(r"(?<=[.?]) +", " ".join(paragraph.astext().split())):
            longer = f"{text} {sentence}".strip()
            if len(longer) > LONGEST:
                return text or f"{longer[: LONGEST - 1].rpartition(' ')[0]}…"
            text = longer
    return text


@cache
def dates(app: Sphinx) -> dict[str, str]:
    """The date of each page's last commit; empty without git or the full history."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(app.srcdir), *arguments]
        return subprocess.run(command, capture_output=True, text=True).stdout.strip()

    if not which("git") or git("rev-parse", "--is-shallow-repository") != "false":
        return {}
    sources = {page: str(app.env.doc2path(page)) for page in app.env.found_docs}
    return {page: git("log", "-1", "--format=%cs", "--", path) for page, path in sources.items()}


def summarize(app: Sphinx, doctree: nodes.document) -> None:
    """Store a page's summary."""
    app.env.metadata[app.env.docname]["description"] = summary(doctree)


def describe(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Add the description and the date to a page's context."""
    kept = app.env.metadata.get(page, {})
    context["description"] = kept.get("description", WITHOUT_TEXT.get(page))
    # The 404 page is served at any address, so it has no URL of its own.
    context["site_url"] = app.config.html_baseurl
    if page in {"404", app.config.root_doc}:
        context["pageurl"] = app.config.html_baseurl if page != "404" else None
    context["last_updated"] = dates(app).get(page)
