"""Take Python for the pages from its two sources: `make pyodide` (needs a network, npm and pip).

Pyodide's core comes from its npm package, which holds the list of all its packages with their
SHA-256 sums, and none of them. The ones that the book needs are found in a wheel on PyPI that ships
them; each must have the sum of the list. Then they are made small, always to the same bytes: the
processor's code is gzipped (under a name for which no server thinks of an encoding), and what no
page can use is left out. `book/python/pyodide` holds the result, with a list of the same kind,
whose sums the browser checks again.
"""

import gzip
import hashlib
import io
import json
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from fnmatch import fnmatch
from pathlib import Path

HERE = Path(__file__).parents[1] / "book" / "python" / "pyodide"
VERSION = "314.0.3"
CORE = ("pyodide.mjs", "pyodide.asm.mjs", "python_stdlib.zip")
WASM = "pyodide.asm.wasm"
# File names and sums of what is downloaded; the last has no compiled code, and is used as it is.
PYODIDE = (
    f"pyodide-{VERSION}.tgz",
    "d7f7d24f8db486c7eda7280f3b0f7517524c8e43e8b086c6ee6ae8016658b484",
)
WHEELS = (
    "open_webui-0.12.4-py3-none-any.whl",
    "02e9caba96234db3fa17a92e56163b3f7f2b8ca8227fa886b85c178d696483f6",
)
TRAITLETS = (
    "traitlets-5.14.3-py3-none-any.whl",
    "b74e89e397b1ed28cc831db7aea759ba6640cb3de13090ca145426688ff1ac4f",
)

# What chapters and `posenc` import, and what that needs in turn.
NEEDS = {
    "matplotlib": "contourpy cycler kiwisolver numpy packaging pillow pyparsing python-dateutil",
    "scikit-learn": "joblib scipy threadpoolctl",
    "scipy": "numpy",
    "sympy": "mpmath",
    "python-dateutil": "six",
}
# matplotlib asks for fontTools where it writes PDF, and pandas for pytz. Both stay away. Besides:
LEFT_OUT = """
    *.pyi *.pxd *.pyx *.a *.h *.c
    */tests/* sympy/benchmarks/*
    matplotlib/mpl-data/sample_data/* matplotlib/mpl-data/images/* matplotlib/mpl-data/stylelib/*
    matplotlib/mpl-data/fonts/afm/* matplotlib/mpl-data/fonts/pdfcorefonts/*
    matplotlib/mpl-data/fonts/ttf/STIX* matplotlib/mpl-data/fonts/ttf/cm*
    matplotlib/mpl-data/fonts/ttf/DejaVuSerif* matplotlib/mpl-data/fonts/ttf/DejaVuSansMono*
    sklearn/datasets/data/* sklearn/datasets/descr/* sklearn/datasets/images/*
    scipy/io/* scipy/odr/* scipy/signal/* scipy/datasets/* scipy/fftpack/*
"""
NO_TIME = (1980, 1, 1, 0, 0, 0)


def digest(data):
    return hashlib.sha256(data).hexdigest()


def download(file, total, *command):
    """Let a client of the registry fetch a file, and hold it to its sum."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        data = (Path(folder) / file).read_bytes()
    if digest(data) != total:
        sys.exit(f"{file} has the sum {digest(data)}, not {total}")
    return data


def smaller(wheel):
    """The wheel without what no page can use, the same for the same wheel."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(wheel)) as old, zipfile.ZipFile(out, "w") as new:
        for name in sorted(old.namelist()):
            if not name.endswith("/") and not any(fnmatch(name, each) for each in LEFT_OUT.split()):
                entry = zipfile.ZipInfo(name, NO_TIME)
                entry.compress_type = zipfile.ZIP_DEFLATED
                new.writestr(entry, old.read(name), compresslevel=9)
    return out.getvalue()


def main():
    pip = (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:")
    core = download(*PYODIDE, "npm", "pack", "--silent", f"pyodide@{VERSION}")
    wheels = download(*WHEELS, *pip, "open-webui==0.12.4")
    traitlets = download(*TRAITLETS, *pip, "traitlets==5.14.3")
    HERE.mkdir(parents=True, exist_ok=True)
    for path in HERE.iterdir():
        if path.name != "LICENSES.txt":
            path.unlink()
    with tarfile.open(fileobj=io.BytesIO(core)) as package:
        read = lambda name: package.extractfile(f"package/{name}").read()  # noqa: E731
        for name in CORE:
            (HERE / name).write_bytes(read(name))
        (HERE / f"{WASM}.packed").write_bytes(gzip.compress(read(WASM), 9, mtime=0))
        lock = json.loads(read("pyodide-lock.json"))
    kept, names = {}, {*NEEDS, *" ".join(NEEDS.values()).split()}
    with zipfile.ZipFile(io.BytesIO(wheels)) as shipped:
        for name in sorted({*names, "traitlets"}):
            entry = lock["packages"][name] | {"depends": NEEDS.get(name, "").split()}
            if name == "traitlets":
                wheel, entry["unvendored_tests"] = traitlets, False
            else:
                wheel = shipped.read(f"open_webui/frontend/pyodide/{entry['file_name']}")
                if digest(wheel) != entry["sha256"]:
                    sys.exit(f"{entry['file_name']} isn't the one that Pyodide lists")
            wheel = smaller(wheel)
            (HERE / entry["file_name"]).write_bytes(wheel)
            kept[name] = entry | {"sha256": digest(wheel)}
    lock["packages"] = kept
    text = json.dumps(lock, indent=1, sort_keys=True) + "\n"
    (HERE / "pyodide-lock.json").write_text(text, encoding="utf-8")
    size = sum(path.stat().st_size for path in HERE.iterdir())
    print(f"{size / 1e6:.1f} MB in {HERE}")


if __name__ == "__main__":
    main()
