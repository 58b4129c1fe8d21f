"""Notebooks to download, which stand alone.

Links to other pages lead to the published site or, if there is none, become plain text. If GitHub
builds the site, the first code cell installs the package from that commit, unless it is installed.
"""

import json
import os
import posixpath
import re

from nbformat.v4 import new_code_cell

from .myst_markup import read_notebook

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


def resolve(text, site):
    """Make the links of a chapter's Markdown absolute."""

    def link(match):
        words, path, anchor = match.groups(default="")
        page = posixpath.normpath(f"notebooks/{path}")
        return f"[{words}]({site}{page}.html{anchor})" if site else words

    return LINK.sub(link, text)


def preparation(repository, commit):
    """A cell that gets the book, with its data and modules, unless it is installed."""
    source = INSTALL.format(repository=repository, commit=commit)
    return new_code_cell(source, id="install")


def write(app):
    """Overwrite Sphinx's copies of the notebooks."""
    repository = app.config.html_context["repository"]
    commit = os.environ.get("GITHUB_SHA")
    # Sphinx copies the sources of pages; here they come without the build's changes.
    for path in (app.outdir / "_sources" / "notebooks").glob("*.ipynb"):
        notebook = read_notebook(app.srcdir / "notebooks" / path.name)
        cells = notebook["cells"]
        for cell in cells:
            if cell["cell_type"] == "markdown":
                cell["source"] = resolve(cell["source"], app.config.html_baseurl)
        # Elsewhere nobody could say from where to install it.
        if repository and commit:
            first = [cell["cell_type"] for cell in cells].index("code")
            cells.insert(first, preparation(repository, commit))
        text = json.dumps(notebook, indent=1, ensure_ascii=False)
        path.write_text(text + "\n", encoding="utf-8")
