"""Small repairs of the HTML that docutils and the theme write, so that every reader can use it.

Wide tables and figures scroll in a box of their own that the keyboard reaches. The entries of the
bibliography have a role that assistive technology knows. Numbers stay in one line. And a page has
the reader's theme before it is first drawn: the theme's own script comes later, and the page would
jump.
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
# What is no text, or the first digits of a number in groups of three.
GROUPS = re.compile(
    r"(<(pre|code|math)\b.*?</\2>|<[^>]*>)|(?<!\d)(\d{1,3}) (?=\d{3}(?!\d))", re.DOTALL
)

THEME = """{ const { dataset } = document.documentElement;
if (dataset.theme === "auto")
  dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"; }"""


def repair(body: str) -> str:
    """The body of a page with its boxes and roles, and no line that ends within a number."""
    body = body.replace(TABLE, BOX.format("pst-scrollable-table-container", "Table"))
    body = PICTURE.sub(rf"\1{BOX.format('picture', 'Figure')}\2</div>", body)
    body = GROUPS.sub(lambda found: found[1] or f"{found[3]}&nbsp;", body)
    return body.replace('role="doc-biblioentry"', 'role="listitem"')


def repair_page(app: Sphinx, page: str, template: str, context: Any, doctree: Any) -> None:
    if "body" in context:
        context["body"] = repair(context["body"])


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_js_file(None, body=THEME, priority=0, id="theme")  # by its id it stays in the page
    app.connect("html-page-context", repair_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
