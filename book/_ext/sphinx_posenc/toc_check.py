"""Every chapter is listed, and every notebook is whole."""

from __future__ import annotations

import json

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.errors import ExtensionError
from sphinx.util import logging

logger = logging.getLogger(__name__)


def require_all(app: Sphinx, env: BuildEnvironment, docnames: list[str]) -> None:
    """Name a chapter that the site would leave out without a word, and one that is cut off."""
    for path in sorted((app.srcdir / "notebooks").glob("*.ipynb")):
        name = f"notebooks/{path.stem}"
        if name not in env.found_docs:
            logger.warning("%s is missing from _toc.yml: list it there", name)
        try:
            json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            problem = f"{name}.ipynb is no notebook ({error}): restore it, say with git"
            raise ExtensionError(problem) from error
