"""Shrink Pyodide's archives, reproducibly: drop files, and compile what most pages import.

A page would compile at each start. Docstrings and assertions are left out: with docstrings, the
archives would be larger than those of the sources. Other modules stay sources, which are smaller
than bytecode when compressed.
"""

import importlib
import sys
import zipfile
from fnmatch import fnmatch
from importlib._bootstrap_external import _code_to_hash_pyc
from pathlib import Path

IMPORTED = "numpy dis pprint symtable importlib.resources"
DRAWING = "matplotlib.pyplot matplotlib.backends.backend_svg"
# What no page can use; fontTools, which matplotlib needs only to write PDF, and pytz, which pandas
# needs, aren't even packed.
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
DOCUMENTED = "numpy/_core/multiarray.py"  # it passes docstrings to C, which wants text


def shrink(path, modules):
    """Rewrite an archive without what is left out, with bytecode for these modules."""
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in sorted(archive.namelist())}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            if name.endswith("/") or any(
                fnmatch(name, out) for out in LEFT_OUT.split()
            ):
                continue
            path_of_module = name.removesuffix(".py").removesuffix("/__init__")
            module = path_of_module.replace("/", ".")
            if name.endswith(".py") and module in modules:
                level = 0 if name == DOCUMENTED else 2
                code = compile(content, name, "exec", dont_inherit=True, optimize=level)
                # No source is beside it: its hash is 0, and isn't checked.
                name = f"{name}c"
                content = bytes(_code_to_hash_pyc(code, bytes(8), False))
            entry = zipfile.ZipInfo(name)  # without a time
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED, 9)


def main():
    """Shrink the wheels, and the standard library, which is the only ``.zip``."""
    folder = Path("/files")  # compile.mjs mounts it
    wheels, library = [*folder.glob("*.whl")], [*folder.glob("*.zip")]
    for path in wheels:
        with zipfile.ZipFile(path) as archive:
            archive.extractall(sys.path[-1])  # Pyodide's site-packages
    for name in IMPORTED.split():
        importlib.import_module(name)
    # The library is loaded on each page: of it only what each imports, not what matplotlib does.
    for_all_pages = {*sys.modules}
    for name in DRAWING.split():
        importlib.import_module(name)
    for path in wheels:
        shrink(path, {*sys.modules})
    for path in library:
        shrink(path, for_all_pages)


main()
