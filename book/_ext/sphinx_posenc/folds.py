"""What opens on a click: boxes, code, and runs of checks. All are ``<details>``, without a script.

- Chapters write ``<details class="…"><summary>Title</summary>``, a blank line, Markdown, a blank
  line, ``</details>``, which all viewers of notebooks fold. A solution takes in the cells tagged
  ``solution`` below it; "Before you start" is one line without a frame, and holds the imports below
  it and the cells that ready the figure above.
- A cell tagged ``hide-input`` begins with a comment (a test requires it), which is its line;
  myst-nb would say "Show" and "Hide". Below a figure, it follows the picture.
- Folded cells that only guard what was said, one after the other, share one mark: "5 checks".
"""

import re
from itertools import groupby
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


def element(tag: str) -> tuple[Any, Any]:
    """Functions that write a node as an element."""
    return (
        lambda self, node: self.body.append(self.starttag(node, tag, "")),
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
    parent = opening.parent
    start = parent.index(opening)
    end = start + 1
    while not is_closing(parent[end]):
        end += 1
    inside = parent[start + 1 : end]
    end += 1
    while kind == "solution" and end < len(parent) and is_solution(parent[end]):
        inside.append(parent[end])
        end += 1
    summary = Summary("", title)
    classes = [kind]
    if kind != "opening":
        summary["classes"].append("admonition-title")
        classes.append("admonition")
    parent[start:end] = [Fold("", summary, *inside, classes=classes)]


def is_closing(node: nodes.Node) -> bool:
    """Whether a node is ``</details>``."""
    return isinstance(node, nodes.raw) and node.astext().strip() == "</details>"


def is_solution(node: nodes.Node) -> bool:
    """Whether a node is a cell that belongs to a solution."""
    return isinstance(node, nodes.Element) and "tag_solution" in node["classes"]


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
    """Fold a page's code."""
    for code in [*doctree.findall(HideCodeCellNode)]:
        fold_code(code)
    for opening in [
        each for each in doctree.findall(Fold) if "opening" in each["classes"]
    ]:
        take_in(opening)
    for part in [*doctree.findall(nodes.section), *doctree.findall(Fold)]:
        join_guards(part)
