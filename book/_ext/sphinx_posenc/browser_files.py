"""Python for the cells that a reader runs in the page.

``book/python`` holds it: ``tools/pyodide.py`` fetches Pyodide and the packages into a folder of its
own there, and without that folder the book has no buttons. All of it is copied to one folder of the
site, whose name tells its content from any other, so that a browser may keep it for good. A page
names the folder, and nothing is loaded from it before a reader presses Run.
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

from posenc import widgets

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
OWN = ROOT / "book" / "python"
PYODIDE = OWN / "pyodide"
OFFLINE = "offline.js"  # at the root of the site: it serves all pages below it
OWN_PAGES = ("book/config", "book/try")
SHARED = [HERE / "unavailable.py", HERE / "svg_theme.py"]  # the page's kernel imports these, too
NO_TIME = (1980, 1, 1, 0, 0, 0)


@cache
def own_files() -> dict[str, bytes]:
    """What the book adds to Pyodide: scripts, a style, its package, and the data of chapters."""
    scripts = {p.name: jsmin(p.read_text("utf-8")).encode() for p in sorted(OWN.glob("*.js"))}
    style = (OWN / "page.css").read_bytes()
    figures = jsmin(widgets.script(*widgets.FIGURES)).encode()
    return {**scripts, "page.css": style, "figures.js": figures, "posenc.zip": package()}


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


def name_folder(app: Sphinx, page: str, template: str, context: Any, doctree: Any) -> None:
    """Tell a page that runs Python where it is (see _templates/layout.html)."""
    if doctree and (page.startswith("notebooks/") or page in OWN_PAGES):
        context["python"] = folder()


def copy_python(out: Path) -> None:
    """Put all of it on the site, as it is."""
    shutil.rmtree(out / "python", ignore_errors=True)
    (out / OFFLINE).unlink(missing_ok=True)
    if where := folder():
        shutil.copytree(PYODIDE, out / where)
        for name, content in own_files().items():
            (out / (OFFLINE if name == OFFLINE else where + name)).write_bytes(content)
