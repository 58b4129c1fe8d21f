"""The Python runtime for cells that a reader runs in the page.

``book/python`` has its sources; ``tools/pyodide.py`` fetches Pyodide and the packages into
``book/python/pyodide``. All is copied to one folder of the site, named by a hash of its content, so
that browsers can cache it forever. Pages name the folder; nothing is loaded from it before a reader
first runs a cell.
"""

import hashlib
import shutil
import zipfile
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

from rjsmin import jsmin
from sphinx.application import Sphinx

from posenc.book import widgets

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
OWN = ROOT / "book" / "python"
PYODIDE = OWN / "pyodide"
OFFLINE = (
    "offline.js"  # at the root, since a service worker controls only pages below it
)
OWN_PAGES = ("book/config", "book/try")
NO_TIME = (1980, 1, 1, 0, 0, 0)


@cache
def own_files() -> dict[str, bytes]:
    """The files that the book adds to Pyodide: scripts, a stylesheet, and `package`."""
    scripts = {
        p.name: jsmin(p.read_text("utf-8")).encode() for p in sorted(OWN.glob("*.js"))
    }
    figures = jsmin(widgets.script(*widgets.FIGURES)).encode()
    others = {"page.css": (OWN / "page.css").read_bytes(), "figures.js": figures}
    return {**scripts, **others, "posenc.zip": package()}


def package() -> bytes:
    """A reproducible zip of posenc, the chapters' data and the kernel."""
    packed = {
        p: p.relative_to(ROOT / "src") for p in (ROOT / "src" / "posenc").rglob("*.*")
    }
    packed |= {p: p.relative_to(ROOT) for p in (ROOT / "notebooks" / "data").iterdir()}
    packed |= {p: Path(p.name) for p in OWN.glob("*.py")}
    out = BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for path, name in sorted(packed.items()):
            if "__pycache__" not in path.parts:
                entry = zipfile.ZipInfo(name.as_posix(), NO_TIME)
                archive.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED, 9)
    return out.getvalue()


def folder() -> str:
    """The folder's path from the site's root."""
    total = hashlib.sha256((PYODIDE / "pyodide-lock.json").read_bytes())
    for name, content in own_files().items():
        total.update(name.encode() + content)
    return f"python/{total.hexdigest()[:10]}/"


@cache
def first_size() -> int:
    """The bytes that a first start loads, for its progress (python.js)."""
    first = ("*.packed", "python_stdlib.zip", "numpy-*", "pyodide-lock.json")
    files = [path for pattern in first for path in PYODIDE.glob(pattern)]
    return sum(path.stat().st_size for path in files) + len(package())


def name_folder(
    app: Sphinx, page: str, template: str, context: Any, doctree: Any
) -> None:
    """Pass the folder to pages that run Python (see _templates/layout.html)."""
    if doctree and (page.startswith("notebooks/") or page in OWN_PAGES):
        context["python"], context["python_size"] = folder(), first_size()


def copy_python(out: Path) -> None:
    """Copy everything to the site."""
    where = folder()
    shutil.copytree(PYODIDE, out / where)
    for name, content in own_files().items():
        (out / (OFFLINE if name == OFFLINE else where + name)).write_bytes(content)
