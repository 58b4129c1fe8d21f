"""Marks the cells that can't run in the page because they need torch.

``book/_static/book.js`` gives the others a Run button.
"""

import ast
import re
from collections.abc import Container, Iterable, Iterator

from docutils import nodes
from sphinx.application import Sphinx

from .reading_time import add_to_opening
from .slices import bound_and_read
from .unavailable import absent_names, is_setting, without_absent


def needing_torch(sources: Iterable[str], tagged: Container[int] = ()) -> Iterator[bool]:
    """Whether each cell of a chapter needs torch, directly or through another cell.

    A cell that merely imports torch along with other modules doesn't: ``kernel.py`` drops that
    import, and torch's settings. Where names can't tell, as with a dict that other cells fill,
    tag the cell `needs-torch`.
    """
    absent: set[str] = set()
    for number, source in enumerate(sources):
        inner, bound, read = False, set[str](), set[str]()
        tree = ast.parse(source)
        for statement in tree.body:
            absent |= absent_names(statement).keys()
            node = without_absent(statement)
            if node and not is_setting(node):
                binds, reads = bound_and_read(node)
                inner |= any(map(absent_names, ast.walk(node)))
                read |= reads - bound
                bound |= binds
        executes = "exec" in read and re.search(r"\btorch\.", source)
        needs = bool(read & absent or executes or inner) or number in tagged
        absent = absent | bound if needs else absent - bound
        yield needs


def mark_cells(app: Sphinx, doctree: nodes.document) -> None:
    """Mark the cells that need torch, which the page doesn't have, and say so at the top."""
    cells = [c for c in doctree.findall(nodes.container) if c.get("nb_element") == "cell_code"]
    for alone in [c for c in cells if "tag_remove-input" in c["classes"]]:  # a picture without code
        cells.remove(alone)
        alone["classes"].remove("cell")
    sources = [next(cell.findall(nodes.literal_block)).astext() for cell in cells]
    tagged = [n for n, cell in enumerate(cells) if "tag_needs-torch" in cell["classes"]]
    needy = [c for c, needs in zip(cells, needing_torch(sources, tagged), strict=True) if needs]
    for cell in needy:
        cell["classes"].append("needs-torch")
    if cells:
        runs = f"{len(cells) - len(needy)} of {len(cells)} cells run" if needy else "all cells run"
        add_to_opening(doctree, f"{runs} in the page")
    for box in doctree.findall(nodes.container):  # docutils writes classes with hyphens
        box["classes"] = [c.replace("cell-input", "cell_input") for c in box["classes"]]
