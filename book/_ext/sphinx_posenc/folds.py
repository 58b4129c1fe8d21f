"""What opens on a click, and what a reader sees only behind the switch "Evidence".

Everything that opens is ``<details>``, which needs no script:

- Chapters write ``<details class="…"><summary>Title</summary>``, a blank line, Markdown, a blank
  line, ``</details>``, which all viewers of notebooks fold. A solution takes in the cells tagged
  ``solution`` below it.
- A cell tagged ``hide-input`` begins with a comment (a test requires it), which is its line;
  myst-nb would say "Show" and "Hide". Below a figure, it follows the picture.

All of these but solutions are evidence: ``book.js`` has the switch. Hidden "until found", they come
up in a browser's search; without scripts, ``book.css`` shows them.
"""

import re
from itertools import groupby, takewhile
from typing import Any

from docutils import nodes
from docutils.transforms import Transform
from myst_nb.sphinx_ import HideCodeCellNode
from sphinx.application import Sphinx

OPENING = re.compile(r'<details class="(\w+)"><summary>(.+)</summary>')
GUARD = re.compile(r"Checked: |For the box: ")


class Fold(nodes.General, nodes.Element):
    """A ``<details>``, whose first child is a `Summary`, the line that opens it."""


class Summary(nodes.Part, nodes.TextElement):
    """A ``<summary>``."""


class Evidence(nodes.General, nodes.Element):
    """A ``<div>`` that the switch shows."""


def element(tag: str, **attributes: str) -> tuple[Any, Any]:
    """Functions that write a node as an element."""
    return (
        lambda self, node: self.body.append(self.starttag(node, tag, "", **attributes)),
        lambda self, node: self.body.append(f"</{tag}>\n"),
    )


class Details(Transform):
    """Turn ``<details>``, which a page's Markdown writes as HTML, into a `Fold`."""

    default_priority = 800  # before labels are collected, and pages are described

    def apply(self) -> None:
        for tag in list(self.document.findall(nodes.raw)):
            if opening := OPENING.fullmatch(tag.astext().strip()):
                fold_from(tag, *opening.groups())


def fold_from(opening: nodes.raw, kind: str, title: str) -> None:
    """Move what stands between two tags into a fold; into a solution also its cells."""
    # MyST leaves both tags as raw nodes, and what stands between them as their siblings.
    start = opening.parent.index(opening)
    after = opening.parent[start + 1 :]
    inside = [*takewhile(lambda node: node.astext().strip() != "</details>", after)]
    if len(inside) == len(after):
        raise ValueError(f"{title!r} has no </details> after a blank line")
    behind = after[len(inside) + 1 :]
    cells = [*takewhile(lambda node: "tag_solution" in node["classes"], behind)]
    fold = Fold("", Summary("", title), *inside, classes=[kind])
    if kind == "solution":
        fold += cells
        behind = behind[len(cells) :]
    opening.parent[start:] = [fold, *behind]


def fold_code(folded: nodes.Element) -> None:
    """Make a cell's code a fold, below the picture if it draws one and prints nothing else."""
    # A cell holds its code, here in myst-nb's own fold, and then its outputs.
    cell = folded.parent
    cell.remove(folded)
    code = next(folded.findall(nodes.literal_block)).astext()
    line = code.partition("\n")[0].lstrip("# ")
    outputs = cell.children[:]
    if not outputs or GUARD.match(line):  # the whole cell is evidence
        cell.insert(0, Fold("", Summary("", line), *folded.children, classes=["fold"]))
        return
    # What is printed follows its code; a picture comes first, since it is the point.
    draws = len(outputs[-1]) == 1 and next(outputs[-1].findall(nodes.image), None)
    if draws:
        line = f"Code: {line[0].lower()}{line[1:]}"
    fold = Fold("", Summary("", line), *folded.children, classes=["fold"])
    cell.insert(len(cell) if draws else 0, Evidence("", fold))


def is_evidence(node: nodes.Node) -> bool:
    """Whether a node as a whole is evidence: a box, or a cell that begins with its fold."""
    if isinstance(node, Fold):
        return "solution" not in node["classes"]
    is_cell = isinstance(node, nodes.container) and "cell" in node["classes"]
    return is_cell and isinstance(node[0], Fold)


def join_evidence(section: nodes.Element) -> None:
    """Put what is evidence and stands together behind the switch."""
    # One switch, but a mark of its own in the margin for each place with evidence.
    children = []
    for behind, run in groupby(section.children, is_evidence):
        together = [*run]
        children += [Evidence("", *together)] if behind else together
    section[:] = children


def fold(
    app: Sphinx,
    doctree: nodes.document,
    docname: str,
) -> None:
    """Fold the code of a page; in a chapter, mark what is evidence."""
    for code in [*doctree.findall(HideCodeCellNode)]:
        fold_code(code)
    if docname.startswith("notebooks/"):
        for section in [*doctree.findall(nodes.section)]:
            join_evidence(section)
