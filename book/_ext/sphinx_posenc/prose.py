"""The text of a page: links to the glossary, tooltips, and where lines break.

Each term of the glossary is linked where a chapter first uses it. A link to a term or reference has
its definition as a title, which browsers show as a tooltip. Lines don't break inside a number or
a short equation, or between a short formula and what touches it; paths may break after a slash.
"""

import posixpath
import re
from functools import cache

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.nodes import make_refnode

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
PATH = re.compile(r'(?<=<span class="pre">)[a-zA-Z][\w.-]+(/[a-zA-Z][\w.-]+)+(?=</span>)')
# Characters of code and of LaTeX that fit on any line; longer ones may break.
CODE, FORMULA = 16, 38


@cache
def terms(app: Sphinx) -> tuple[re.Pattern[str], dict[str, tuple[str, str]]]:
    """A pattern of all terms, longer ones first, and their pages and anchors."""
    objects = app.env.get_domain("std").get_objects()
    places = {each[0].lower(): (each[3], each[4]) for each in objects if each[2] == "term"}
    words = "|".join(map(re.escape, sorted(places, key=len, reverse=True)))
    return re.compile(rf"\b({words})(?:s|es)?\b", re.IGNORECASE), places


def link_terms(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    pattern, places = terms(app)
    left = dict(places) if docname.startswith("notebooks/") else {}
    for text in list(doctree.findall(nodes.Text)) if left else []:
        parts, end = list[nodes.Node](), 0
        prose = isinstance(text.parent, nodes.paragraph)
        if prose and not isinstance(text.parent.parent, nodes.entry):
            for found in pattern.finditer(text):
                if place := left.pop(found[1].lower(), None):
                    word = nodes.inline("", found[0], classes=["xref", "std", "std-term"])
                    link = make_refnode(app.builder, docname, *place, word)
                    parts += [nodes.Text(text[end : found.start()]), link]
                    end = found.end()
        if end:
            text.parent.replace(text, [*parts, nodes.Text(text[end:])])


@cache
def said(app: Sphinx) -> dict[str, str]:
    """Tooltips by link target: a term's first sentence, or the reference itself."""
    found, kinds = {}, nodes.definition_list_item | nodes.list_item
    for page in sorted({"book/glossary", "book/references"} & app.env.found_docs):
        for item in app.env.get_doctree(page).findall(lambda node: isinstance(node, kinds)):
            text = next(item.findall(nodes.paragraph), nodes.paragraph()).astext()
            if isinstance(item, nodes.definition_list_item):
                anchors = item[0]["ids"]
                sentence = re.split(r"(?<=\.)\s", text)[0]
                text = re.sub(r"[;,][^;,]*\\.*", ".", sentence)  # without a formula
            else:
                anchors = [id for target in item.findall(nodes.target) for id in target["ids"]]
                text = text.partition(" URL: ")[0]
            found |= {f"{page}.html#{anchor}": " ".join(text.split()) for anchor in anchors}
    return found


def set_tooltips(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Set the titles of links to terms and references."""
    for link in doctree.findall(nodes.reference):
        place = posixpath.normpath(posixpath.join(docname, "..", link.get("refuri", "")))
        if place in said(app):
            link["reftitle"] = said(app)[place]


def keep_together(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Keep short code, and short formulas with what touches them, as in "k-th", on one line.

    KaTeX renders inline boxes, and browsers may break lines next to any of them.
    """
    for code in doctree.findall(nodes.literal):
        code["classes"] += ["together"] * (len(code.astext()) <= CODE)
    for formula in [each for each in doctree.findall(nodes.math) if len(each.astext()) <= FORMULA]:
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
    return PATH.sub(lambda path: path[0].replace("/", '/</span><wbr><span class="pre">'), body)
