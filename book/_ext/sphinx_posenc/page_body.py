"""What is changed in the HTML of a page: where its lines may end, and boxes that scroll.

No line ends inside a number, a short equation or what touches a short formula; a path may end one
after a slash. Wide tables and figures scroll in a box of their own that the keyboard reaches.
"""

import re

from docutils import nodes
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
SHORT = 38  # characters of LaTeX: a formula that needs no line of its own


def keep_formulas(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Keep short formulas and what touches them in one line: a comma, or the end of "k-th".

    KaTeX draws boxes, and a browser may end a line beside any box.
    """
    for formula in list(doctree.findall(nodes.math)):
        if len(formula.astext()) > SHORT:
            continue
        formula["classes"].append("together")
        line, at = formula.parent, formula.parent.index(formula)
        before, _, after = ["", *line, ""][at : at + 3]
        opening = re.search(r"\S*\Z", before)[0] if isinstance(before, str) else ""
        closing = re.match(r"\S*", after)[0] if isinstance(after, str) else ""
        if opening:
            line[at - 1] = nodes.Text(before.removesuffix(opening))
        if closing:
            line[at + 1] = nodes.Text(after.removeprefix(closing))
        if opening or closing:
            parts = nodes.Text(opening), formula, nodes.Text(closing)
            line[at] = nodes.inline("", "", *parts, classes=["together"])


def keep(found: re.Match[str]) -> str:
    """What was found, such that no line ends in it."""
    if found["markup"]:
        return found[0]
    if found["hyphen"]:
        return f'<span class="together">{found[0]}</span>'
    return re.sub(r"\s", "&nbsp;", found[0])


def keep_text(body: str) -> str:
    """The body of a page with lines that end where they may."""
    body = UNBROKEN.sub(keep, body)
    body = CODE.sub(" together", body)
    return PATH.sub(lambda path: path[0].replace("/", '/</span><wbr><span class="pre">'), body)


def repair(body: str) -> str:
    """The body of a page with its boxes."""
    body = body.replace(TABLE, BOX.format("pst-scrollable-table-container", "Table"))
    return PICTURE.sub(rf"\1{BOX.format('picture', 'Figure')}\2</div>", body)
