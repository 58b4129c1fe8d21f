"""Cells that a reader runs in the page: what Python needs there, and which cells can't run.

``book/python`` holds it: ``tools/pyodide.py`` fetches Pyodide and the packages into a folder of its
own there, and without that folder the book has no buttons. All of it is copied to one folder of the
site, whose name tells its content from any other, so that a browser may keep it for good. A page
names the folder, and nothing is loaded from it before a reader presses Run.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
import shutil
import symtable
import zipfile
from collections.abc import Container, Iterable, Iterator
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

from absent import absent_names, is_setting, without_absent
from docutils import nodes
from rjsmin import jsmin
from sphinx.application import Sphinx

from posenc import widgets

ROOT = Path(__file__).parents[2]
OWN = ROOT / "book" / "python"
PYODIDE = OWN / "pyodide"
OFFLINE = "offline.js"  # at the root of the site: it serves all pages below it
OWN_PAGE = "book/try"
SHARED = [ROOT / "book" / "_ext" / name for name in ("absent.py", "figures.py")]  # with the page
NO_TIME = (1980, 1, 1, 0, 0, 0)


# ---------------------------------------------------------------- cells


def bound_and_read(node: ast.AST) -> tuple[set[str], set[str]]:
    """The names that a statement binds, and the ones that it reads from elsewhere, also later."""
    top = symtable.symtable(ast.unparse(node), "a statement", "exec")
    bound = {s.get_name() for s in top.get_symbols() if s.is_assigned() or s.is_imported()}
    read = {s.get_name() for s in top.get_symbols() if s.is_referenced()}
    inner = top.get_children()
    while inner:
        table = inner.pop()
        inner += table.get_children()
        read |= {s.get_name() for s in table.get_symbols() if s.is_global()}
    if not isinstance(node, ast.Assign | ast.AugAssign | ast.Expr):
        read -= bound  # a loop binds them before it reads them
    return bound, read


def items_put(tree: ast.AST) -> set[tuple[str, str]]:
    """What a cell puts into a dict: the dict's name, and the key as it is written."""
    put = set()
    for node in ast.walk(tree):
        match node:
            case ast.Subscript(ast.Name(name), ast.Constant(str(key)), ast.Store()):
                put.add((name, key))
    return put


def asks_for(tree: ast.AST, items: set[tuple[str, str]]) -> bool:
    """Whether a cell names a key of these, or reads a dict that misses one of them as a whole."""
    nodes = list(ast.walk(tree))
    of_items = [n for n in nodes if isinstance(n, ast.Subscript)]
    known = {id(n.value) for n in of_items}
    known |= {id(n.slice) for n in of_items if isinstance(n.ctx, ast.Store)}
    others = [n for n in nodes if id(n) not in known]
    named = {n.value for n in others if isinstance(n, ast.Constant)}
    whole = {n.id for n in others if isinstance(n, ast.Name)}
    return any(key in named or name in whole for name, key in items)


def needing_torch(sources: Iterable[str], tagged: Container[int] = ()) -> Iterator[bool]:
    """For each cell of a chapter, whether it needs torch, or what a cell made that needs it.

    A cell that merely imports torch beside other things doesn't: in the page, ``kernel.py`` leaves
    that import out, and what is set for torch. What a cell without a button would put into a
    dict is missing there: what asks for it, or for all of the dict, needs torch, too. Where none of
    this tells, as with a dict that a function fills, a cell is tagged `needs-torch`.
    """
    absent: set[str] = set()
    missing: set[tuple[str, str]] = set()
    for number, source in enumerate(sources):
        inner, bound, read = False, set[str](), set[str]()
        tree = ast.parse(source)
        for statement in tree.body:
            absent |= absent_names(statement).keys()
            node = without_absent(statement)
            if node and not is_setting(node):
                binds, reads = bound_and_read(node)
                inner |= any(map(absent_names, ast.walk(node)))
                read |= reads - bound
                bound |= binds
        executes = "exec" in read and re.search(r"\btorch\.", source)
        needs = bool(read & absent or executes or inner or asks_for(tree, missing))
        needs = needs or number in tagged
        absent = absent | bound if needs else absent - bound
        missing = missing | items_put(tree) if needs else missing - items_put(tree)
        yield needs


def mark_cells(app: Sphinx, doctree: nodes.document) -> None:
    """Mark the cells that need torch, which the page doesn't have."""
    cells = [c for c in doctree.findall(nodes.container) if c.get("nb_element") == "cell_code"]
    sources = [next(cell.findall(nodes.literal_block)).astext() for cell in cells]
    tagged = [n for n, cell in enumerate(cells) if "tag_needs-torch" in cell["classes"]]
    for cell, needs in zip(cells, needing_torch(sources, tagged), strict=True):
        if needs:
            cell["classes"].append("needs-torch")
    for box in doctree.findall(nodes.container):  # docutils writes classes with hyphens
        box["classes"] = [c.replace("cell-input", "cell_input") for c in box["classes"]]


# ---------------------------------------------------------------- files


@cache
def own_files() -> dict[str, bytes]:
    """What the book adds to Pyodide: scripts, a style, its package, and the data of chapters."""
    scripts = {p.name: jsmin(p.read_text("utf-8")).encode() for p in sorted(OWN.glob("*.js"))}
    style = (OWN / "page.css").read_bytes()
    figures = jsmin(widgets.script(*widgets.FIGURES)).encode()
    files = {**scripts, "page.css": style, "figures.js": figures, "posenc.zip": package()}
    sizes = {p.name: p.stat().st_size for p in sorted(PYODIDE.iterdir())}
    sizes |= {name: len(content) for name, content in files.items()}
    return files | {"files.json": json.dumps(sizes).encode()}


def package() -> bytes:
    """The package, what chapters read, and what runs cells: the same for the same files."""
    packed = {p: p.relative_to(ROOT / "src") for p in (ROOT / "src" / "posenc").rglob("*.*")}
    packed |= {p: p.relative_to(ROOT) for p in (ROOT / "notebooks" / "data").iterdir()}
    packed |= {p: Path(p.name) for p in (*OWN.glob("*.py"), *SHARED)}
    out = BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for path, name in sorted(packed.items()):
            if "__pycache__" not in path.parts:
                entry = zipfile.ZipInfo(name.as_posix(), NO_TIME)
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, path.read_bytes(), compresslevel=9)
    return out.getvalue()


def folder() -> str | None:
    """The folder on the site, from its root; none where Pyodide wasn't fetched."""
    if not (PYODIDE / "pyodide-lock.json").exists():
        return None
    total = hashlib.sha256((PYODIDE / "pyodide-lock.json").read_bytes())
    for name, content in own_files().items():
        total.update(name.encode() + content)
    return f"python/{total.hexdigest()[:10]}/"


def name_folder(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Tell a page with cells where Python is (see _templates/layout.html)."""
    if doctree and (page.startswith("notebooks/") or page == OWN_PAGE):
        context["python"] = folder()


def copy_python(app: Sphinx, error: Exception | None) -> None:
    """Put all of it on the site, as it is."""
    if error or app.builder.name != "html":
        return
    out = Path(app.outdir)
    shutil.rmtree(out / "python", ignore_errors=True)
    (out / OFFLINE).unlink(missing_ok=True)
    if where := folder():
        shutil.copytree(PYODIDE, out / where)
        for name, content in own_files().items():
            (out / (OFFLINE if name == OFFLINE else where + name)).write_bytes(content)
