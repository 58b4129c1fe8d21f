r"""Converts chapters from portable Markdown to MyST.

JupyterLab, VS Code and GitHub render links and HTML anchors, but neither roles nor captions in cell
metadata. So chapters write in plain Markdown what MyST has markup for:

- a figure's caption is the cell below it, ``<a id="fig-x"></a>**Figure 7.1.** What it shows.``;
- a table's is the paragraph above it, ``<a id="tab-x"></a>**Table 7.1.** What it holds.``;
- an equation has its number as a tag, ``\tag{7.2}``, and ``<a id="eq-x"></a>`` on a line above;
- an exercise begins a paragraph, ``<a id="ex-x"></a>**Exercise 7.1. By hand.** What to do.``;
- the id of a claim in code is a link to its row of the ledger, ```S3-x```;
- what opens on a click is ``<details>`` (see ``folds.py``).

`to_myst` converts all but exercises and folds for myst-nb. Links within a page resolve by
themselves; `note_anchors` and `Places` handle those to other pages.
"""

import json
import re
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode

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
CLAIM = re.compile(r"S[0-5]-[a-z0-9-]+")
PLACES = {
    "figure": CAPTION,
    "table": TABLE,
    "equation": EQUATION,
    "exercise": EXERCISE,
}


def read_notebook(path):
    """Read a chapter, joining each cell's source into one string."""
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        problem = f"{path} isn't valid JSON ({error}): restore it from git"
        raise ValueError(problem) from error
    for cell in notebook["cells"]:
        cell["source"] = "".join(cell["source"])
    return notebook


def with_directives(text):
    """Mark equations and tables as MyST does, and link ids of claims."""
    text = EQUATION.sub(r"\g<before>\n$$\n\g<text>\n$$ (\g<name>)", text)
    text = TABLE.sub(r":::{table} \g<text>\n:name: \g<name>\n\n\g<rows>\n:::", text)
    return re.sub(f"`({CLAIM.pattern})`", r"[`\1`](../book/claims.md#row-\1)", text)


def draws(cell):
    """Whether a cell's output is a picture."""
    outputs = [output.get("data", {}) for output in cell.get("outputs", [])]
    return any("image/" in kind for data in outputs for kind in data)


def keep_live_figure(cell):
    """Move a live figure from the outputs, whose types myst-nb must know, to the metadata."""
    from posenc.book.widgets import MIME  # slow to import; link checks don't need it

    for output in cell.get("outputs", []):
        if live := output.get("data", {}).pop(MIME, None):
            cell["metadata"]["figure"] = live


def to_myst(cells):
    """Convert a chapter's cells for myst-nb, one by one."""
    above = None
    for cell in cells:
        # An answer is written in a field of the page.
        if "answer" in cell["metadata"].get("tags", []):
            continue
        caption = CAPTION.match(cell["source"])
        if caption and above and draws(above):
            # The caption becomes an option of the figure, which myst-nb then numbers.
            options = above["metadata"].setdefault("mystnb", {})
            text = caption["text"].strip()
            options["figure"] = {"name": caption["name"], "caption": text}
            continue
        if cell["cell_type"] == "markdown":
            cell["source"] = with_directives(cell["source"])
        keep_live_figure(cell)
        above = cell
        yield cell


def write_myst(app, docname, source):
    """Replace a chapter's source by MyST markup."""
    path = Path(app.env.doc2path(docname))
    if path.suffix == ".ipynb":
        notebook = read_notebook(path)
        cells = [*to_myst(notebook["cells"])]
        source[0] = json.dumps(notebook | {"cells": cells})


def note_anchors(app, doctree):
    """Tell Sphinx of each ``<a id="x"></a>``, and give ids to the cells that assert claims."""
    names = []
    for raw in doctree.findall(nodes.raw):
        names += ANCHOR.findall(raw.astext())
    for cell in doctree.findall(nodes.container):
        # myst-nb passes on the metadata of each cell.
        claims = cell.get("cell_metadata", {}).get("claims", {})
        ids = [f"claim-{claim}" for claim in claims]
        cell["ids"] += ids
        names += ids
    # Sphinx finds a label in small letters; the page's id keeps its capitals.
    labels = app.env.get_domain("std").anonlabels
    labels.update({name.lower(): (app.env.docname, name) for name in names})


class Places(SphinxPostTransform):
    """Resolve links to equations, and to any anchor on another page: MyST knows headings only."""

    default_priority = 8  # before MyST resolves its links

    def run(self):
        equations = self.env.get_domain("math").equations
        anchors = self.env.get_domain("std").anonlabels
        for link in [*self.document.findall(addnodes.pending_xref)]:
            # A link within a page has no id beside its target, and finds it by itself.
            name = link.get("reftargetid") or ""
            place = anchors.get(name.lower())
            if name in equations:
                place = equations[name][0], f"equation-{name}"
            if place:
                shown, page = link[0].deepcopy(), link["refdoc"]
                link.replace_self(make_refnode(self.app.builder, page, *place, shown))
