"""The ledger of claims and the errata, rendered from ``book/claims.yml``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import claims
import yaml
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective


def load(path: Path) -> list[dict[str, str]]:
    """The rows of the ledger."""
    rows: list[dict[str, str]] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return rows


def number(chapter: str) -> str:
    """The number of a chapter, as in its file name: 2 for 02_formula."""
    return chapter.partition("_")[0].lstrip("0")


def choices(name: str, values: list[str]) -> str:
    """Radio buttons that show all rows, or those of one document or verdict (see book.css)."""
    buttons = [
        f'<label><input type="radio" name="{name}" value="{value.replace(" ", "-")}"'
        f"{' checked' if value == 'all' else ''}> {value}</label>"
        for value in ["all", *values]
    ]
    return f"<fieldset class='choices'><legend>{name}</legend>{''.join(buttons)}</fieldset>"


class Ledger(SphinxDirective):
    """A table with one row per claim: of all of them, or of one document's mistakes."""

    option_spec: ClassVar = {"document": str}

    def rows(self) -> Iterator[dict[str, str]]:
        path = Path(self.env.srcdir) / "book" / "claims.yml"
        self.env.note_dependency(str(path))
        document = self.options.get("document")
        for row in load(path):
            mistaken = row["verdict"] != "holds"
            if document is None or (mistaken and row["id"].startswith(document)):
                yield row

    def run(self) -> list[nodes.Node]:
        mistakes = "document" in self.options
        columns = ["The document says", "Right is", "Shown in"]
        if not mistakes:
            columns = ["Document", "Claim", "Verdict", "Asserted in"]
        table = nodes.table(classes=["ledger"])
        group = nodes.tgroup(cols=len(columns))
        group += [nodes.colspec(colwidth=1) for _ in columns]
        group += nodes.thead("", self.row(columns))
        body = nodes.tbody()
        for claim in self.rows():
            text = nodes.Text(f"chapter {number(claim['chapter'])}")
            anchor = claims.link(f"claim-{claim['id']}", self.env.docname, text)
            if mistakes:
                body += self.row([claim["claim"], claim["truth"], anchor])
            else:
                cells = [claim["id"][:2], claim["claim"], claim["verdict"], anchor]
                entry = self.row(cells)
                verdict = claim["verdict"].replace(" ", "-")
                entry["classes"] += [f"document-{claim['id'][:2]}", f"verdict-{verdict}"]
                claims.place(self.env, entry, f"row-{claim['id']}")
                body += entry
        group += body
        table += group
        if mistakes:
            return [table]
        fields = choices("document", ["S0", "S1", "S2", "S3", "S4"])
        fields += choices("verdict", ["holds", "within limits", "fails"])
        found = Counter(claim["verdict"] for claim in self.rows())
        count = (
            f"Of {found.total()} claims, {found['holds']} hold, {found['within limits']} hold "
            f"within limits, and {found['fails']} fail. Choose a document or a verdict to see its "
            "rows alone."
        )
        return [nodes.paragraph("", count), nodes.raw("", fields, format="html"), table]

    def row(self, cells: list[Any]) -> nodes.row:
        """A table row of texts and nodes; texts may hold inline markup."""
        row = nodes.row()
        for cell in cells:
            entry = nodes.entry()
            if isinstance(cell, str):
                self.state.nested_parse(StringList([cell]), 0, entry)
            else:
                entry += nodes.paragraph("", "", cell)
            row += entry
        return row
