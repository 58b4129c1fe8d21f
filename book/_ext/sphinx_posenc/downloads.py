"""Notebooks to download, which stand alone.

Links to other pages lead to the published site or, if there is none, become plain text. If GitHub
builds the site, the first code cell installs the package from that commit, unless it is installed.
"""

import os
import posixpath
import re

import nbformat

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


def write(app):
    """Overwrite Sphinx's copies of the notebooks."""
    repository = app.config.html_context["repository"]
    commit = os.environ.get("GITHUB_SHA")
    # Sphinx copies the sources of pages; here they come without the build's changes.
    for path in (app.outdir / "_sources" / "notebooks").glob("*.ipynb"):
        notebook = nbformat.read(app.srcdir / "notebooks" / path.name, as_version=4)
        for cell in notebook.cells:
            if cell.cell_type == "markdown":
                cell.source = resolve(cell.source, app.config.html_baseurl)
        # Elsewhere nobody could say from where to install it.
        if repository and commit:
            source = INSTALL.format(repository=repository, commit=commit)
            preparation = nbformat.v4.new_code_cell(source, id="install")
            first = [cell.cell_type for cell in notebook.cells].index("code")
            notebook.cells.insert(first, preparation)
        nbformat.write(notebook, path)
