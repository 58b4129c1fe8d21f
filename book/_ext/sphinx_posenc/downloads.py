"""Notebooks to download, which stand alone.

Links to other pages lead to the published site or, if there is none, become plain text. If GitHub
builds the site, the first code cell installs the package from that commit, unless it is installed.
"""

import json
import os
import posixpath
import re
from pathlib import Path

from sphinx.application import Sphinx

from .myst_markup import Cell, read_notebook

# A link to a file of the book; links within a chapter begin with # and stay.
LINK = re.compile(r"(?<!!)\[([^\[\]]*)\]\(([\w./-]+)\.(?:ipynb|md)(#[\w-]+)?\)")
INSTALL = """\
# Get what this notebook needs, unless the book is installed.
import importlib.util
if importlib.util.find_spec("posenc") is None:
    !git clone --quiet --filter=blob:none --no-checkout {repository} book
    !git -C book checkout --quiet {commit}
    %pip install --quiet "./book[chapters]" \
--extra-index-url https://download.pytorch.org/whl/cpu
    %cd book/notebooks"""


def resolve(text: str, site: str) -> str:
    """Make the links of a chapter's Markdown absolute."""

    def link(match: re.Match[str]) -> str:
        words, path, anchor = match.groups(default="")
        page = posixpath.normpath(f"notebooks/{path}")
        return f"[{words}]({site}{page}.html{anchor})" if site else words

    return LINK.sub(link, text)


def preparation(repository: str, commit: str) -> Cell:
    """A cell that gets the book, with its data and modules, unless it is installed."""
    source = INSTALL.format(repository=repository, commit=commit)
    cell: Cell = {"cell_type": "code", "execution_count": None, "id": "install"}
    return cell | {"metadata": {}, "outputs": [], "source": source}


def write(app: Sphinx) -> None:
    """Overwrite Sphinx's copies of the notebooks."""
    repository, commit = app.config.repository, os.environ.get("GITHUB_SHA")
    # Sphinx copies the sources of pages; here they come without the build's changes.
    for path in (app.outdir / "_sources" / "notebooks").glob("*.ipynb"):
        notebook = read_notebook(Path(app.srcdir, "notebooks", path.name))
        cells: list[Cell] = notebook["cells"]
        for cell in cells:
            if cell["cell_type"] == "markdown":
                cell["source"] = resolve(cell["source"], app.config.html_baseurl)
        # Elsewhere nobody could say from where to install it.
        if repository and commit:
            first = [cell["cell_type"] for cell in cells].index("code")
            cells.insert(first, preparation(repository, commit))
        text = json.dumps(notebook, indent=1, ensure_ascii=False)
        path.write_text(text + "\n", encoding="utf-8")
