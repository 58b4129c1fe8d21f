"""What stands under a chapter's title: minutes, the switch of the evidence, and what that adds.

The first number is for the main line, what a first reader needs: prose, open code, formulas and
figures. It leaves out evidence, exercises, solutions and optional sections ("Going further").
Minutes are for working through formulas and code, not for skimming.

Cells that need torch can't run in the page; ``cells.js`` gives the others a Run button.
"""

import re
from itertools import compress

from docutils import nodes
from slices import needing_torch

from .folds import Fold, is_cell

WORDS_PER_MINUTE = 120
LINES_PER_MINUTE = 6
FORMULA, FIGURE = 1.0, 0.5  # minutes each
LINE = re.compile(r"^(?!import |from |\s*$)", re.MULTILINE)  # imports are skimmed
SWITCH = """<span class="switched"><button class="switch" type="button" aria-pressed="false"
title="Show or hide it (key: e)">Evidence</button>: checks and sources</span>"""
SKIPPED = re.compile(r"going further|appendix|optional", re.IGNORECASE)


def is_aside(node):
    """Whether a first reader skips a node and all in it."""
    if isinstance(node, nodes.section):
        title = node[0].astext()
        return title == "Exercises" or bool(SKIPPED.search(title))
    return isinstance(node, Fold) or "hide_mode" in node  # of myst-nb: folded code


def minutes(node, main):
    """Minutes for a node, or only for its share of the main line."""
    if not isinstance(node, nodes.Element) or (main and is_aside(node)):
        return 0
    if isinstance(node, nodes.math_block):
        return FORMULA
    if isinstance(node, nodes.literal_block):
        return len(LINE.findall(node.astext())) / LINES_PER_MINUTE
    # Paragraphs, titles and captions; what is inside them isn't counted again. HTML isn't read.
    if isinstance(node, nodes.TextElement):
        texts = node.findall(nodes.Text)
        read = (text for text in texts if not isinstance(text.parent, nodes.raw))
        return len("".join(read).split()) / WORDS_PER_MINUTE
    if node.get("nb_element") == "cell_code_output":
        return 0
    inside = sum(minutes(child, main) for child in node)
    return inside + FIGURE if isinstance(node, nodes.figure) else inside


def mark_cells(doctree):
    """Mark the cells that need torch, and say how many run in the page."""
    cells = [*doctree.findall(is_cell)]
    sources = [next(cell.findall(nodes.literal_block)).astext() for cell in cells]
    # Tags of a cell are classes in the page.
    tagged = ["tag_needs-torch" in cell["classes"] for cell in cells]
    needs = needing_torch(sources, tagged)
    for cell in compress(cells, needs):
        cell["classes"].append("needs-torch")
    return f"{needs.count(False)} of {len(cells)} cells run in the page"


def tell(app, doctree):
    """Add the line below the title; mark cells and, for `book.css`, optional sections."""
    if not app.env.docname.startswith("notebooks/"):
        return
    for picture in doctree.findall(nodes.container):
        if "tag_remove-input" in picture["classes"]:
            picture["classes"].remove("cell")  # it has no code: for scripts it is none
    main, whole = (max(1, round(minutes(doctree, part))) for part in (True, False))
    for part in doctree.findall(nodes.section):
        if SKIPPED.search(part[0].astext()):
            part["classes"].append("skippable")
    evidence = f" · {whole} with everything · {mark_cells(doctree)}"
    behind = nodes.inline("", evidence, classes=["behind"])
    switch = nodes.raw("", SWITCH, format="html")
    line = nodes.paragraph("", f"{main} min", switch, behind, classes=["reading-time"])
    next(doctree.findall(nodes.title)).parent.insert(1, line)
