"""Download Python for the pages: `make pyodide` (needs a network, npm and pip).

Pyodide's core comes from its npm package, which lists all Pyodide packages with their SHA-256
checksums but doesn't ship them. The ones the book needs come from a wheel on PyPI that does; each
must match its listed checksum. The Makefile downloads both, and npm and pip verify them against
`tools/pyodide`. The WebAssembly is gzipped, under a suffix for which no server sets a content
encoding, and `pyodide/compile.py` shrinks the rest, in Pyodide and Node. The result is in
`book/python/pyodide`, with a lock file of the same format, whose checksums the browser verifies.
"""

import gzip
import hashlib
import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
OUT = ROOT / "book" / "python" / "pyodide"
CORE = ROOT / "tools" / "pyodide" / "node_modules" / "pyodide"
WHEELS = ROOT / "_build" / "pyodide"  # what was downloaded
NEW = WHEELS / "new"
CORE_FILES = ("pyodide.mjs", "pyodide.asm.mjs", "python_stdlib.zip")
WASM = "pyodide.asm.wasm"

# The packages that chapters and `posenc` import, and what these import in a page.
NAMES = """
    contourpy cycler joblib kiwisolver matplotlib mpmath numpy packaging pillow pyparsing
    python-dateutil scikit-learn scipy six sympy threadpoolctl traitlets
"""


def checksum(content):
    return hashlib.sha256(content).hexdigest()


def copy_core():
    """Begin with the licenses and Pyodide's core."""
    NEW.mkdir()
    for path in (OUT / "LICENSES.txt", *(CORE / name for name in CORE_FILES)):
        shutil.copy(path, NEW)
    # Without a time in it: the same input gives the same bytes.
    packed = gzip.compress((CORE / WASM).read_bytes(), 9, mtime=0)
    (NEW / f"{WASM}.packed").write_bytes(packed)


def copy_package(entry, shipped):
    """Copy a package that matches the checksum in its entry of the lock file."""
    name = entry["file_name"]
    with zipfile.ZipFile(shipped) as wheels:
        wheel = wheels.read(f"open_webui/frontend/pyodide/{name}")
    if checksum(wheel) != entry["sha256"]:
        sys.exit(f"{name} doesn't match the checksum that Pyodide lists")
    (NEW / name).write_bytes(wheel)


def main():
    """Rebuild `book/python/pyodide` from what was downloaded."""
    (shipped,) = WHEELS.glob("open_webui*")
    copy_core()
    lock = json.loads((CORE / "pyodide-lock.json").read_text(encoding="utf-8"))
    packages, names = {}, NAMES.split()
    for name in names:
        entry = lock["packages"][name]
        entry["depends"] = [other for other in entry["depends"] if other in names]
        # It isn't shipped, and PyPI's wheel holds its tests, too.
        if name == "traitlets":
            entry["unvendored_tests"] = False
            shutil.copy(WHEELS / entry["file_name"], NEW)  # of the listed version
        else:
            copy_package(entry, shipped)
        packages[name] = entry
    subprocess.run(["node", CORE.parents[1] / "compile.mjs", NEW], check=True)
    # compile.mjs rewrote the packages, so they have new checksums.
    for entry in packages.values():
        entry["sha256"] = checksum((NEW / entry["file_name"]).read_bytes())
    text = json.dumps(lock | {"packages": packages}, indent=1, sort_keys=True) + "\n"
    (NEW / "pyodide-lock.json").write_text(text, encoding="utf-8")
    # All is right, so it replaces what was there.
    shutil.rmtree(OUT)
    shutil.move(NEW, OUT)


if __name__ == "__main__":
    main()
