"""Small repairs of the HTML that docutils and the theme write, so that every reader can use it.

Wide tables and figures scroll in a box of their own that the keyboard reaches. A picture without
alt text is named.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)

BOX = '<div class="{}" role="group" aria-label="{}, scrolls sideways if it is wide" tabindex="0">'
TABLE = '<div class="pst-scrollable-table-container">'
PICTURE = re.compile(
    r"(<figure [^>]*>\s*)(<img [^>]*>|<a [^>]*image-reference[^>]*><img [^>]*></a>)"
)


def require_alt(app: Sphinx, doctree: nodes.document) -> None:
    """Name a picture that says nothing to a reader who can't see it."""
    for image in doctree.findall(nodes.image):
        if not image.get("alt"):
            logger.warning("a picture without alt text: %s", image["uri"], location=image)


def repair(body: str) -> str:
    """The body of a page with its boxes."""
    body = body.replace(TABLE, BOX.format("pst-scrollable-table-container", "Table"))
    return PICTURE.sub(rf"\1{BOX.format('picture', 'Figure')}\2</div>", body)


def repair_body(app: Sphinx, page: str, template: str, context: Any, doctree: Any) -> None:
    """Repair a page that has a body; the search page and the index have none."""
    if "body" in context:
        context["body"] = repair(context["body"])
