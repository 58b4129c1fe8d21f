"""What is known of the theme's markup: sphinx-book-theme 1.1.4 on pydata-sphinx-theme 0.15.4.

An update of the theme is compared with this module, and with the names in ``_templates``.
"""

import re

STYLES = [
    "basic.css",
    "styles/bootstrap.css",
    "styles/pydata-sphinx-theme.css",
    "vendor/fontawesome/6.5.2/css/all.min.css",
]
BOX = '<div class="{}" role="group" aria-label="{}, scrolls sideways if it is wide">'
TABLE = '<div class="pst-scrollable-table-container">'
PICTURE = re.compile(
    r"(<figure [^>]*>\s*)(<img [^>]*>|<a [^>]*image-reference[^>]*><img [^>]*></a>)"
)
PATH = re.compile(
    r'(?<=<span class="pre">)[a-zA-Z][\w.-]+(/[a-zA-Z][\w.-]+)+(?=</span>)'
)
# Left out: a second search field, a banner of versions, a copy of the title and the contents for
# print, a column of Read the Docs, a second viewport, and attributes of Bootstrap's script.
UNUSED = re.compile(
    r"""
    <div\ class="search-button__wrapper">.*?</form></div>\s*</div>
    | <div\ class="pst-async-banner-revealer.*?</aside>\s*</div>
    | <div\ id="jb-print-docs-body".*?(?=<div\ id="searchbox">)
    | <div\ id="searchbox"></div> | <div\ id="rtd-footer-container"></div>
    | <div\ class="(?:sbt-scroll-pixel-helper)"></div> | <div\ id="pst-scroll-pixel-helper"></div>
    | (?<=<body)[^>]*
    | <meta\ name="viewport"\ content="width=device-width,\ initial-scale=1"\ />
    """,
    re.DOTALL | re.VERBOSE,
)


def boxed(body: str) -> str:
    """Put a page's tables and pictures in scrolling boxes, and let paths break after a slash."""
    body = PATH.sub(
        lambda path: path[0].replace("/", '/</span><wbr><span class="pre">'), body
    )
    body = body.replace(TABLE, BOX.format("pst-scrollable-table-container", "Table"))
    return PICTURE.sub(rf"\1{BOX.format('picture', 'Figure')}\2</div>", body)
