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
from sphinx.errors import ExtensionError

from .folds import Fold
from .myst_markup import read_notebook

CLAIM = re.compile(r"S[0-5]-[a-z0-9-]+")
DIRECTIVE = re.compile(r"^```\{ledger\}\n(?::document: (\w+)\n)?```$", re.MULTILINE)
SAID = {"holds": "hold", "within limits": "within limits", "fails": "fail"}
FINDER = "<p><label>Find a {}: <input type='search' class='finds'></label> <output></output></p>"
ALL = """\
Of {} claims, {} hold, {} hold within limits, and {} fail. Type a document, a verdict or other
words, such as “S3 fails”, to see their rows alone.

{}

{}

:::{{table}}
:class: ledger

| Verdict | Claim | Document | Asserted in |
|---|---|---|---|
{}
:::"""
MISTAKES = """\
:::{{table}}
:class: ledger mistakes

| The document says | Right is | Shown in |
|---|---|---|
{}
:::"""

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


def as_row(*cells: str) -> str:
    """A row of a table in Markdown."""
    escaped = (cell.replace("|", r"\|") for cell in cells)
    return f"| {' | '.join(escaped)} |"


def share(verdict: tuple[str, str], count: int) -> str:
    """A part of a bar, as long as there are claims with a verdict, which is named and said."""
    name, said = verdict
    kind = nodes.make_id(name)
    return (
        f"<span class='verdict-{kind}' style='flex-grow: {count}'>{count} {said}</span>"
    )


def all_claims(root: Path) -> str:
    """A table of all claims, with a field to search it."""
    rows = ledger(root)
    lines = []
    for row in rows:
        verdict = f'<a id="row-{row["id"]}"></a>{row["verdict"]}'
        document = row["id"].partition("-")[0]
        lines.append(
            as_row(verdict, row["claim"], document, link_to_cell(row["id"], root))
        )
    verdicts = Counter(row["verdict"] for row in rows)
    counts = [verdicts[name] for name in SAID]
    shares = "".join(map(share, SAID.items(), counts))
    tally = f"<p class='tally' aria-hidden='true'>{shares}</p>"
    finder = FINDER.format("claim")
    return ALL.format(len(rows), *counts, tally, finder, "\n".join(lines))


def mistakes(document: str, root: Path) -> str:
    """A table of one document's claims that don't hold."""
    lines = [
        as_row(row["claim"], row["truth"], link_to_cell(row["id"], root))
        for row in ledger(root)
        if row["id"].startswith(document) and row["verdict"] != "holds"
    ]
    return MISTAKES.format("\n".join(lines))


def write_tables(app: Sphinx, docname: str, source: list[str]) -> None:
    """Replace each ``{ledger}`` in a page's source by its table."""
    root = Path(app.srcdir)
    source[0] = DIRECTIVE.sub(
        lambda asked: mistakes(asked[1], root) if asked[1] else all_claims(root),
        source[0],
    )


def color_rows(app: Sphinx, doctree: nodes.document) -> None:
    """Give each row of the ledger a class for its verdict."""
    for table in doctree.findall(nodes.table):
        if "ledger" in table["classes"] and "mistakes" not in table["classes"]:
            _, *rows = table.findall(nodes.row)
            for row in rows:
                row["classes"].append(f"verdict-{nodes.make_id(row[0].astext())}")


def tie(app: Sphinx, doctree: nodes.document) -> None:
    """Link ids in boxes to their rows of the ledger, which lead to the cell that asserts them."""
    labels = app.env.get_domain("std").anonlabels
    # myst-nb passes on the metadata of each cell.
    for cell in doctree.findall(nodes.container):
        for claim in cell.get("cell_metadata", {}).get("claims", {}):
            # Sphinx finds it by the label, the page by the id, which keeps its capitals.
            cell["ids"].append(f"claim-{claim}")
            labels[f"claim-{claim}".lower()] = app.env.docname, f"claim-{claim}"
    for box in doctree.findall(Fold):
        for code in [*box.findall(nodes.literal)]:
            if CLAIM.fullmatch(claim := code.astext()):
                link = addnodes.pending_xref(
                    "",
                    nodes.inline("", "", code.deepcopy()),
                    refdomain="std",
                    reftype="ref",
                    reftarget=f"row-{claim}".lower(),
                    refdoc=app.env.docname,
                    refexplicit=True,
                )
                code.replace_self(nodes.inline("", "", link, classes=["claim"]))
