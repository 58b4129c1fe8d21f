"""Code that a reader opens: a line that says what it does, and the code behind it.

A cell with the tag ``hide-input`` begins with a comment, and that comment is the line. myst-nb
folds the cell under lines of its own, "Show" and "Hide"; the comment takes the place of both.
"""

from __future__ import annotations

import re
from html import escape

from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html import HTML5Translator

logger = logging.getLogger(__name__)


def line(code: str) -> str | None:
    """The comment that folded code begins with."""
    comment = re.match(r"# *(\S.*)", code)
    return comment[1] if comment else None


def name_folds(app: Sphinx, doctree: nodes.document) -> None:
    """Give each fold the comment of its code as its line."""
    for cell in doctree.findall(nodes.container):
        if cell.get("hide_mode"):
            code = next(cell.findall(nodes.literal_block)).astext()
            text = line(code)
            if text is None:
                logger.warning(
                    "a folded cell must begin with a comment that says what it does: %r",
                    code.partition("\n")[0],
                    location=cell,
                )
            cell["prompt_show"] = cell["prompt_hide"] = text


def visit(translator: HTML5Translator, node: HideCodeCellNode) -> None:
    translator.body.append(f'<details class="fold {" ".join(node["classes"])}">\n')
    translator.body.append(f"<summary>{escape(node['prompt_show'])}</summary>\n")


def depart(translator: HTML5Translator, node: HideCodeCellNode) -> None:
    translator.body.append("</details>\n")
