"""A small repair of the HTML that docutils and the theme write, so that every reader can use it.

Wide tables and figures scroll in a box of their own that the keyboard reaches.
"""

import re

BOX = '<div class="{}" role="group" aria-label="{}, scrolls sideways if it is wide" tabindex="0">'
TABLE = '<div class="pst-scrollable-table-container">'
PICTURE = re.compile(
    r"(<figure [^>]*>\s*)(<img [^>]*>|<a [^>]*image-reference[^>]*><img [^>]*></a>)"
)


def repair(body: str) -> str:
    """The body of a page with its boxes."""
    body = body.replace(TABLE, BOX.format("pst-scrollable-table-container", "Table"))
    return PICTURE.sub(rf"\1{BOX.format('picture', 'Figure')}\2</div>", body)
