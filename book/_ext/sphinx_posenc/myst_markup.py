r"""Chapters in Markdown that every viewer shows, and what MyST and Sphinx make of them.

JupyterLab, VS Code and GitHub know links and HTML's anchors, and neither roles nor a caption in a
cell's metadata. So a chapter says in plain text what MyST has markup for:

- a figure's caption is the cell below it, ``<a id="fig-x"></a>**Figure 7.1.** What it shows.``;
- a table's is the paragraph above it, ``<a id="tab-x"></a>**Table 7.1.** What it holds.``;
- an equation has its number as a tag, ``\tag{7.2}``, and ``<a id="eq-x"></a>`` in the line before;
- a solution is one box, ``:::{solution} ex-x``, and the cells with the tag ``solution`` below it;
- ``[Figure 7.1](#fig-x)`` and ``[Derive the formula](02_formula.ipynb)`` are links like others.

`to_myst` writes the first four as myst-nb and sphinx-exercise want them. Links find their places by
themselves, except for places on other pages, which `Anchors` and `Places` know. Numbers in the text
are the ones that Sphinx counts: `cross_references` counts in the same way, and compares.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.transforms import Transform
from sphinx import addnodes
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
SOLUTION = re.compile(
    r"^(?P<fence>:{3,})\{solution\} (?P<label>[\w-]+)\n(?P<options>(?::[\w-]+:[^\n]*\n)*)"
    r"(?P<text>.*?)^(?P=fence)$",
    re.MULTILINE | re.DOTALL,
)
ANCHOR = re.compile(r'<a id="([\w-]+)">')
PLACES = {"figure": CAPTION, "table": TABLE, "equation": EQUATION}


def read_notebook(path: Path) -> dict[str, Any]:
    """A chapter, with the source of each cell in one piece."""
    try:
        notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is cut off ({error}): restore it, say with git") from error
    for cell in notebook["cells"]:
        cell["source"] = "".join(cell["source"])
    return notebook


def lift_figure(cell: Cell) -> None:
    """Put what a live figure shows, which myst-nb doesn't know, into the metadata of its cell."""
    from posenc.widgets import MIME  # here, since links are checked without it, and quickly

    for output in cell.get("outputs", []):
        if figure := output.get("data", {}).pop(MIME, None):
            cell["metadata"]["figure"] = figure


def pieces(cell: Cell) -> Iterator[tuple[bool, str]]:
    """The text of a cell, split at the boxes of solutions, and whether each part is one."""
    text, end = cell["source"], 0
    if cell["cell_type"] == "markdown":
        text = EQUATION.sub(r"\g<before>\n$$\n\g<text>\n$$ (\g<name>)", text)
        text = TABLE.sub(r":::{table} \g<text>\n:name: \g<name>\n\n\g<rows>\n:::", text)
        for box in SOLUTION.finditer(text):
            yield False, text[end : box.start()]
            start = f":::{{solution-start}} {box['label']}\n{box['options']}:::\n"
            yield True, f"{start}\n{box['text'].strip()}"
            end = box.end()
    yield False, text[end:]


def to_myst(cells: list[Cell]) -> Iterator[Cell]:
    """The cells of a chapter as myst-nb and sphinx-exercise want them."""
    end = {"cell_type": "markdown", "metadata": {}, "source": ":::{solution-end}\n:::"}
    inside, figure = False, None
    for cell in cells:
        if cell["cell_type"] != "markdown":
            kinds = [kind for output in cell.get("outputs", []) for kind in output.get("data", {})]
            figure = cell if any(kind.startswith("image/") for kind in kinds) else None
            lift_figure(cell)
        elif figure and (caption := CAPTION.match(cell["source"])):
            options = figure["metadata"].setdefault("mystnb", {})
            options["figure"] = {"name": caption["name"], "caption": caption["text"].strip()}
            continue
        # A solution is a box and the cells below it with its tag; another box or text ends it.
        goes_on = "solution" in cell["metadata"].get("tags", [])
        for is_box, text in pieces(cell):
            if text.strip() or cell["cell_type"] != "markdown":
                if inside and (is_box or not goes_on):
                    yield end
                inside, goes_on = is_box or (inside and goes_on), False
                yield cell | {"source": text}
    if inside:
        yield end


class Anchors(Transform):
    """Make ``<a id="x"></a>`` a place that Sphinx knows."""

    default_priority = 800  # before labels are collected

    def apply(self) -> None:
        for raw in list(self.document.findall(nodes.raw)):
            found = ANCHOR.fullmatch(raw.astext().strip().removesuffix("</a>"))
            if found:
                closing = raw.next_node(siblings=True, descend=False)
                if isinstance(closing, nodes.raw) and closing.astext() == "</a>":
                    closing.parent.remove(closing)
                place = nodes.target("", "", ids=[found[1]], names=[found[1].lower()])
                raw.replace_self(place)
                self.document.note_explicit_target(place)


class Places(SphinxPostTransform):
    """Let links with an anchor lead to any place of another page, and to equations.

    MyST looks for headings only.
    """

    default_priority = 8  # before MyST resolves its links

    def run(self, **kwargs: Any) -> None:
        for link in list(self.document.findall(addnodes.pending_xref)):
            found = self.find(link) if link["reftype"] == "myst" else None
            if found:
                text = link[0].deepcopy()
                link.replace_self(make_refnode(self.app.builder, link["refdoc"], *found, text))

    def find(self, link: nodes.Element) -> tuple[str, str] | None:
        """Page and id of a place that MyST doesn't find."""
        equations = self.env.get_domain("math").equations
        anchors = self.env.get_domain("std").anonlabels
        name = link.get("reftargetid")
        if name in equations:
            return equations[name][0], f"equation-{name}"
        return anchors.get(name.lower()) if name and link["refdomain"] == "doc" else None
