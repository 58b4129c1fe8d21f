r"""Update the numbers, titles and labels in the book's text, and the list of references.

Run by ``make references``. In a chapter, write ``[](#fig-arcs)``, ``[](03_linearity.ipynb)`` or
``[](../book/references.md#su2021)``, and ``**Figure ?.**``, ``**Table ?.**`` and ``\tag{?}`` for
new ones: this fills in the rest, and updates whatever has moved.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "book" / "_ext"))

from sphinx_posenc.citations import listing
from sphinx_posenc.cross_references import REFERENCES, Book
from sphinx_posenc.myst_markup import read_notebook


def rewrite(book: Book, page: str) -> bool:
    """Update a page in place; return whether it changed."""
    path = book.root / page
    before = path.read_text(encoding="utf-8")
    if page.endswith(".md"):
        after = book.restate(page, before)
        if page == REFERENCES:
            head, _, _ = after.partition("\n- <a id=")
            after = f"{head.rstrip()}\n\n{listing(book.root / 'book' / 'references.bib')}\n"
    else:
        notebook = read_notebook(path)
        for cell in notebook["cells"]:
            is_text = cell["cell_type"] == "markdown"
            source = book.restate(page, cell["source"]) if is_text else cell["source"]
            cell["source"] = source.splitlines(keepends=True)
        after = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
    if after == before:
        return False
    path.write_text(after, encoding="utf-8")
    return True


if __name__ == "__main__":
    book, only = Book(ROOT), sys.argv[1:]
    changed = [page for page in book.titles if (not only or page in only) and rewrite(book, page)]
    print("\n".join(changed) or "All references are up to date.")
