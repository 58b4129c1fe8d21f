"""What opens on a click, and what a reader sees only behind the switch "Evidence".

Everything that opens is ``<details>``, which needs no script:

- Chapters write ``<details class="…"><summary>Title</summary>``, a blank line, Markdown, a blank
  line, ``</details>``, which all viewers of notebooks fold; none of them holds another. A solution
  takes in the cells tagged ``solution`` below it.
- A cell tagged ``hide-input`` begins with a comment (a test requires it), which is its line;
  myst-nb would say "Show" and "Hide". Below a figure, it follows the picture. "In full: " begins
  the line of what a figure or a table above draws or sums up.

All of these but solutions are evidence: ``evidence.js`` switches. Hidden "until found", they come
up in a browser's search; without scripts, ``book.css`` shows them.
"""

import re
from itertools import groupby, takewhile

from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode

OPENING = re.compile(r'<details class="(\w+)"><summary>(.+)</summary>')
# As chapters begin a cell that holds their text to numbers, or has the numbers behind a figure.
GUARD = re.compile("Checked: |For the box: |In full: ")
# A capital that begins a sentence, and not a name as ALiBi or PCA
CAPITAL = re.compile(r"^[A-Z](?=[a-z]*\b)")


class Fold(nodes.General, nodes.Element):
    """A ``<details>``, whose first child is a `Summary`, the line that opens it."""


class Summary(nodes.Part, nodes.TextElement):
    """A ``<summary>``."""


class Evidence(nodes.General, nodes.Element):
    """A ``<div>`` that the switch shows."""


def element(tag, **attributes):
    """Functions that write a node as an element: its beginning, and its end."""
    return (
        lambda self, node: self.body.append(self.starttag(node, tag, "", **attributes)),
        lambda self, node: self.body.append(f"</{tag}>\n"),
    )


def fold_boxes(app, doctree):
    """Turn ``<details>``, which a page's Markdown writes as HTML, into a `Fold`."""
    for tag in [*doctree.findall(nodes.raw)]:
        if opening := OPENING.fullmatch(tag.astext().strip()):
            fold_from(tag, *opening.groups())


def fold_from(opening, kind, title):
    """Move what stands between two tags into a fold; into a solution also its cells."""
    # MyST leaves both tags as raw nodes, and what stands between them as their siblings.
    page = opening.parent
    start = page.index(opening)
    after = page[start + 1 :]
    inside = [*takewhile(lambda node: node.astext().strip() != "</details>", after)]
    if len(inside) == len(after):
        raise ValueError(f"{title!r} has no </details> after a blank line")
    end = start + len(inside) + 2
    cells = []
    if kind == "solution":
        behind = takewhile(lambda node: "tag_solution" in node["classes"], page[end:])
        cells = [*behind]
    fold = Fold("", Summary("", title), *inside, *cells, classes=[kind])
    page[start : end + len(cells)] = [fold]


def fold_code(folded):
    """Make a cell's code a fold, below the picture if it draws one and prints nothing else."""
    # A cell holds its code, here in myst-nb's own fold, and then its outputs.
    cell = folded.parent
    cell.remove(folded)
    source = next(folded.findall(nodes.literal_block)).astext()
    line = source.partition("\n")[0].lstrip("# ")
    # Of a guard, or without outputs, a cell is evidence as a whole: it begins with its fold.
    as_whole = not cell.children or GUARD.match(line)
    place = 0
    # What is printed follows its code; a picture comes first, since it is the point.
    if not as_whole and len(cell[-1]) == 1 and any(cell[-1].findall(nodes.image)):
        place = len(cell)
        line = f"Code: {CAPITAL.sub(lambda letter: letter[0].lower(), line)}"
    code = Fold("", Summary("", line), *folded.children, classes=["fold"])
    cell.insert(place, code if as_whole else Evidence("", code))


def is_cell(node):
    """Whether a node is a cell of code with its outputs, as myst-nb has them."""
    return isinstance(node, nodes.container) and "cell" in node["classes"]


def is_evidence(node):
    """Whether a node as a whole is evidence: a box, or a cell that begins with its fold."""
    if isinstance(node, Fold):
        return "solution" not in node["classes"]
    return is_cell(node) and isinstance(node[0], Fold)


def join_evidence(section):
    """Put what is evidence and stands together, in a section or an item, behind the switch."""
    # One switch, but a mark of its own in the margin for each place with evidence.
    children = []
    for behind, run in groupby(section.children, is_evidence):
        together = [*run]
        children += [Evidence("", *together)] if behind else together
    section[:] = children


def fold(app, doctree, docname):
    """Fold the code of a page; in a chapter, put all else that is evidence behind the switch."""
    for code in [*doctree.findall(HideCodeCellNode)]:
        fold_code(code)
    if docname.startswith("notebooks/"):
        for kind in (nodes.section, nodes.list_item):
            for part in [*doctree.findall(kind)]:
                join_evidence(part)
