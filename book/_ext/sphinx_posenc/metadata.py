"""Each page's description, and everything that depends on where the book is published.

``PAGES_URL``, set when publishing, is the address of the site. ``GITHUB_SERVER_URL`` and
``GITHUB_REPOSITORY`` are set by GitHub's runners. Elsewhere, to avoid dead links, there are neither
canonical links nor links to the source, Binder and Colab.
"""

import os
import re
import textwrap

from docutils import nodes

LONGEST = 160  # characters of a description that a search engine shows


def read_environment(app, config):
    """Set the base URL, which Sphinx uses for canonical links, and the repository's."""
    url = os.environ.get("PAGES_URL", "").rstrip("/")
    config.html_baseurl = url and f"{url}/"
    server, name = map(os.environ.get, ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY"))
    config.html_context["site_url"] = config.html_baseurl
    config.html_context["repository"] = f"{server}/{name}" if server and name else ""


def summarize(app, doctree):
    """Describe a page by its first sentences without formulas, as many as a search engine shows."""
    texts = [
        paragraph.astext()
        for paragraph in doctree.findall(nodes.paragraph)
        if not isinstance(paragraph.parent, nodes.entry)
        and not any(paragraph.findall(nodes.math))
    ]
    words = re.sub("</?a[^>]*>", "", " ".join(texts))  # anchors are HTML
    text = textwrap.shorten(words, LONGEST, placeholder="…")
    whole = re.match(r".*[.?](?=[ …]|\Z)", text)
    app.env.metadata[app.env.docname]["description"] = whole[0] if whole else text


def describe(app, page, template, context, doctree):
    """Pass on a page's description, and the titles of all pages for the sidebar."""
    context["description"] = app.env.metadata.get(page, {}).get("description")
    context["titles"], context["numbers"] = app.env.titles, app.env.toc_secnumbers


def from_anywhere(html, url):
    """Make a page's links root-relative: the 404 page is served at any address."""
    root = re.sub(r"^\w+://[^/]*", "", url)
    html = html.replace('data-content_root="./"', f'data-content_root="{root}"')
    return re.sub(
        r'( (?:href|src|action)=")(?![#/]|\w+:)(?:\./)?', rf"\g<1>{root}", html
    )
