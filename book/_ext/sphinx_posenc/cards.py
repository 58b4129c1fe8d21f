"""The chapters on the first page, as cards with their first pictures.

The tables in ``index.md``, whose columns are a number and a link with a sentence, are the source.
"""

from pathlib import PurePosixPath

from docutils import nodes
from sphinx.application import Sphinx


def card(app: Sphinx, row: nodes.Element) -> nodes.Element:
    """A row of the table as a card."""
    number, said = row[0].astext(), row[1][0]
    link = next(said.findall(nodes.reference))
    page = str(PurePosixPath(link["refuri"]).with_suffix(""))
    said.insert(0, nodes.inline("", f"{number} ", classes=["number"]))
    pictures = [*app.env.get_doctree(page).findall(nodes.image)]
    first = [nodes.image(**each.attributes) for each in pictures[:1]]
    return nodes.container("", *first, said, classes=["chapter-card"])


def deal(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Replace the tables of chapters on the first page by cards."""
    for table in (
        [*doctree.findall(nodes.table)] if docname == app.config.root_doc else []
    ):
        head, *rows = table.findall(nodes.row)
        if head[0].astext() == "No.":
            part = nodes.paragraph("", head[1].astext(), classes=["part"])
            cards = [card(app, row) for row in rows]
            table.parent.replace(
                table, [part, nodes.container("", *cards, classes=["cards"])]
            )
