"""Execute notebooks and store their outputs in place: `python tools/execute.py notebooks/07….ipynb`

What is stored differs from the last commit only where something was changed: an output that equals
the committed one of the same code is taken from there, and what an editor adds (times, its kernel,
which cells it shows) is dropped. Pictures are compared as in the tests (`pictures.py`). In cells
tagged `nbval-ignore-output`, which print times, numbers are ignored.
"""

import json
import os
import re
import subprocess
import sys
from copy import deepcopy
from pathlib import Path

import nbclient
import nbformat
import pictures
from traitlets.config import Config

KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
# What metadata of cells may hold: editors add more. `jupyter` and `cellView` (Colab) follow tags.
KEPT = {"claims", "mystnb", "tags", "wrong_answers"}
# What differs between two runs of a cell that prints times.
NUMBERS = re.compile(r"[-\d.,\s]|\\n|\b[mµn]?s\b")


def tidy(notebook):
    """Return a notebook without an editor's metadata, its code folded as tags say."""
    notebook = deepcopy(notebook)
    notebook.metadata = nbformat.from_dict({"kernelspec": KERNEL})
    for cell in notebook.cells:
        metadata = {key: cell.metadata[key] for key in KEPT & cell.metadata.keys()}
        tags = {*metadata.get("tags", [])}
        if "solution" in tags:
            metadata["jupyter"] = {"outputs_hidden": True, "source_hidden": True}
            metadata["cellView"] = "form"
        elif tags & {"hide-input", "remove-input"}:
            metadata["jupyter"] = {"source_hidden": True}
        cell.metadata = nbformat.from_dict(metadata)
    return notebook


def committed(path):
    """Return the notebook as it was last committed, or as it is on disk without git."""
    command = ["git", "show", f"HEAD:./{path.name}"]
    shown = subprocess.run(command, cwd=path.parent, capture_output=True)
    text = shown.stdout.decode() or path.read_text("utf-8")
    return nbformat.reads(text, as_version=4)


def words(cell):
    """Return a cell's output as text, without pictures, and without numbers if it's timed."""
    outputs = deepcopy(cell.outputs)
    for output in outputs:
        output.pop("execution_count", None)
        if pictures.SVG in output.get("data", {}):
            output.data[pictures.SVG] = ""
    text = json.dumps(outputs, sort_keys=True, ensure_ascii=False)  # for "µs"
    is_timed = "nbval-ignore-output" in cell.metadata.get("tags", [])
    return NUMBERS.sub("", text) if is_timed else text


def keep_outputs(fresh, stored):
    """Put the stored outputs of equal cells in the place of fresh ones that look the same.

    Of an edited cell the fresh ones stay: a picture that isn't compared would look the same.
    """
    before = {
        (cell.id, cell.source): cell
        for cell in stored.cells
        if cell.cell_type == "code"
    }
    for cell in fresh.cells:
        old = before.get((cell.id, cell.source))
        if not old:
            continue
        if words(old) == words(cell) and not pictures.changed(old, cell.outputs):
            cell.outputs = old.outputs
            for output in cell.outputs:
                if "execution_count" in output:
                    output.execution_count = cell.execution_count


def execute(path):
    """Run a notebook in a fresh kernel, in its folder, and store it if it changed."""
    fresh = tidy(nbformat.read(path, as_version=4))
    nbclient.execute(
        fresh,
        cwd=str(path.parent),
        timeout=600,
        record_timing=False,
        coalesce_streams=True,
        # Without it, each kernel logs a warning.
        config=Config(KernelManager={"transport_encryption": "auto"}),
    )
    fresh = tidy(fresh)  # without the kernel's version, and the state of widgets
    keep_outputs(fresh, committed(path))
    text = nbformat.writes(fresh) + "\n"
    if text == path.read_text("utf-8"):
        return "unchanged"
    path.write_text(text, encoding="utf-8")
    return "stored"


if __name__ == "__main__":
    os.environ["POSENC_STATIC"] = "1"  # keep random widget ids out
    for path in map(Path, sys.argv[1:]):
        try:
            print(f"{path}: {execute(path)}", flush=True)
        except nbclient.exceptions.CellExecutionError as error:
            sys.exit(f"{path}: a cell fails:\n{error}")
