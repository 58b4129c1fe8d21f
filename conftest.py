"""Notebooks as tests: nbval runs cells and compares text; this adds pictures and wrong answers."""

import re
import sys
from pathlib import Path

import near_answers
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
NEAR = Path(near_answers.__file__).read_text(encoding="utf-8")
# Two workers that begin with these are done at about the same time.
SLOWEST = ["test_page", "04_distance_and_resolution", "11_does_it_help", "test_lab"]


def pytest_configure(config):
    """Find nbval's settings from any folder."""
    config.option.nbval_sanitize_with = Path(__file__).parent / "tests" / "nbval.cfg"


def pytest_collection_modifyitems(items):
    """Run the slowest files first; the others as they were listed."""
    items.sort(
        key=lambda item: [item.path.stem == slow for slow in SLOWEST], reverse=True
    )


class WrongAnswer(pytest.Item):
    """Code that runs in a copy of a chapter's namespace, after its cells, and must be rejected."""

    source: str
    # It passes if it raises an AssertionError with these words: a check's, or, from
    # `near_answers.try_all`, "all rejected", by which that function always says success.
    says: str

    def runtest(self):
        run = f"exec({self.source!r}, {{**globals()}})"
        client = self.parent.kernel.kc
        reply = client.execute(run, stop_on_error=False, reply=True, timeout=300)
        content = reply["content"]
        raised = f"{content.get('ename', 'nothing')}: {content.get('evalue', '')}"
        if not raised.startswith("AssertionError: ") or self.says not in raised:
            pytest.fail(
                f"{self.nodeid}\n{self.source.removeprefix(NEAR)}\nThe check must reject "
                f"this and say {self.says!r}; it raises {raised}\nFix the check, or "
                "`wrong_answers` in its cell's metadata, or say there, as `accepts_near`, "
                "why it may accept what is near.",
                pytrace=False,
            )


def solution_of(check, cells):
    """Return the code of the solution that calls a check."""
    for cell in cells:
        # A cell for the reader's answer may name the check in a comment.
        if "solution" in cell.metadata.get("tags", []) and f"{check}(" in cell.source:
            return cell.source
    raise ValueError(f"no solution calls {check}")


def wrong_answers(cells):
    """Yield a name, code, and what is said of it: answers in metadata, and near the solutions."""
    for cell in cells:
        if "wrong_answers" not in cell.metadata:
            continue
        check = re.search(r"^def (check_\w+)", cell.source, re.MULTILINE)[1]
        for wrong in cell.metadata.wrong_answers:
            yield f"{check}: {wrong.slip}", wrong.answer, wrong.says
        if "accepts_near" not in cell.metadata:
            arguments = f"{check!r}, {solution_of(check, cells)!r}, globals()"
            tried = f"{NEAR}\ntry_all({arguments})"
            yield f"{check}: near the solution", tried, "all rejected"


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """Collect the wrong answers after a notebook's cells."""
    report = yield
    if isinstance(collector, IPyNbFile) and report.passed:
        for name, source, says in wrong_answers(collector.nb.cells):
            item = WrongAnswer.from_parent(collector, name=name)
            item.source, item.says = source, says
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
