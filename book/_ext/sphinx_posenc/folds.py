"""What opens on a click: boxes, code, and runs of checks. All are ``<details>``, without a script.

- A box with the class ``dropdown``, as a solution, opens from its title; "Before you start" is one
  line without a frame, and holds the imports below it and the cells that ready the figure above.
- A cell tagged ``hide-input`` begins with a comment (a test requires it), which is its line;
  myst-nb would say "Show" and "Hide". Below a figure, it follows the picture.
- Folded cells that only guard what was said, one after the other, share one mark: "5 checks".
"""

import re
from itertools import groupby
from typing import Any

from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode
from sphinx.application import Sphinx

GUARD = re.compile(r"Checked: |For the box: ")


class Fold(nodes.General, nodes.Element):
    """A ``<details>``, whose first child is a `Summary`, the line that opens it."""


class Summary(nodes.Part, nodes.TextElement):
    """A ``<summary>``."""


def element(tag: str) -> tuple[Any, Any]:
    """Functions that write a node as an element."""
    return (
        lambda self, node: self.body.append(self.starttag(node, tag, "")),
        lambda self, node: self.body.append(f"</{tag}>\n"),
    )


def fold_box(box: nodes.Element) -> None:
    """Make a box a fold that opens from its title."""
    title = Summary("", "", *box[0].children)
    classes = [name for name in box["classes"] if name != "dropdown"]
    if "opening" not in classes:
        title["classes"].append("admonition-title")
        classes.append("admonition")
    box.replace_self(Fold("", title, *box[1:], ids=box["ids"], classes=classes))


def comment_of(cell: nodes.Node) -> str:
    """The first line of a cell's code, without the sign of a comment."""
    return (
        next(cell.findall(nodes.literal_block)).astext().partition("\n")[0].lstrip("# ")
    )


def fold_code(folded: nodes.Element) -> None:
    """Make a cell's code a fold, below the picture if it draws one and prints nothing else."""
    cell, line, classes = folded.parent, comment_of(folded), ["fold"]
    cell.remove(folded)
    draws = (
        len(cell) and len(cell[-1]) == 1 and next(cell[-1].findall(nodes.image), None)
    )
    if draws:
        line, classes = f"Code: {line[0].lower()}{line[1:]}", ["fold", "below"]
    fold = Fold("", Summary("", line), *folded.children, classes=classes)
    cell.insert(len(cell) if draws else 0, fold)


def is_guard(node: nodes.Node) -> bool:
    """Whether a node is a folded cell that only guards."""
    is_cell = (
        isinstance(node, nodes.container) and node.get("nb_element") == "cell_code"
    )
    return is_cell and isinstance(node[0], Fold) and bool(GUARD.match(comment_of(node)))


def join_guards(section: nodes.Element) -> None:
    """Put each run of guards of a section, or of a solution, into one fold."""
    for guards, run in [
        (key, [*run]) for key, run in groupby(section.children, is_guard)
    ]:
        if guards and len(run) > 1:
            summary = Summary("", f"{len(run)} checks")
            section.replace(
                run[0], both := Fold("", summary, classes=["fold", "checks"])
            )
            for cell in run[1:]:
                section.remove(cell)
            both += run


def take_in(box: Fold) -> None:
    """Move imports below an opening into it, and what readies its figure if no page draws that."""
    cells = [each for each in box.parent if isinstance(each, nodes.container)]
    drawn = any("needs-torch" not in cell["classes"] for cell in cells if len(cell) > 1)
    for cell in cells:
        if comment_of(cell).startswith("Import") or (len(cell) == 1 and not drawn):
            box.parent.remove(cell)
            box += cell


def fold(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Fold a page's boxes and code, and unwrap sphinx-exercise's sections, whose ids repeat."""
    for section in [*doctree.findall(nodes.section)]:
        if {*section["ids"]} & {"exercise-content", "solution-content"}:
            section.parent.replace(section, section.children)
    for box in [*doctree.findall(nodes.Admonition)]:
        if isinstance(box, nodes.Element) and "dropdown" in box["classes"]:
            fold_box(box)
    for code in [*doctree.findall(HideCodeCellNode)]:
        fold_code(code)
    for opening in [
        each for each in doctree.findall(Fold) if "opening" in each["classes"]
    ]:
        take_in(opening)
    for part in [*doctree.findall(nodes.section), *doctree.findall(Fold)]:
        join_guards(part)
