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

from rjsmin import jsmin

from posenc.book import widgets

ROOT = Path(__file__).parents[3]
OWN = ROOT / "book" / "python"
PYODIDE = OWN / "pyodide"
OFFLINE = "offline.js"  # at the root: a service worker controls only pages below it
# What the package in the page has: posenc, the chapters' data, and the kernel.
PACKED = [(ROOT / "src", "posenc/**/*.*"), (ROOT, "notebooks/data/*"), (OWN, "*.py")]
FIRST = ("*.packed", "python_stdlib.zip", "numpy-*", "pyodide-lock.json")


@cache
def own_files():
    """The files that the book adds to Pyodide, by name: scripts, a stylesheet, and `package`."""
    scripts = {path.name: path.read_text("utf-8") for path in sorted(OWN.glob("*.js"))}
    scripts["figures.js"] = widgets.script(*widgets.FIGURES)
    files = {name: jsmin(script).encode() for name, script in scripts.items()}
    files["page.css"] = (OWN / "page.css").read_bytes()
    files["posenc.zip"] = package()
    return files


@cache
def package():
    """A reproducible zip of what is `PACKED`."""
    out = BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for folder, pattern in PACKED:
            for path in sorted(folder.glob(pattern)):
                if "__pycache__" not in path.parts:
                    # Without a time, the same sources give the same bytes.
                    entry = zipfile.ZipInfo(path.relative_to(folder).as_posix())
                    archive.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED, 9)
    return out.getvalue()


@cache
def folder():
    """The folder's path from the site's root."""
    pyodide = [path.read_bytes() for path in sorted(PYODIDE.iterdir())]
    content = b"".join([*pyodide, *own_files().values()])
    return f"python/{hashlib.sha256(content).hexdigest()[:10]}/"


@cache
def first_size():
    """The bytes that a first start loads, for its progress (python.js)."""
    files = [path for pattern in FIRST for path in PYODIDE.glob(pattern)]
    return sum(path.stat().st_size for path in files) + len(package())


def copy_python(site):
    """Copy everything to the site."""
    shutil.copytree(PYODIDE, site / folder())
    for name, content in own_files().items():
        place = site if name == OFFLINE else site / folder()
        (place / name).write_bytes(content)
