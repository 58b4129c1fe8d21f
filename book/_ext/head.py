"""What a page says about itself: to search engines, to whoever is sent its link, and its date.

The address of the site comes from the environment (``PAGES_URL``), which publishing sets. Where it
is unknown, all that needs an address is left out: canonical links, the card's picture, the sitemap.
The date of a page is its last commit's; it is left out where the history isn't there.
"""

from __future__ import annotations

import os
import re
import subprocess
from functools import cache
from html import escape, unescape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

LONGEST = 160  # characters of a description that a search engine shows
CARD = "_static/card.png"
WITHOUT_TEXT = {
    "404": "This address leads nowhere: the list of chapters, and a search through all of them.",
    "genindex": "Index of the functions and the terms of the book.",
    "search": "Search the chapters, the glossary and the package for a word.",
}


def site_url() -> str:
    """The address of the published site, ending in a slash, or nothing."""
    url = os.environ.get("PAGES_URL", "").rstrip("/")
    return url and f"{url}/"


def summary(doctree: nodes.document) -> str:
    """The first sentences of a page, as many as a search engine shows, of text without formulas."""
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
def last_change(folder: str, path: str) -> str | None:
    """The day of a file's last commit, where its whole history is there."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", folder, *arguments]
        return subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip()

    try:
        if git("rev-parse", "--is-shallow-repository") != "false":
            return None
        return git("log", "-1", "--format=%cs", "--", path) or None
    except (OSError, subprocess.CalledProcessError):  # no git, or a copy without history
        return None


def tags(properties: dict[str, str]) -> str:
    """Elements for the head: Open Graph's have a ``property``, all others a ``name``."""
    lines = []
    for key, value in properties.items():
        kind = "property" if key.startswith("og:") else "name"
        lines.append(f'\n    <meta {kind}="{key}" content="{escape(value)}" />')
    return "".join(lines)


def describe(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Describe a page in its head, and date it."""
    description = summary(doctree) if doctree else WITHOUT_TEXT.get(page)
    if not description:
        return
    title = unescape(re.sub(r"<[^>]+>", "", context.get("title") or app.config.html_title))
    # Every address that leads nowhere shows the page 404, which has none of its own.
    url = "" if page == "404" else site_url()
    context["pageurl"] = url and context["pageurl"]
    properties = {
        "description": description,
        "og:title": title,
        "og:description": description,
        "og:site_name": app.config.html_title,
        "og:type": "article" if page.startswith("notebooks/") else "website",
        "twitter:card": "summary_large_image" if url else "summary",
    }
    if url:
        properties |= {
            "og:url": context["pageurl"],
            "og:image": url + CARD,
            "og:image:alt": "The sinusoidal encoding as a heatmap.",
            "og:image:width": "1200",
            "og:image:height": "630",
        }
    context["metatags"] = context.get("metatags", "") + tags(properties)
    if doctree:
        source = Path(app.env.doc2path(page)).relative_to(app.srcdir)
        context["last_updated"] = last_change(str(app.srcdir), source.as_posix())


def know_address(app: Sphinx, config: Config) -> None:
    """Have Sphinx write the canonical links."""
    config.html_baseurl = site_url()


def list_pages(app: Sphinx, error: Exception | None) -> None:
    """Write robots.txt, and the sitemap where the address is known."""
    if error or app.builder.name != "html":
        return
    out, url = Path(app.outdir), site_url()
    robots = "User-agent: *\nAllow: /\n"
    if url:
        pages = sorted(app.builder.get_target_uri(name) for name in app.env.found_docs)
        places = "".join(f"<url><loc>{escape(url + page)}</loc></url>\n" for page in pages)
        space = "http://www.sitemaps.org/schemas/sitemap/0.9"
        sitemap = (
            f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="{space}">\n{places}</urlset>\n'
        )
        (out / "sitemap.xml").write_text(sitemap, encoding="utf-8")
        robots += f"Sitemap: {url}sitemap.xml\n"
        lost = out / "404.html"
        lost.write_text(from_anywhere(lost.read_text(encoding="utf-8"), url), encoding="utf-8")
    (out / "robots.txt").write_text(robots, encoding="utf-8")


def from_anywhere(html: str, url: str) -> str:
    """A page that is served at every address that leads nowhere: its links start at the root."""
    root = re.sub(r"^\w+://[^/]*", "", url)
    html = html.replace('data-content_root="./"', f'data-content_root="{root}"')
    return re.sub(r'( (?:href|src|action)=")(?![#/]|\w+:)(?:\./)?', rf"\g<1>{root}", html)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("config-inited", know_address)
    app.connect("html-page-context", describe)
    app.connect("build-finished", list_pages, priority=950)  # when the pages are light
    return {"parallel_read_safe": True, "parallel_write_safe": True}
