"""The ledger of claims, ``book/claims.yml``: its tables, and its ties to boxes and cells.

A ``{ledger}`` in a page is a table of all claims; with ``:document: S3``, of that document's
mistakes. Ids in boxes lead to rows of the ledger, and these to the cells that assert the claims.
"""

import difflib
import re
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import yaml
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.errors import ExtensionError

from .folds import Fold
from .myst_markup import read_notebook

CLAIM = re.compile(r"S[0-5]-[a-z0-9-]+")
DIRECTIVE = re.compile(r"^```\{ledger\}\n(?::document: (\w+)\n)?```$", re.MULTILINE)
ALL = "| Verdict | Claim | Document | Asserted in |\n|---|---|---|---|\n"
MISTAKES = "| The document says | Right is | Shown in |\n|---|---|---|\n"
FINDER = "<p><label>Find a {}: <input type='search' class='finds'></label> <output></output></p>"
COUNT = (
    "Of {} claims, {} hold, {} hold within limits, and {} fail. Type a document, a verdict or "
    "other words, such as “S3 fails”, to see their rows alone."
)

parse = cache(yaml.safe_load)


def nearest(claim: str, known: Iterable[str]) -> str:
    """Name the known claim whose id is most like a wrong one."""
    near = "".join(difflib.get_close_matches(claim, known, 1, 0))
    return f"{claim} (did you mean {near}?)"


def ledger(root: Path) -> list[dict[str, str]]:
    """The rows of ``book/claims.yml``."""
    return list(parse((root / "book" / "claims.yml").read_text(encoding="utf-8")))


@cache
def judges(root: Path) -> dict[str, str]:
    """The chapter that asserts each claim: the metadata of a cell has its verdict."""
    chapters = {}
    for path in sorted((root / "notebooks").glob("*.ipynb")):
        for cell in read_notebook(path)["cells"]:
            for claim in cell["metadata"].get("claims", {}):
                chapters[claim] = path.stem
    return chapters


def link_to_cell(claim: str, root: Path) -> str:
    """A link in Markdown to the cell that asserts a claim."""
    chapters = judges(root)
    if claim not in chapters:
        raise ExtensionError(f"claims.yml: no cell asserts {nearest(claim, chapters)}")
    chapter = chapters[claim]
    number = int(chapter[:2])  # 02_formula is chapter 2
    return f"[chapter {number}](../notebooks/{chapter}.ipynb#claim-{claim})"


def table(document: str | None, root: Path) -> str:
    """A table in Markdown: of all claims, or of one document's mistakes."""
    lines = []
    for row in ledger(root):
        link = link_to_cell(row["id"], root)
        if document is None:
            cells = [row["verdict"], row["claim"], row["id"][:2], link]
        elif row["id"].startswith(document) and row["verdict"] != "holds":
            cells = [row["claim"], row["truth"], link]
        else:
            continue
        escaped = (cell.replace("|", r"\|") for cell in cells)
        lines.append(f"| {' | '.join(escaped)} |")
    return (MISTAKES if document else ALL) + "\n".join(lines)


def write_tables(app: Sphinx, docname: str, source: list[str]) -> None:
    """Replace each ``{ledger}`` in a page's source by its table."""
    root = Path(app.srcdir)
    source[0] = DIRECTIVE.sub(lambda match: table(match[1], root), source[0])


def place(env: BuildEnvironment, node: nodes.Element, name: str) -> None:
    """Make a node a link target of that name."""
    # Sphinx finds it by the label, the page by the id, which keeps its capitals.
    node["ids"].append(name)
    env.get_domain("std").anonlabels[name.lower()] = env.docname, name


def finish_tables(app: Sphinx, doctree: nodes.document) -> None:
    """Add a search field to the ledger, link targets to its rows, and CSS classes."""
    # Markdown's tables have no names: the pages are known, and the ledger is the last one of its.
    tables = [*doctree.findall(nodes.table)]
    if app.env.docname == "book/errata":
        for mistakes in tables:
            mistakes["classes"] = ["ledger", "mistakes"]
    if app.env.docname != "book/claims":
        return
    rows = ledger(Path(app.srcdir))
    shown = tables[-1]
    shown["classes"] = ["ledger"]
    # The first line is the head. Each row can be linked to, and is colored by its verdict.
    for row, line in zip(rows, [*shown.findall(nodes.row)][1:], strict=True):
        line["classes"].append(f"verdict-{row['verdict'].replace(' ', '-')}")
        place(app.env, line, f"row-{row['id']}")
    verdicts = Counter(row["verdict"] for row in rows)
    counts = (verdicts[name] for name in ("holds", "within limits", "fails"))
    above = nodes.paragraph("", COUNT.format(len(rows), *counts))
    finder = nodes.raw("", FINDER.format("claim"), format="html")
    index = shown.parent.index(shown)
    shown.parent.insert(index, [above, finder])


def tie(app: Sphinx, doctree: nodes.document) -> None:
    """Link ids in boxes to their rows of the ledger, which lead to the cell that asserts them."""
    # myst-nb passes on the metadata of each cell.
    for cell in doctree.findall(nodes.container):
        for claim in cell.get("cell_metadata", {}).get("claims", {}):
            place(app.env, cell, f"claim-{claim}")
    for box in doctree.findall(Fold):
        for code in [*box.findall(nodes.literal)]:
            claim = code.astext()
            if CLAIM.fullmatch(claim):
                text = nodes.inline("", "", code.deepcopy())
                row = {"reftype": "ref", "reftarget": f"row-{claim}".lower()}
                row |= {"refdomain": "std", "refdoc": app.env.docname}
                link = addnodes.pending_xref("", text, refexplicit=True, **row)
                code.replace_self(nodes.inline("", "", link, classes=["claim"]))
