"""Pages whose directives only the site knows, as JupyterLab is to show them: in Markdown alone.

The ledger becomes tables, the glossary a list of definitions, and the page of the package says how
to ask for its documentation. What is shown can't be saved over its source: it is read-only. And
the book's own notebooks are trusted, however they change: JupyterLab shows no SVG of others.
"""

import re
import sys
from pathlib import Path

from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager

sys.path.append(str(Path(__file__).parents[2] / "book" / "_ext"))
from sphinx_posenc.claims import as_markdown

MODULE = re.compile(r"(?ms)^```\{eval-rst\}\n\.\. automodule:: ([\w.]+)\n.*?^```$")
TERM = re.compile(r"^(\S[^\n]*)\n  (?=\S)", re.MULTILINE)
BOXES = re.compile(
    r"^:{4,}(\{container\}.*)?\n", re.MULTILINE
)  # of cells, for their style
GLOSSARY = re.compile(r"(?<=^:::\{glossary\}\n).*?(?=^:::$)", re.MULTILINE | re.DOTALL)


def resolve(text, root):
    """The text of a page without the site's own directives."""
    text = BOXES.sub("", as_markdown(text, root))
    text = MODULE.sub(r"In a cell, `import \1; help(\1)` shows all that it has.", text)
    return GLOSSARY.sub(lambda found: TERM.sub(r"\1\n: ", found[0]), text)


class Pages(AsyncLargeFileManager):
    """Files as they are, except for those pages."""

    def mark_trusted_cells(self, nb, path=""):
        if path.startswith("notebooks/"):
            self.notary.mark_cells(nb, True)
        else:
            super().mark_trusted_cells(nb, path)

    async def get(self, path, content=True, *args, **options):
        model = await super().get(path, content, *args, **options)
        if content and model["type"] == "file" and path.endswith(".md"):
            shown = resolve(model["content"], Path(self.root_dir))
            if shown != model["content"]:
                model |= {"content": shown, "writable": False}
        return model
