"""Each page's description and date, and everything that depends on where the book is published.

The date is that of the page's last commit, omitted without the full git history. ``PAGES_URL``, set
when publishing, is the address of the site. ``GITHUB_SERVER_URL`` and ``GITHUB_REPOSITORY`` are set
by GitHub's runners. Elsewhere, to avoid dead links, there are neither canonical links nor links to
the source, Binder and Colab.
"""

import os
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from shutil import which
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

LONGEST = 160  # characters of a description that a search engine shows
WITHOUT_TEXT = {
    "404": "This address leads nowhere: the list of chapters, and a search through all of them.",
    "genindex": "Index of the functions and the terms of the book.",
    "search": "Search the chapters, the glossary and the package for a word.",
}


def read_environment(app: Sphinx, config: Config) -> None:
    """Set the base URL, which Sphinx uses for canonical links, and the repository's."""
    url = os.environ.get("PAGES_URL", "").rstrip("/")
    config.html_baseurl = url and f"{url}/"
    server, repository = map(os.environ.get, ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY"))
    config.repository = f"{server}/{repository}" if server and repository else ""


def summary(doctree: nodes.document) -> str:
    """The first sentences without formulas, up to the length that a search engine shows."""
    text = ""
    for paragraph in doctree.findall(nodes.paragraph):
        in_table = isinstance(paragraph.parent, nodes.entry)
        if in_table or next(paragraph.findall(nodes.math), None):
            continue
        for sentence in re.split(r"(?<=[.?]) +", " ".join(paragraph.astext().split())):
            longer = f"{text} {sentence}".strip()
            if len(longer) > LONGEST:
                return text or f"{longer[: LONGEST - 1].rpartition(' ')[0]}…"
            text = longer
    return text


def summarize(app: Sphinx, doctree: nodes.document) -> None:
    app.env.metadata[app.env.docname]["description"] = summary(doctree)


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


def describe(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Add description, date and addresses to a page's context."""
    kept, url = app.env.metadata.get(page, {}), app.config.html_baseurl
    context["description"] = kept.get("description", WITHOUT_TEXT.get(page))
    context["site_url"], context["last_updated"] = url, dates(app).get(page)
    context["repository"] = app.config.repository
    # The 404 page is served at any address, so it has no URL of its own.
    if page in {"404", app.config.root_doc}:
        context["pageurl"] = url if page != "404" else None


def redirect(app: Sphinx) -> Iterator[tuple[str, dict[str, str], str]]:
    """Yield a redirect page for the old address of each moved chapter."""
    for old, new in app.config.redirects.items():
        yield old, {"target": new}, "redirect.html"


def from_anywhere(html: str, url: str) -> str:
    """Make a page's links root-relative: the 404 page is served at any address."""
    root = re.sub(r"^\w+://[^/]*", "", url)
    html = html.replace('data-content_root="./"', f'data-content_root="{root}"')
    return re.sub(r'( (?:href|src|action)=")(?![#/]|\w+:)(?:\./)?', rf"\g<1>{root}", html)
