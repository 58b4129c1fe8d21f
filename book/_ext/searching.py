"""Give the site's search a rule of its own for what comes first: ``scorer.js`` says which."""

from __future__ import annotations

from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config


def add_scorer(_: Sphinx, config: Config) -> None:
    config.html_search_scorer = str(Path(__file__).with_name("scorer.js"))
