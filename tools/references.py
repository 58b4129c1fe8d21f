r"""Update the numbers, titles and labels in the book's text, and the list of references.

Run by ``make references``. In a chapter, write ``[](#fig-arcs)``, ``[](03_linearity.ipynb)`` or
``[](../book/references.md#su2021)``, and ``**Figure ?.**``, ``**Table ?.**`` and ``\tag{?}`` for
new ones: this fills in the rest, and updates whatever has moved. It prints each line that it
changed, and fails if a link leads to an anchor that doesn't exist.
"""

from __future__ import annotations

import difflib
import json
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "book" / "_ext"))

from sphinx_posenc.cross_references import REFERENCES, Book, listing
from sphinx_posenc.myst_markup import read_notebook


def rewrite(book: Book, page: str) -> bool:
    """Update a page in place; return whether it changed."""
    path = book.root / page
    before = path.read_text(encoding="utf-8")
    if page.endswith(".md"):
        after = book.restate(page, before)
        if page == REFERENCES:
            head, _, _ = after.partition("\n- <a id=")
            after = (
                f"{head.rstrip()}\n\n{listing(book.root / 'book' / 'references.bib')}\n"
            )
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
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), page, page, "", "", 0, ""
    )
    print(*(line.strip() for line in lines if line[:2] != "@@"), sep="\n")
    return True


if __name__ == "__main__":
    book, only = Book(ROOT), sys.argv[1:]
    pages = [page for page in book.titles if not only or page in only]
    changed = [page for page in pages if rewrite(book, page)]
    book = Book(ROOT) if changed else book
    dead = [problem for page in pages for problem in book.dead_links(page)]
    if dead:
        sys.exit("\n".join(dead))
    print(
        "All references are up to date."
        if not changed
        else f"Updated {len(changed)} pages."
    )
