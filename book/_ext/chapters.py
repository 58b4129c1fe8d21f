"""Every chapter is listed, and every notebook is whole."""

from __future__ import annotations

import json
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.errors import ExtensionError
from sphinx.util import logging

logger = logging.getLogger(__name__)


def find_unlisted(app: Sphinx, env: BuildEnvironment, docnames: list[str]) -> None:
    """Warn of a chapter that the site would leave out without a word."""
    for path in sorted((Path(app.srcdir) / "notebooks").glob("*.ipynb")):
        if f"notebooks/{path.stem}" not in env.found_docs:
            logger.warning("notebooks/%s is missing from _toc.yml: list it there", path.stem)


def require_whole(app: Sphinx, docname: str, source: list[str]) -> None:
    """Name a notebook that is cut off; its reader would not."""
    if app.env.doc2path(docname).endswith(".ipynb"):
        try:
            json.loads(source[0])
        except ValueError as error:
            problem = f"{docname}.ipynb is no notebook ({error}): restore it, say with git"
            raise ExtensionError(problem) from error
