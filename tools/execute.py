"""Execute notebooks and store their outputs in place: `python tools/execute.py notebooks/07….ipynb`

A notebook whose fresh outputs match the stored ones stays byte-identical. Pictures are compared as
in the tests (`pictures.py`). In cells tagged `nbval-ignore-output`, which print times, numbers are
ignored.
"""

import json
import os
import re
import sys
from pathlib import Path

import nbformat
import pictures
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from traitlets.config import Config


def words(cell):
    """Return a cell's output as text, without pictures, and without numbers if it's timed."""
    shown = [cell.execution_count]
    for each in cell.outputs:
        data = each.get("data", {})
        drawn = {pictures.SVG: pictures.SVG in data}
        shown.append([each.get("name"), each.get("text"), {**data, **drawn}])
    text = json.dumps(shown, sort_keys=True)
    timed = "nbval-ignore-output" in cell.metadata.get("tags", [])
    return re.sub(r"[-\d.,\s]|\\n|\b[mµn]?s\b", "", text) if timed else text


def execute(path):
    """Run a notebook in a fresh kernel, in its folder; store it if it changed."""
    notebook = nbformat.read(path, as_version=4)
    own = nbformat.from_dict({"kernelspec": notebook.metadata.kernelspec})
    fresh = nbformat.from_dict({**notebook, "metadata": own})
    options = {"timeout": 600, "record_timing": False, "coalesce_streams": True}
    config = Config(KernelManager={"transport_encryption": "auto"})
    resources = {"metadata": {"path": str(path.parent)}}
    NotebookClient(fresh, config=config, resources=resources, **options).execute()
    fresh.metadata = own  # drop the widget state stored there
    for stored, cell in zip(notebook.cells, fresh.cells, strict=True):
        is_same = cell.cell_type == "code" and words(stored) == words(cell)
        if is_same and not pictures.changed(stored, cell.outputs):
            cell.outputs = stored.outputs
    if fresh == notebook:
        return "unchanged"
    nbformat.write(fresh, path)
    return "stored"


if __name__ == "__main__":
    os.environ["POSENC_STATIC"] = "1"  # keep random widget ids out
    for path in map(Path, sys.argv[1:]):
        try:
            print(f"{path}: {execute(path)}", flush=True)
        except CellExecutionError as error:
            sys.exit(f"{path}: a cell fails:\n{error}")
