"""Notebooks as tests: nbval runs cells and compares text; this adds pictures and wrong answers."""

import re
import sys
from pathlib import Path

import pictures
import pytest
from nbval.plugin import IPyNbCell, IPyNbFile, NbCellError

# Besides these classes, what follows depends on names of nbval 0.11 that it doesn't document:
#   of a file: `nb`, the notebook, and `kernel.kc`, the client of its kernel, alive after cells
#   of a cell: `cell`, as stored; `cell_num`, from 0; `test_outputs`, the fresh ones; `repr_failure`
#   of an NbCellError: its text "Cell outputs differ", and `inner_traceback`, None without one
# tests/test_pictures.py runs a small notebook through the hooks.

# Behind the packages: its torch.py stands in for torch, in a browser alone.
sys.path.append(str(Path(__file__).parent / "book" / "python"))
# Whichever of these came last would keep one worker busy while the other one has nothing left.
SLOWEST = ["21_todays_rope", "test_site_browser", "20_what_models_use", "test_site"]


def pytest_configure(config):
    """Find nbval's settings from any folder."""
    config.option.nbval_sanitize_with = Path(__file__).parent / "tests" / "nbval.cfg"


def pytest_collection_modifyitems(items):
    """Run the slowest files first; the others as they were listed."""
    items.sort(
        key=lambda item: [item.path.stem == slow for slow in SLOWEST], reverse=True
    )


class WrongAnswer(pytest.Item):
    """An answer that a chapter's check must reject, in a copy of its namespace after its cells."""

    answer: str
    says: str  # words of the check's message

    def runtest(self):
        run = f"exec({self.answer!r}, {{**globals()}})"
        client = self.parent.kernel.kc
        reply = client.execute(run, stop_on_error=False, reply=True, timeout=300)
        content = reply["content"]
        raised = f"{content.get('ename', 'nothing')}: {content.get('evalue', '')}"
        if not raised.startswith("AssertionError: ") or self.says not in raised:
            pytest.fail(
                f"{self.nodeid}\n{self.answer}\nThe check must reject this and say "
                f"{self.says!r}; it raises {raised}\nFix the check, or `wrong_answers` "
                "in its cell's metadata.",
                pytrace=False,
            )


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """Collect the wrong answers after a notebook's cells."""
    report = yield
    if isinstance(collector, IPyNbFile) and report.passed:
        for cell in collector.nb.cells:
            for wrong in cell.metadata.get("wrong_answers", []):
                check = re.search(r"^def (check_\w+)", cell.source, re.MULTILINE)[1]
                name = f"{check}: {wrong.slip}"
                item = WrongAnswer.from_parent(collector, name=name)
                item.answer, item.says = wrong.answer, wrong.says
                report.result.append(item)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Fail a cell that raises, or whose text or picture differs from the stored one; say where."""
    if not isinstance(item, IPyNbCell):
        return (yield)
    item.repr_failure = lambda failure: str(failure.value)
    # As JupyterLab numbers cells after a run from the top: the first is [1].
    place = f"{item.path.name}, cell [{item.cell_num + 1}]"
    cure = f"If the fresh one is right: make notebooks NOTEBOOKS=notebooks/{item.path.name}"
    try:
        result = yield
    except NbCellError as error:
        lines = [f"{place}: {error}", item.cell.source, error.inner_traceback or ""]
        if str(error) == "Cell outputs differ":
            lines.append(cure)
        pytest.fail("\n".join(lines))
    if wrong := pictures.changed(item.cell, item.test_outputs):
        differs = "the picture differs from the stored one."
        pytest.fail(f"{place}: {differs}\n{wrong}\n{cure}")
    return result
