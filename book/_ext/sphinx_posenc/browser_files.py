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

from posenc.book import widgets

ROOT = Path(__file__).parents[3]
OWN = ROOT / "book" / "python"
PYODIDE = OWN / "pyodide"
OFFLINE = "offline.js"  # at the root: a service worker controls only pages below it
OWN_PAGES = ("book/config", "book/try")
NO_TIME = (1980, 1, 1, 0, 0, 0)


@cache
def own_files() -> dict[str, bytes]:
    """The files that the book adds to Pyodide: scripts, a stylesheet, and `package`."""
    scripts = {path.name: path.read_text("utf-8") for path in sorted(OWN.glob("*.js"))}
    scripts["figures.js"] = widgets.script(*widgets.FIGURES)
    files = {name: jsmin(script).encode() for name, script in scripts.items()}
    style = (OWN / "page.css").read_bytes()
    return {**files, "page.css": style, "posenc.zip": package()}


@cache
def package() -> bytes:
    """A reproducible zip of posenc, the chapters' data and the kernel."""
    sources = ROOT / "src"
    packed = dict.fromkeys((sources / "posenc").rglob("*.*"), sources)
    packed |= dict.fromkeys((ROOT / "notebooks" / "data").iterdir(), ROOT)
    packed |= dict.fromkeys(OWN.glob("*.py"), OWN)
    out = BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for path, folder in sorted(packed.items()):
            if "__pycache__" not in path.parts:
                name = path.relative_to(folder).as_posix()
                entry = zipfile.ZipInfo(name, NO_TIME)
                archive.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED, 9)
    return out.getvalue()


@cache
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


def name_folder(page: str, context: dict[str, Any]) -> None:
    """Pass the folder to pages that run Python (see _templates/layout.html)."""
    if page.startswith("notebooks/") or page in OWN_PAGES:
        context["python"], context["python_size"] = folder(), first_size()


def copy_python(site: Path) -> None:
    """Copy everything to the site."""
    shutil.copytree(PYODIDE, site / folder())
    for name, content in own_files().items():
        place = site if name == OFFLINE else site / folder()
        (place / name).write_bytes(content)
