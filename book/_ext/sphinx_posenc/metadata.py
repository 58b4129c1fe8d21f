"""Each page's description, and everything that depends on where the book is published.

``PAGES_URL``, set when publishing, is the address of the site. ``GITHUB_SERVER_URL`` and
``GITHUB_REPOSITORY`` are set by GitHub's runners. Elsewhere, to avoid dead links, there are neither
canonical links nor links to the source, Binder and Colab.
"""

import os
import re
import textwrap
from functools import partial
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment

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


def summarize(app: Sphinx, doctree: nodes.document) -> None:
    """Describe a page by its first sentences without formulas, as many as a search engine shows."""
    texts = [
        paragraph.astext()
        for paragraph in doctree.findall(nodes.paragraph)
        if not isinstance(paragraph.parent, nodes.entry)
        and not next(paragraph.findall(nodes.math), None)
    ]
    text = textwrap.shorten(" ".join(texts), LONGEST, placeholder="…")
    whole = re.match(r".*[.?](?=[ …]|\Z)", text)
    app.env.metadata[app.env.docname]["description"] = whole[0] if whole else text


def numbered_title(env: BuildEnvironment, page: str) -> str:
    """A page's title, after the number of a chapter."""
    number = env.toc_secnumbers.get(page, {}).get("")
    title = env.titles[page].astext()
    return f"{'.'.join(map(str, number))}. {title}" if number else title


def describe(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Add description and addresses to a page's context."""
    kept, url = app.env.metadata.get(page, {}), app.config.html_baseurl
    context["description"] = kept.get("description", WITHOUT_TEXT.get(page))
    context["site_url"], context["repository"] = url, app.config.repository
    context["chapter_title"] = partial(numbered_title, app.env)
    # The 404 page is served at any address, so it has no URL of its own.
    if page == "404":
        context["pageurl"] = None
    elif page == app.config.root_doc:
        context["pageurl"] = url


def from_anywhere(html: str, url: str) -> str:
    """Make a page's links root-relative: the 404 page is served at any address."""
    root = re.sub(r"^\w+://[^/]*", "", url)
    html = html.replace('data-content_root="./"', f'data-content_root="{root}"')
    return re.sub(
        r'( (?:href|src|action)=")(?![#/]|\w+:)(?:\./)?', rf"\g<1>{root}", html
    )
