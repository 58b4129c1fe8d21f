"""nbval compares what the cells print; this compares what they draw with the stored picture."""

import pictures
import pytest
from nbval.plugin import IPyNbCell


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Fail a cell that draws another picture than the one stored beside it."""
    result = yield
    if isinstance(item, IPyNbCell):
        found = pictures.changed(item.cell, item.test_outputs)
        if found:
            what = f"The picture of cell {item.cell_num} of {item.path.name} is not the stored one"
            item.raise_cell_error(what, found)
    return result
