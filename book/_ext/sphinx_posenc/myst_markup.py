r"""Converts chapters from portable Markdown to MyST.

JupyterLab, VS Code and GitHub render links and HTML anchors, but neither roles nor captions in cell
metadata. So chapters write in plain Markdown what MyST has markup for:

- a figure's caption is the cell below it, ``<a id="fig-x"></a>**Figure 7.1.** What it shows.``;
- a table's is the paragraph above it, ``<a id="tab-x"></a>**Table 7.1.** What it holds.``;
- an equation has its number as a tag, ``\tag{7.2}``, and ``<a id="eq-x"></a>`` on a line above;
- an exercise begins a paragraph, ``<a id="ex-x"></a>**Exercise 7.1. By hand.** What to do.``;
- what opens on a click is ``<details>`` (see ``folds.py``).

`to_myst` converts the first three for myst-nb. Links resolve by themselves, except to
targets on other pages, which `Anchors` and `Places` handle.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.transforms import Transform
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode

Cell = dict[str, Any]

CAPTION = re.compile(
    r'<a id="(?P<name>fig-[\w-]+)"></a>\*\*Figure (?P<number>[\d.]*\d|\?)\.\*\*\s+(?P<text>.+)\Z',
    re.DOTALL,
)
TABLE = re.compile(
    r'^<a id="(?P<name>tab-[\w-]+)"></a>\*\*Table (?P<number>[\d.]*\d|\?)\.\*\*\s+(?P<text>.+?)\n\n'
    r"(?P<rows>\|[^\n]*(?:\n\|[^\n]*)*)",
    re.MULTILINE | re.DOTALL,
)
EQUATION = re.compile(
    r'(?P<before>\n?)^<a id="(?P<name>eq-[\w-]+)"></a>\n\n'
    r"\$\$\n(?P<text>(?:(?!\$\$).)+?)\n?\\tag\{(?P<number>[\d.]*\d|\?)\}\n\$\$$",
    re.MULTILINE | re.DOTALL,
)
EXERCISE = re.compile(
    r'^<a id="(?P<name>ex-[\w-]+)"></a>\*\*Exercise (?P<number>[\d.]*\d|\?)\.',
    re.MULTILINE,
)
ANCHOR = re.compile(r'<a id="([\w-]+)">')
PLACES = {
    "figure": CAPTION,
    "table": TABLE,
    "equation": EQUATION,
    "exercise": EXERCISE,
}


def read_notebook(path: Path) -> dict[str, Any]:
    """Read a chapter, joining each cell's source into one string."""
    try:
        notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(
            f"{path} isn't valid JSON ({error}): restore it from git"
        ) from error
    for cell in notebook["cells"]:
        cell["source"] = "".join(cell["source"])
    return notebook


def with_directives(text: str) -> str:
    """Mark equations and tables as MyST does."""
    text = EQUATION.sub(r"\g<before>\n$$\n\g<text>\n$$ (\g<name>)", text)
    return TABLE.sub(r":::{table} \g<text>\n:name: \g<name>\n\n\g<rows>\n:::", text)


def draws(cell: Cell) -> bool:
    """Whether a cell's output is a picture."""
    return any(
        kind.startswith("image/")
        for output in cell.get("outputs", [])
        for kind in output.get("data", {})
    )


def keep_live_figure(cell: Cell) -> None:
    """Move a live figure from the outputs, whose types myst-nb must know, to the metadata."""
    from posenc.book.widgets import MIME  # slow to import; link checks don't need it

    for output in cell.get("outputs", []):  # a raw cell has none
        if live := output.get("data", {}).pop(MIME, None):
            cell["metadata"]["figure"] = live


def to_myst(cells: list[Cell]) -> Iterator[Cell]:
    """Convert a chapter's cells for myst-nb."""
    figure: Cell | None = None  # the cell above, if it draws
    for cell in cells:
        # An answer is written in a field of the page.
        if "answer" in cell["metadata"].get("tags", []):
            continue
        if cell["cell_type"] != "markdown":
            figure = cell if draws(cell) else None
            keep_live_figure(cell)
        # The caption becomes an option of the figure, which myst-nb then numbers.
        elif figure and (caption := CAPTION.match(cell["source"])):
            options = figure["metadata"].setdefault("mystnb", {})
            text = caption["text"].strip()
            options["figure"] = {"name": caption["name"], "caption": text}
            continue
        else:
            cell["source"] = with_directives(cell["source"])
        yield cell


def write_myst(app: Sphinx, docname: str, source: list[str]) -> None:
    """Replace a page's source by MyST markup."""
    path = Path(app.env.doc2path(docname))
    if path.suffix == ".ipynb":
        notebook = read_notebook(path)
        cells = enumerate(to_myst(notebook["cells"]))
        notebook["cells"] = [cell | {"id": f"cell-{number}"} for number, cell in cells]
        source[0] = json.dumps(notebook)


class Anchors(Transform):
    """Turn ``<a id="x"></a>`` into a target that Sphinx knows."""

    default_priority = 800  # before labels are collected

    def apply(self) -> None:
        for raw in list(self.document.findall(nodes.raw)):
            anchor = ANCHOR.fullmatch(raw.astext().strip().removesuffix("</a>"))
            if anchor:
                # MyST makes a node of each tag: the closing one goes.
                closing = raw.next_node(siblings=True, descend=False)
                if isinstance(closing, nodes.raw) and closing.astext() == "</a>":
                    closing.parent.remove(closing)
                name = anchor[1]
                place = nodes.target("", "", ids=[name], names=[name.lower()])
                raw.replace_self(place)
                self.document.note_explicit_target(place)


class Places(SphinxPostTransform):
    """Resolve links to equations, and to any anchor on another page: MyST knows headings only."""

    default_priority = 8  # before MyST resolves its links

    def run(self, **kwargs: Any) -> None:
        equations = self.env.get_domain("math").equations
        anchors = self.env.get_domain("std").anonlabels
        links = self.document.findall(addnodes.pending_xref)
        for link in [link for link in links if link["reftype"] == "myst"]:
            name, place = link.get("reftargetid"), None
            if name in equations:
                place = equations[name][0], f"equation-{name}"
            elif name and link["refdomain"] == "doc":
                place = anchors.get(name.lower())
            if place:
                text = link[0].deepcopy()
                link.replace_self(
                    make_refnode(self.app.builder, link["refdoc"], *place, text)
                )
