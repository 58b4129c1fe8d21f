"""Execute notebooks and store their outputs in place: `python tools/execute.py notebooks/07….ipynb`

A notebook whose fresh outputs say what the stored ones say stays as it is, to the byte. Pictures
are compared as nbval's run does (`pictures.py`); of cells tagged `nbval-ignore-output`, which
print times, the words count, not the numbers.
"""

import json
import os
import re
import sys
from pathlib import Path

import nbformat
import pictures
from nbclient.exceptions import CellExecutionError
from nbconvert.preprocessors import CoalesceStreamsPreprocessor, ExecutePreprocessor
from traitlets.config import Config


def words(cell):
    """What a cell shows, without pictures, and without numbers where they are times."""
    shown = [
        (
            output.get("name"),
            output.get("text"),
            {**output.get("data", {}), pictures.SVG: pictures.SVG in output.get("data", {})},
        )
        for output in cell.get("outputs", [])
    ]
    text = json.dumps(shown, sort_keys=True)
    timed = "nbval-ignore-output" in cell.metadata.get("tags", [])
    return re.sub(r"[-\d.,\s]|\\n|\b[mµn]?s\b", "", text) if timed else text


def is_same(stored, fresh):
    """Whether two runs of one cell show a reader the same."""
    if stored.cell_type != "code":
        return True
    if stored.execution_count != fresh.execution_count or words(stored) != words(fresh):
        return False
    return not pictures.changed(stored, fresh.outputs)


def execute(path):
    """Run a notebook in a kernel of its own, in its folder."""
    notebook = nbformat.read(path, as_version=4)
    own = {"kernelspec": notebook.metadata.kernelspec}
    fresh = nbformat.from_dict({**notebook, "metadata": own})
    resources = {"metadata": {"path": str(path.parent)}}
    config = Config(KernelManager={"transport_encryption": "auto"})
    runner = ExecutePreprocessor(timeout=600, record_timing=False, config=config)
    for preprocessor in (runner, CoalesceStreamsPreprocessor()):
        fresh, _ = preprocessor.preprocess(fresh, resources)
    fresh.metadata = nbformat.from_dict(own)  # widgets leave their state there
    changed = [
        number
        for number, (stored, cell) in enumerate(zip(notebook.cells, fresh.cells, strict=True))
        if not is_same(stored, cell)
    ]
    if not changed and fresh.metadata == notebook.metadata:
        return "as it was"
    for number, cell in enumerate(fresh.cells):
        if cell.cell_type == "code" and number not in changed:
            cell.outputs = notebook.cells[number].outputs
    nbformat.write(fresh, path)
    return "stored"


def main():
    """Execute each, and name what fails."""
    os.environ["POSENC_STATIC"] = "1"  # no id of this run in a widget
    for path in map(Path, sys.argv[1:]):
        try:
            print(f"{path}: {execute(path)}", flush=True)
        except CellExecutionError as error:
            sys.exit(f"{path}: a cell fails:\n{error}")


if __name__ == "__main__":
    main()
