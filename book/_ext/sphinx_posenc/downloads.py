"""Notebooks to download, which stand alone.

Links to other pages lead to the published site or, if there is none, become
plain text. If GitHub builds the site, the first code cell installs the package from that commit,
unless it is installed.
"""

import json
import os
import re

from sphinx.application import Sphinx

from .cross_references import LINK, Book, book_of
from .myst_markup import Cell, read_notebook


def resolve(text: str, here: str, site: str, book: Book) -> str:
    """Make a cell's Markdown portable: no relative links."""

    def link(found: re.Match[str]) -> str:
        if found["code"] or not found["path"]:
            return found[0]
        page = book.path(here, found["path"])
        if not site:
            return found["text"]
        address = re.sub(r"\.(ipynb|md)$", ".html", page)
        anchor = f"#{found['anchor']}" if found["anchor"] else ""
        return f"[{found['text']}]({site.rstrip('/')}/{address}{anchor})"

    return LINK.sub(link, text)


def preparation(repository: str, commit: str) -> Cell:
    """A cell that gets the book, with its data and modules, unless it is installed."""
    lines = [
        "# Get what this notebook needs, unless the book is installed.",
        "import importlib.util",
        'if importlib.util.find_spec("posenc") is None:',
        f"    !git clone --quiet --filter=blob:none --no-checkout {repository} book",
        f"    !git -C book checkout --quiet {commit}",
        '    %pip install --quiet "./book[chapters]" '
        "--extra-index-url https://download.pytorch.org/whl/cpu",
        "    %cd book/notebooks",
    ]
    cell = {
        "cell_type": "code",
        "execution_count": None,
        "id": "install",
        "metadata": {},
    }
    return cell | {"outputs": [], "source": "\n".join(lines)}


def write(app: Sphinx) -> None:
    """Overwrite Sphinx's copies of the notebooks."""
    book, site, commit = (
        book_of(app),
        app.config.html_baseurl,
        os.environ.get("GITHUB_SHA"),
    )
    repository = app.config.repository
    for page in book.places:
        notebook = read_notebook(book.root / page)
        cells: list[Cell] = notebook["cells"]
        for cell in cells:
            if cell["cell_type"] == "markdown":
                cell["source"] = resolve(cell["source"], page, site, book)
            cell["metadata"].pop("mystnb", None)
        if repository and commit:
            first = [cell["cell_type"] for cell in cells].index("code")
            cells.insert(first, preparation(repository, commit))
        path = app.outdir / "_sources" / page
        path.write_text(
            json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", "utf-8"
        )
