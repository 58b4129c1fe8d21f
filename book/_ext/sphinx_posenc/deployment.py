"""Everything that depends on where the book is published.

``PAGES_URL``, set when publishing, is the address of the site. ``GITHUB_SERVER_URL`` and
``GITHUB_REPOSITORY`` are set by GitHub's runners. Elsewhere, to avoid dead links, there are no
canonical links, no sitemap, and no buttons for the source, Binder and Colab.
"""

import os
import re
from collections.abc import Iterator
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config


def read_environment(app: Sphinx, config: Config) -> None:
    """Set the base URL, which Sphinx uses for canonical links, and the theme's buttons."""
    url = os.environ.get("PAGES_URL", "").rstrip("/")
    config.html_baseurl = url and f"{url}/"
    server, repository = map(os.environ.get, ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY"))
    if server and repository:
        github = "github.com" in server
        config.html_theme_options |= {
            "repository_url": f"{server}/{repository}",
            "repository_branch": "main",
            "use_repository_button": True,
            "use_issues_button": True,
            "use_source_button": True,
            "launch_buttons": {
                "binderhub_url": "https://mybinder.org" if github else "",
                "colab_url": "https://colab.research.google.com" if github else "",
                "notebook_interface": "jupyterlab",
            },
        }


def lead_colab(app: Sphinx, page: str, template: str, context: Any, doctree: Any) -> None:
    """Point Colab at the downloadable notebook, which publishing pushes to its own branch."""
    for group in context["header_buttons"]:
        for button in group.get("buttons", []):
            if button["text"] == "Colab":
                button["url"] = button["url"].replace("/blob/main/", "/blob/notebooks/")


def redirect(app: Sphinx) -> Iterator[tuple[str, dict[str, str], str]]:
    """Yield a redirect page for the old address of each moved chapter."""
    for old, new in app.config.redirects.items():
        yield old, {"target": new}, "redirect.html"


def list_pages(app: Sphinx) -> None:
    """Write the sitemap, and a robots.txt that names it, if the base URL is known."""
    out, url = app.outdir, app.config.html_baseurl
    if url:
        pages = {*map(app.builder.get_target_uri, app.env.found_docs), ""} - {"index.html"}
        places = "".join(f"{url}{page}\n" for page in sorted(pages))
        (out / "sitemap.txt").write_text(places, encoding="utf-8")
        (out / "robots.txt").write_text(f"Sitemap: {url}sitemap.txt\n", encoding="utf-8")


def from_anywhere(html: str, url: str) -> str:
    """Make a page's links root-relative: the 404 page is served at any address."""
    root = re.sub(r"^\w+://[^/]*", "", url)
    html = html.replace('data-content_root="./"', f'data-content_root="{root}"')
    return re.sub(r'( (?:href|src|action)=")(?![#/]|\w+:)(?:\./)?', rf"\g<1>{root}", html)
