"""Small repairs of the HTML that docutils and the theme write, so that every reader can use it.

Wide tables and figures scroll in a box of their own that the keyboard reaches. The entries of the
bibliography have a role that assistive technology knows.
"""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

BOX = '<div class="{}" role="group" aria-label="{}, scrolls sideways if it is wide" tabindex="0">'
TABLE = '<div class="pst-scrollable-table-container">'
PICTURE = re.compile(
    r"(<figure [^>]*>\s*)(<img [^>]*>|<a [^>]*image-reference[^>]*><img [^>]*></a>)"
)


def repair(body: str) -> str:
    """The body of a page with its boxes and roles."""
    body = body.replace(TABLE, BOX.format("pst-scrollable-table-container", "Table"))
    body = PICTURE.sub(rf"\1{BOX.format('picture', 'Figure')}\2</div>", body)
    return body.replace('role="doc-biblioentry"', 'role="listitem"')


def repair_page(app: Sphinx, page: str, template: str, context: Any, doctree: Any) -> None:
    """Repair a page that has a body; the search page and the index have none."""
    if "body" in context:
        context["body"] = repair(context["body"])
