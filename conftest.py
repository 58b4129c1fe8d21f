"""nbval runs the cells; this also compares what they draw, and says what a cell got wrong."""

import difflib

import pictures
import pytest
from nbval.plugin import IPyNbCell, NbCellError


def pytest_itemcollected(item):
    """Count cells as JupyterLab does after a run from the top: [1] is the first."""
    if isinstance(item, IPyNbCell):
        item.name = f"[{item.cell_num + 1}]"
        item._nodeid = item.nodeid.replace(f"Cell {item.cell_num}", item.name)
        item.reportinfo = lambda: (item.path, 0, item.nodeid)


def said(outputs):
    """Split what outputs show into lines."""
    texts = [o.get("text", o.get("data", {}).get("text/plain", "")) for o in outputs]
    return "\n".join(texts).splitlines()


def problem(item, error):
    """Say what is wrong with a cell, and the cure."""
    where = f"{item.path.name}, cell {item.name}"
    store = f"If the fresh one is right: make notebooks NOTEBOOKS=notebooks/{item.path.name}"
    if isinstance(error, str):
        return f"{where} draws another picture than the stored one.\n{error}\n{store}"
    if str(error) != "Cell outputs differ":
        return f"{where}: {error}\n{item.cell.source}\n{error.inner_traceback or ''}"
    sides = said(item.cell.outputs), said(item.test_outputs)
    lines = list(difflib.unified_diff(*sides, "stored", "fresh", lineterm=""))
    lines = lines or [str(error.inner_traceback)]
    return "\n".join([f"{where} runs, but its output is not the stored one.", *lines, store])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Fail a cell that raises, says or draws something else than what is stored beside it."""
    if not isinstance(item, IPyNbCell):
        return (yield)
    item.repr_failure = lambda failure: str(failure.value)
    result, wrong = None, None
    try:
        result = yield
        name = pictures.name(item.parent.nb.cells, item.cell)
        wrong = pictures.changed(item.cell, item.test_outputs, name)
    except NbCellError as error:
        wrong = error
    if wrong:
        pytest.fail(problem(item, wrong), pytrace=False)
    return result
