"""Small repairs of the HTML that docutils and the theme write, so that every reader can use it.

Wide tables and figures scroll in a box of their own that the keyboard reaches. The entries of the
bibliography have a role that assistive technology knows. Numbers and short equations stay in one
line, and a path may end one after a slash. And a page has the reader's theme before it is first
drawn: the theme's own script comes later, and the page would jump.
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
UNBROKEN = re.compile(
    r"""
    (?P<markup> <(pre|code|math|script|style|svg)\b.*?</\2> | <[^>]*> )
    | (?P<hyphen> \b\w-\w+ )            # t-SNE
    | (?<!\d)\d{1,3} \s (?=\d{3}(?!\d)) # 10 000
    | (?<=\d) \s (?=%)                  # 45 %
    | (?<=[\w)]) \s[=+−·×]\s (?=[\d−])  # d = 8
    | (?<=[\w)]) \s (?=(?:[=+−·×/≤]|&lt;)\s)  # x = y may end a line after the sign alone
    | \(\d+(?:,\s\d+)+\)                # (10, 3, 2)
    | \b(?:[Cc]hapter|[Dd]ocument|[Ee]xercise|[Ee]xhibit|Figure|Table) \s (?=S?\d)
    """,
    re.DOTALL | re.VERBOSE,
)
# Code of up to 16 characters, beside its tags: no line is too short for it.
CODE = re.compile(
    r'(?<=<code class="docutils literal notranslate)'
    r'(?=">(?:(?:<(?!/code)[^>]*>)*[^<]){1,16}(?:<(?!/code)[^>]*>)*</code>)'
)
PATH = re.compile(r'(?<=<span class="pre">)[a-zA-Z][\w.-]+(/[a-zA-Z][\w.-]+)+(?=</span>)')

THEME = """{ const { dataset } = document.documentElement;
if (dataset.theme === "auto")
  dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"; }"""


def keep(found: re.Match[str]) -> str:
    """What was found, such that no line ends in it."""
    if found["markup"]:
        return found[0]
    if found["hyphen"]:
        return f'<span class="together">{found[0]}</span>'
    return re.sub(r"\s", "&nbsp;", found[0])


def repair(body: str) -> str:
    """The body of a page with its boxes and roles, and lines that end where they may."""
    body = body.replace(TABLE, BOX.format("pst-scrollable-table-container", "Table"))
    body = PICTURE.sub(rf"\1{BOX.format('picture', 'Figure')}\2</div>", body)
    body = UNBROKEN.sub(keep, body)
    body = CODE.sub(" together", body)
    body = PATH.sub(lambda path: path[0].replace("/", '/</span><wbr><span class="pre">'), body)
    return body.replace('role="doc-biblioentry"', 'role="listitem"')


def repair_page(app: Sphinx, page: str, template: str, context: Any, doctree: Any) -> None:
    if "body" in context:
        context["body"] = repair(context["body"])


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_js_file(None, body=THEME, priority=0, id="theme")  # by its id it stays in the page
    app.connect("html-page-context", repair_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
