"""Post-processes the HTML of a page: where lines break.

Lines don't break inside a number or a short equation, or between a short formula and what touches
it; paths may break after a slash.
"""

import re

from docutils import nodes
from sphinx.application import Sphinx

UNBROKEN = re.compile(
    r"""
    (?P<markup> <(pre|code|math|script|style|svg)\b.*?</\2> | <[^>]*> )
    | (?P<hyphen> \b\w-\w+ )            # t-SNE
    | (?<!\d)\d{1,3} \s (?=\d{3}(?!\d)) # 10 000
    | (?<=\d) \s (?=%)                  # 45 %
    | (?<=[\w)]) \s[=+−·×]\s (?=[\d−])  # d = 8
    | (?<=[\w)]) \s (?=(?:[=+−·×/≤]|&lt;)\s)  # x = y breaks only after the sign
    | \(\d+(?:,\s\d+)+\)                # (10, 3, 2)
    | \b(?:[Cc]hapter|[Dd]ocument|[Ee]xercise|[Ee]xhibit|Figure|Table) \s (?=S?\d)
    """,
    re.DOTALL | re.VERBOSE,
)
# Code of up to 16 characters, not counting tags: it fits on any line.
CODE = re.compile(
    r'(?<=<code class="docutils literal notranslate)'
    r'(?=">(?:(?:<(?!/code)[^>]*>)*[^<]){1,16}(?:<(?!/code)[^>]*>)*</code>)'
)
PATH = re.compile(r'(?<=<span class="pre">)[a-zA-Z][\w.-]+(/[a-zA-Z][\w.-]+)+(?=</span>)')
SHORT = 38  # characters of LaTeX; longer formulas may break


def keep_formulas(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Keep short formulas on one line with what touches them: a comma, or the end of "k-th".

    KaTeX renders inline boxes, and browsers may break lines next to any of them.
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
    """Make a match unbreakable."""
    if found["markup"]:
        return found[0]
    if found["hyphen"]:
        return f'<span class="together">{found[0]}</span>'
    return re.sub(r"\s", "&nbsp;", found[0])


def keep_text(body: str) -> str:
    """Allow line breaks in a page's body only where they read well."""
    body = UNBROKEN.sub(keep, body)
    body = CODE.sub(" together", body)
    return PATH.sub(lambda path: path[0].replace("/", '/</span><wbr><span class="pre">'), body)
