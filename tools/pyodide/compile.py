"""Compile what most pages import, in Pyodide; a page would do so at each start.

Docstrings and assertions are left out: with docstrings, the archives would be larger than those of
the sources. Other modules stay sources, which are smaller than bytecode when compressed.
"""

import importlib
import sys
import zipfile
from importlib._bootstrap_external import _code_to_hash_pyc
from pathlib import Path

IMPORTED = "numpy symtable pprint importlib.resources"
DRAWING = "matplotlib.pyplot matplotlib.backends.backend_svg"
DOCUMENTED = "numpy/_core/multiarray.py"  # it passes docstrings to C, which wants text


def compiled(path, modules):
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            module = name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            if name.endswith(".py") and module in modules:
                level = 0 if name == DOCUMENTED else 2
                code = compile(content, name, "exec", dont_inherit=True, optimize=level)
                name, content = f"{name}c", bytes(_code_to_hash_pyc(code, bytes(8), False))
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content, compresslevel=9)


archives = [path for path in Path("/files").iterdir() if path.suffix in (".whl", ".zip")]
for path in archives:
    with zipfile.ZipFile(path) as archive:
        if path.suffix == ".whl":
            archive.extractall(sys.path[-1])
for name in IMPORTED.split():
    importlib.import_module(name)
library = {*sys.modules}
for name in DRAWING.split():
    importlib.import_module(name)
for path in archives:
    compiled(path, {*sys.modules} if path.suffix == ".whl" else library)
