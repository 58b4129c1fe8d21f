"""Links to the repository, where the environment of the build says which it is.

``GITHUB_SERVER_URL`` and ``GITHUB_REPOSITORY`` are set by GitHub's own runners. Anywhere else they
are absent, and so are the buttons: no dead links.
"""

from __future__ import annotations

import os

from sphinx.application import Sphinx
from sphinx.config import Config


def add_buttons(app: Sphinx, config: Config) -> None:
    """Show the theme's buttons for the source, if the repository is known."""
    server = os.environ.get("GITHUB_SERVER_URL")
    repository = os.environ.get("GITHUB_REPOSITORY")
    if server and repository:
        config.html_theme_options |= {
            "repository_url": f"{server}/{repository}",
            "repository_branch": "main",
            "use_repository_button": True,
            "use_issues_button": True,
            "use_source_button": True,
        }


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("config-inited", add_buttons)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
