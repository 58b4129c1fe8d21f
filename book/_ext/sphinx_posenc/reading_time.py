"""Two reading times under the title of each chapter: for its main line, and for all of it.

The main line is what a first reader needs: prose, open code, formulas and figures. It leaves out
boxes on the documents, folded code, exercises, solutions and optional sections ("Going further").
Minutes are for working through formulas and code, not for skimming.
"""

import re

from docutils import nodes
from sphinx.application import Sphinx

WORDS_PER_MINUTE = 120
LINES_PER_MINUTE = 6
FORMULA, FIGURE = 1.0, 0.5  # minutes each

SKIPPED = re.compile(r"going further|appendix|optional", re.IGNORECASE)


def is_aside(node: nodes.Element) -> bool:
    """Whether the main line leaves out a node."""
    if isinstance(node, nodes.section):
        return bool(re.search(rf"{SKIPPED.pattern}|exercises", node[0].astext(), re.IGNORECASE))
    return "documents" in node.get("classes", ()) or "hide_mode" in node


def minutes(node: nodes.Node, main: bool) -> float:
    """Minutes for a node, or only for its share of the main line."""
    if not isinstance(node, nodes.Element) or (main and is_aside(node)):
        return 0
    if isinstance(node, nodes.math_block):
        return FORMULA
    if isinstance(node, nodes.literal_block):
        code = [line for line in node.astext().split("\n") if line.strip()]
        return sum(not re.match("import |from ", line) for line in code) / LINES_PER_MINUTE
    if isinstance(node, nodes.TextElement):
        return len(node.astext().split()) / WORDS_PER_MINUTE
    if node.get("nb_element") == "cell_code_output" or isinstance(node, nodes.raw):
        return 0
    figure = FIGURE * isinstance(node, nodes.figure)
    return figure + sum(minutes(child, main) for child in node.children)


def add_times(app: Sphinx, doctree: nodes.document) -> None:
    """Put both times under the title of a chapter, and mark its optional sections."""
    if not app.env.doc2path(app.env.docname).endswith(".ipynb"):
        return
    main, whole = (max(1, round(minutes(doctree, which))) for which in (True, False))
    text = f"{main} minutes, {whole} with everything folded" if whole > main else f"{main} minutes"
    for part in doctree.findall(nodes.section):
        if SKIPPED.search(part[0].astext()):
            part["classes"].append("skippable")
    add_to_opening(doctree, text)


def add_to_opening(doctree: nodes.document, text: str) -> None:
    """Add a text to the line of the box "Before you start"; without one, below the title."""
    for box in doctree.findall(nodes.admonition):
        if "opening" in box["classes"]:
            box[0].insert(1, nodes.Text(f" · {text}"))
            return
    title = next(doctree.findall(nodes.title))
    title.parent.insert(1, nodes.paragraph("", text, classes=["reading-time"]))
