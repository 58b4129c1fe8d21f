"""The ledger of claims: its tables, and the places in chapters that they lead to.

The directive ``{ledger}`` renders ``book/claims.yml``. A box "In the documents" of a chapter names
each claim that it judges by its id, as code: that is the place the ledger leads to, and it leads to
the row of the ledger. A claim that no box names has its place at the cell that asserts it, the one
whose tag is the id.
"""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import ClassVar

import yaml
from docutils import nodes
from docutils.statemachine import StringList
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective

CLAIM = re.compile(r"S[0-5]-[a-z0-9-]+")
DIRECTIVE = re.compile(r"^```\{ledger\}\n(?::document: (\w+)\n)?```$", re.MULTILINE)
CHOICES = {
    "document": ["S0", "S1", "S2", "S3", "S4", "S5"],
    "verdict": ["holds", "within limits", "fails"],
}


def choices(name: str, values: list[str]) -> str:
    """Radio buttons that show all rows, or those of one document or verdict (see book.css)."""
    buttons = [
        f'<label><input type="radio" name="{name}" value="{value.replace(" ", "-")}"'
        f"{' checked' if value == 'all' else ''}> {value}</label>"
        for value in ["all", *values]
    ]
    return f"<fieldset class='choices'><legend>{name}</legend>{''.join(buttons)}</fieldset>"


def ledger(root: Path) -> list[dict[str, str]]:
    """The rows of ``book/claims.yml``."""
    return list(yaml.safe_load((root / "book" / "claims.yml").read_text(encoding="utf-8")))


def asserting_cells(root: Path) -> dict[str, tuple[str, int]]:
    """For each claim, the chapter and the number of the cell that asserts it."""
    found = {}
    for path in sorted((root / "notebooks").glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        code = [cell for cell in cells if cell["cell_type"] == "code"]
        for number, cell in enumerate(code, 1):
            for tag in filter(CLAIM.fullmatch, cell["metadata"].get("tags", ())):
                found[tag] = path.stem, number
    return found


def as_markdown(text: str, root: Path) -> str:
    """A page with tables in the place of its directives, for readers of text and in JupyterLab."""

    def table(found: re.Match[str]) -> str:
        rows, cells = ledger(root), asserting_cells(root)
        lines = ["| Claim | Says | Verdict | Instead | Shown in |", "|---|---|---|---|---|"]
        for row in rows:
            if not found[1] or (row["id"].startswith(found[1]) and row["verdict"] != "holds"):
                chapter, _ = cells[row["id"]]
                there = f"../notebooks/{chapter}.ipynb#claim-{row['id']}"
                says = [row["id"], row["claim"], row["verdict"], row.get("truth", "")]
                says = [cell.replace("|", r"\|") for cell in says]
                lines.append(f"| {' | '.join(says)} | [chapter {int(chapter[:2])}]({there}) |")
        return "\n".join(lines)

    return DIRECTIVE.sub(table, text)


def write_json(root: Path, site: Path, address: str) -> None:
    """The ledger for programs, beside its page; ``claims.schema.json`` describes it."""
    cells = asserting_cells(root)
    rows = [
        {
            **{key: row[key] for key in ("id", "claim", "verdict", "truth") if key in row},
            "document": row["id"][:2],
            "address": f"{address}notebooks/{cells[row['id']][0]}.html#claim-{row['id']}",
            "cell": cells[row["id"]][1],
        }
        for row in ledger(root)
    ]
    text = json.dumps(
        {"schema": "claims.schema.json", "claims": rows}, indent=1, ensure_ascii=False
    )
    (site / "book" / "claims.json").write_text(text + "\n", encoding="utf-8")
    shutil.copy(root / "book" / "claims.schema.json", site / "book")


class Ledger(SphinxDirective):
    """A table with one row per claim: of all of them, or of one document's mistakes."""

    option_spec: ClassVar = {"document": str}

    def run(self) -> list[nodes.Node]:
        root = Path(self.env.srcdir)
        for path in (root / "book" / "claims.yml", *(root / "notebooks").glob("*.ipynb")):
            self.env.note_dependency(str(path))
        rows = ledger(root)
        self.cells = asserting_cells(root)
        if document := self.options.get("document"):
            body = [
                self.row(row["claim"], row["truth"], self.place(row))
                for row in rows
                if row["id"].startswith(document) and row["verdict"] != "holds"
            ]
            mistakes = self.table(["The document says", "Right is", "Shown in"], body)
            mistakes["classes"].append("mistakes")
            return [mistakes]
        body = []
        for row in rows:
            body.append(self.row(row["verdict"], row["claim"], row["id"][:2], self.place(row)))
            verdict = row["verdict"].replace(" ", "-")
            body[-1]["classes"] += [f"document-{row['id'][:2]}", f"verdict-{verdict}"]
            place(self.env, body[-1], f"row-{row['id']}")
        found = Counter(row["verdict"] for row in rows)
        count = (
            f"Of {found.total()} claims, {found['holds']} hold, {found['within limits']} hold "
            f"within limits, and {found['fails']} fail. Choose a document or a verdict to see its "
            "rows alone."
        )
        fields = "".join(choices(name, values) for name, values in CHOICES.items())
        table = self.table(["Verdict", "Claim", "Document", "Asserted in"], body)
        return [nodes.paragraph("", count), nodes.raw("", fields, format="html"), table]

    def place(self, row: dict[str, str]) -> nodes.Node:
        """A link to where a chapter judges the claim; 02_formula is chapter 2."""
        chapter, _ = self.cells[row["id"]]
        text = nodes.Text(f"chapter {int(chapter.partition('_')[0])}")
        return link(f"claim-{row['id']}", self.env.docname, text)

    def row(self, *cells: str | nodes.Node) -> nodes.row:
        """A table row of texts, which may hold inline markup, and nodes."""
        row = nodes.row()
        for cell in cells:
            entry = nodes.entry()
            if isinstance(cell, str):
                self.state.nested_parse(StringList([cell]), 0, entry)
            else:
                entry += nodes.paragraph("", "", cell)
            row += entry
        return row

    def table(self, columns: list[str], rows: list[nodes.row]) -> nodes.table:
        head, body = nodes.thead("", self.row(*columns)), nodes.tbody("", *rows)
        widths = [nodes.colspec(colwidth=1) for _ in columns]
        return nodes.table(
            "", nodes.tgroup("", *widths, head, body, cols=len(columns)), classes=["ledger"]
        )


def link(target: str, docname: str, *content: nodes.Node, **attributes: object) -> nodes.Node:
    """A link to a place that `place` named, anywhere in the book."""
    options = {"refdomain": "std", "reftype": "ref", "reftarget": target.lower(), "refdoc": docname}
    inner = nodes.inline("", "", *content)
    return addnodes.pending_xref("", inner, refexplicit=True, refwarn=True, **options, **attributes)


def place(env: BuildEnvironment, node: nodes.Element, name: str) -> None:
    """Make a node the place of that name."""
    node["ids"].append(name)
    env.get_domain("std").anonlabels[name.lower()] = env.docname, name


def tie(app: Sphinx, doctree: nodes.document) -> None:
    """Link the ids in the boxes with the ledger, and give the others a place at their cells."""
    named = set()
    for box in doctree.findall(nodes.admonition):
        for code in list(box.findall(nodes.literal)) if "documents" in box["classes"] else ():
            claim = code.astext()
            if CLAIM.fullmatch(claim) and claim not in named:
                named.add(claim)
                there = nodes.inline(classes=["claim"])
                code.replace_self(there)
                there += link(f"row-{claim}", app.env.docname, code)
                place(app.env, there, f"claim-{claim}")
    for cell in doctree.findall(nodes.container):
        for name in cell["classes"]:
            claim = name.removeprefix("tag_")
            if CLAIM.fullmatch(claim) and claim not in named:
                named.add(claim)
                place(app.env, cell, f"claim-{claim}")
