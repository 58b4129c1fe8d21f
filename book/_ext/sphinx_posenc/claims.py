"""The ledger of claims, ``book/claims.yml``, and the chapters that judge them.

`templates` writes the ledger's pages, and `myst_markup` ties ids in chapters to its rows.
"""

from functools import cache

import nbformat
import yaml


@cache
def ledger(root):
    """The rows of ``book/claims.yml``, as mappings."""
    return yaml.safe_load((root / "book" / "claims.yml").read_text(encoding="utf-8"))


@cache
def judges(root):
    """The chapter that asserts each claim: the metadata of a cell has its verdict."""
    chapters = {}
    for path in sorted((root / "notebooks").glob("*.ipynb")):
        for cell in nbformat.read(path, as_version=4).cells:
            for claim in cell.metadata.get("claims", {}):
                chapters[claim] = path.stem
    return chapters
