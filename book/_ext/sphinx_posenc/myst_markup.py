r"""Converts chapters from portable Markdown to MyST.

JupyterLab, VS Code and GitHub render links and HTML anchors, but neither roles nor captions in cell
metadata. So chapters write in plain Markdown what MyST has markup for:

- a figure's caption is the cell below it, ``<a id="fig-x"></a>**Figure 7.1.** What it shows.``;
- a table's is the paragraph above it, ``<a id="tab-x"></a>**Table 7.1.** What it holds.``;
- an equation has its number as a tag, ``\tag{7.2}``, and ``<a id="eq-x"></a>`` on a line above;
- an exercise begins a paragraph, ``<a id="ex-x"></a>**Exercise 7.1. By hand.** What to do.``;
- the id of a claim in code is a link to its row of the ledger, ```S3-x```;
- what opens on a click is ``<details>`` (see ``folds.py``).

`to_myst` converts all but exercises and folds for myst-nb, and `Anchors` lets links find them.
"""

import re

import nbformat
from docutils import nodes
from sphinx.transforms import SphinxTransform

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


def with_caption(table):
    """A table as MyST writes it: its caption in one line."""
    caption = " ".join(table["text"].split())
    return f":::{{table}} {caption}\n:name: {table['name']}\n\n{table['rows']}\n:::"


def with_directives(text):
    """Mark equations and tables as MyST does, and link ids of claims."""
    text = EQUATION.sub(r"\g<before>\n$$\n\g<text>\n$$ (\g<name>)", text)
    text = TABLE.sub(with_caption, text)
    return re.sub(f"`({CLAIM.pattern})`", r"[`\1`](../book/claims.md#row-\1)", text)


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
        if caption := CAPTION.match(cell["source"]):
            # It becomes an option of the figure above it, which myst-nb then numbers.
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
    if app.env.doc2path(docname).endswith(".ipynb"):
        notebook = nbformat.reads(source[0], as_version=4)
        numbers = {cell["id"]: n for n, cell in enumerate(notebook.cells, 1)}
        notebook.cells = [*to_myst(notebook.cells)]
        # Where myst-nb says that a warning's cell is: as counted in the file, with those left out.
        lines = [10_000 * numbers[cell["id"]] for cell in notebook.cells]
        notebook.metadata["source_map"] = lines
        source[0] = nbformat.writes(notebook)


class Anchors(SphinxTransform):
    """Let links find anchors, figures, equations, and cells that assert claims.

    MyST looks for a place in its table of the page's headings, so they are added to it.
    """

    default_priority = 870  # before MyST resolves links within the page, at 879

    def apply(self):
        places = dict(self.document.nameids)
        for raw in self.document.findall(nodes.raw):
            for name in ANCHOR.findall(raw.astext()):
                places[name] = name
        for equation in self.document.findall(nodes.math_block):
            name = equation.get("label")
            places[name] = f"equation-{name}"
        for cell in self.document.findall(nodes.container):
            # myst-nb passes on the metadata of each cell.
            for claim in cell.get("cell_metadata", {}).get("claims", {}):
                cell["ids"].append(f"claim-{claim}")
                places[f"claim-{claim}"] = f"claim-{claim}"
        for name, place in places.items():
            # A name's line, id, and text for a link that has none.
            self.document.myst_slugs.setdefault(name, (0, place, ""))
