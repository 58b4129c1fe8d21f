"""What stands under a chapter's title: minutes, and as evidence which cells run in the page.

The first number is for the main line, what a first reader needs: prose, open code, formulas and
figures. It leaves out evidence, exercises, solutions and optional sections ("Going further").
Minutes are for working through formulas and code, not for skimming.

Cells that need torch can't run in the page; ``book/_static/book.js`` gives the others a Run button.
"""

import re

from docutils import nodes
from sphinx.application import Sphinx

from .folds import Fold
from .slices import needing_torch

WORDS_PER_MINUTE = 120
LINES_PER_MINUTE = 6
FORMULA, FIGURE = 1.0, 0.5  # minutes each

SKIPPED = re.compile(r"going further|appendix|optional", re.IGNORECASE)


def minutes(node: nodes.Node, main: bool) -> float:
    """Minutes for a node, or only for its share of the main line."""
    if not isinstance(node, nodes.Element):
        return 0
    title = node[0].astext() if isinstance(node, nodes.section) else ""
    if main and (
        isinstance(node, Fold)
        or "hide_mode" in node
        or SKIPPED.search(title)
        or title == "Exercises"
    ):
        return 0
    if isinstance(node, nodes.math_block):
        return FORMULA
    if isinstance(node, nodes.literal_block):
        code = [line for line in node.astext().split("\n") if line.strip()]
        return (
            sum(not line.startswith(("import ", "from ")) for line in code)
            / LINES_PER_MINUTE
        )
    if isinstance(node, nodes.TextElement):
        return len(node.astext().split()) / WORDS_PER_MINUTE
    if node.get("nb_element") == "cell_code_output" or isinstance(node, nodes.raw):
        return 0
    figure = FIGURE * isinstance(node, nodes.figure)
    return figure + sum(minutes(child, main) for child in node.children)


def runs(doctree: nodes.document) -> str:
    """Mark the cells that need torch, and say how many run in the page."""
    cells = [
        c
        for c in doctree.findall(nodes.container)
        if c.get("nb_element") == "cell_code"
    ]
    for alone in [
        c for c in cells if "tag_remove-input" in c["classes"]
    ]:  # a picture without code
        cells.remove(alone)
        alone["classes"].remove("cell")
    sources = [next(cell.findall(nodes.literal_block)).astext() for cell in cells]
    tagged = [n for n, cell in enumerate(cells) if "tag_needs-torch" in cell["classes"]]
    needy = [
        c
        for c, needs in zip(cells, needing_torch(sources, tagged), strict=True)
        if needs
    ]
    for cell in needy:
        cell["classes"].append("needs-torch")
    count = (
        f"{len(cells) - len(needy)} of {len(cells)} cells run"
        if needy
        else "all cells run"
    )
    return f" · {count} in the page" if cells else ""


def tell(app: Sphinx, doctree: nodes.document) -> None:
    """Add the line below the title; mark cells and optional sections."""
    for box in doctree.findall(nodes.container):  # docutils writes classes with hyphens
        box["classes"] = [c.replace("cell-input", "cell_input") for c in box["classes"]]
    if not app.env.doc2path(app.env.docname).endswith(".ipynb"):
        return
    main, whole = (max(1, round(minutes(doctree, which))) for which in (True, False))
    for part in doctree.findall(nodes.section):
        if SKIPPED.search(part[0].astext()):
            part["classes"].append("skippable")
    everything = f" · {whole} with everything" if whole > main else ""
    behind = nodes.inline("", everything + runs(doctree), classes=["behind"])
    line = nodes.paragraph("", f"{main} min", behind, classes=["reading-time"])
    next(doctree.findall(nodes.title)).parent.insert(1, line)
