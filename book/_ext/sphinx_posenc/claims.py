"""The ledger of claims: its tables, and the links between its rows and the chapters.

The directive ``{ledger}`` shows ``book/claims.yml`` as a table, on the site and in JupyterLab.
A row, and the id in the chapter's box "In the documents" that judges the claim, link to each other.
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
FINDER = "<p><label>Find a {}: <input type='search' class='finds'></label> <output></output></p>"


parse = cache(yaml.safe_load)


def nearest(claim: str, known: Iterable[str]) -> str:
    """Name the known claim whose id is most like a wrong one."""
    return f"{claim} (did you mean {''.join(difflib.get_close_matches(claim, known, 1, 0))}?)"


def ledger(root: Path) -> list[dict[str, str]]:
    """The rows of ``book/claims.yml``."""
    return list(parse((root / "book" / "claims.yml").read_text(encoding="utf-8")))


def judges(root: Path) -> dict[str, str]:
    """The chapter that asserts each claim: the metadata of a cell has its verdict."""
    return {
        claim: path.stem
        for path in sorted((root / "notebooks").glob("*.ipynb"))
        for cell in read_notebook(path)["cells"]
        for claim in cell["metadata"].get("claims", {})
    }


def as_markdown(text: str, root: Path) -> str:
    """Replace each ``{ledger}`` by a table: all claims, or one document's mistakes."""

    def table(found: re.Match[str]) -> str:
        chapters, document = judges(root), found[1]
        lines = [["Verdict", "Claim", "Document", "Asserted in"], ["---"] * 4]
        if document:
            lines = [["The document says", "Right is", "Shown in"], ["---"] * 3]
        for row in ledger(root):
            if row["id"] not in chapters:
                wrong = nearest(row["id"], chapters)
                raise ExtensionError(f"book/claims.yml: no cell asserts {wrong}")
            chapter = chapters[row["id"]]
            there = f"../notebooks/{chapter}.ipynb#claim-{row['id']}"
            place = f"[chapter {int(chapter[:2])}]({there})"  # 02_formula is chapter 2
            if not document:
                lines.append([row["verdict"], row["claim"], row["id"][:2], place])
            elif row["id"].startswith(document) and row["verdict"] != "holds":
                lines.append([row["claim"], row["truth"], place])
        escaped = (
            " | ".join(cell.replace("|", r"\|") for cell in line) for line in lines
        )
        return "\n".join(f"| {line} |" for line in escaped)

    return DIRECTIVE.sub(table, text)


def place(env: BuildEnvironment, node: nodes.Element, name: str) -> None:
    """Make a node a link target of that name."""
    node["ids"].append(name)
    env.get_domain("std").anonlabels[name.lower()] = env.docname, name


def finish_tables(app: Sphinx, doctree: nodes.document) -> None:
    """Add link targets, a search field and CSS classes to the tables of the ledger."""
    if app.env.docname not in ("book/claims", "book/errata"):
        return
    for table in doctree.findall(nodes.table):
        table["classes"] = ["ledger", "mistakes"][
            : 1 + (app.env.docname == "book/errata")
        ]
    if app.env.docname == "book/claims":
        rows = ledger(Path(app.srcdir))
        for row, shown in zip(rows, list(table.findall(nodes.row))[1:], strict=True):
            shown["classes"].append(f"verdict-{row['verdict'].replace(' ', '-')}")
            place(app.env, shown, f"row-{row['id']}")
        found = Counter(row["verdict"] for row in rows)
        count = (
            f"Of {found.total()} claims, {found['holds']} hold, {found['within limits']} hold "
            f"within limits, and {found['fails']} fail. Type a document, a verdict or other words, "
            "such as “S3 fails”, to see their rows alone."
        )
        above = [
            nodes.paragraph("", count),
            nodes.raw("", FINDER.format("claim"), format="html"),
        ]
        table.parent.insert(table.parent.index(table), above)


def tie(app: Sphinx, doctree: nodes.document) -> None:
    """Link ids in boxes to their rows of the ledger, which lead to the cell that asserts them."""
    for cell in doctree.findall(nodes.container):
        for claim in cell.get("cell_metadata", {}).get("claims", {}):
            place(app.env, cell, f"claim-{claim}")
    boxes = [box for box in doctree.findall(Fold) if "documents" in box["classes"]]
    for code in [code for box in boxes for code in box.findall(nodes.literal)]:
        if CLAIM.fullmatch(claim := code.astext()):
            there = nodes.inline(classes=["claim"])
            code.replace_self(there)
            options = {"refdomain": "std", "reftype": "ref", "refdoc": app.env.docname}
            options |= {"reftarget": f"row-{claim}".lower(), "refexplicit": True}
            text = nodes.inline("", "", code)
            there += addnodes.pending_xref("", text, refwarn=True, **options)
