"""Notebooks as tests: nbval runs cells and compares text; this adds pictures and wrong answers."""

import re
from pathlib import Path

import near_answers
import pictures
import pytest
from nbval.plugin import IPyNbCell, IPyNbFile, NbCellError

NEAR = Path(near_answers.__file__).read_text(encoding="utf-8")


def pytest_configure(config):
    """Report progress by file where workers run the tests."""
    if config.getoption("numprocesses", None):
        config.pluginmanager.register(Progress(config))


class Progress:
    """Says which files the workers have begun, beside their dots."""

    def __init__(self, config):
        self.config, self.begun = config, set()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report):
        file = report.nodeid.partition("::")[0]
        if file not in self.begun:
            self.begun.add(file)
            terminal = self.config.pluginmanager.get_plugin("terminalreporter")
            terminal.ensure_newline()
            terminal.write(f"{file} ")


def pytest_itemcollected(item):
    """Label cells as JupyterLab does after a run from the top: the first is [1]."""
    if isinstance(item, IPyNbCell):
        item.name = f"[{item.cell_num + 1}]"
        item._nodeid = item.nodeid.replace(f"Cell {item.cell_num}", item.name)
        item.reportinfo = lambda: (item.path, 0, item.nodeid)


class WrongAnswer(pytest.Item):
    """Code that runs in a copy of a chapter's namespace, after its cells, and must be rejected."""

    source: str
    says: str

    def runtest(self):
        run = f"exec({self.source!r}, {{**globals()}})"
        client = self.parent.kernel.kc
        reply = client.execute(run, stop_on_error=False, reply=True, timeout=300)[
            "content"
        ]
        raised = f"{reply.get('ename', 'nothing')}: {reply.get('evalue', '')}"
        if not raised.startswith("AssertionError: ") or self.says not in raised:
            pytest.fail(
                f"{self.nodeid}\n{self.source.removeprefix(NEAR)}\nThe check must reject this and "
                f"say {self.says!r}; it raises {raised}\nFix the check, or `wrong_answers` in its "
                "cell's metadata, or say there, as `accepts_near`, why it may accept what is near.",
                pytrace=False,
            )


def wrong_answers(notebook):
    """Yield a name, code, and what is said of it: answers in metadata, and near the solutions."""
    for cell in notebook.cells:
        if given := cell.metadata.get("wrong_answers"):
            check = re.search(r"^def (check_\w+)", cell.source, re.MULTILINE)[1]
            yield from (
                (f"{check}: {each.slip}", each.answer, each.says) for each in given
            )
            if "accepts_near" not in cell.metadata:
                solution = next(
                    solved.source
                    for solved in notebook.cells
                    if "solution" in solved.metadata.get("tags", [])
                    and f"{check}(" in solved.source
                )
                tried = f"{NEAR}\ntry_all({check!r}, {solution!r}, globals())"
                yield f"{check}: near the solution", tried, "all rejected"


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """Collect the wrong answers after a notebook's cells."""
    report = yield
    if isinstance(collector, IPyNbFile) and report.passed:
        for name, source, says in wrong_answers(collector.nb):
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
    where = f"{item.path.name}, cell {item.name}"
    store = f"If the fresh one is right: make notebooks NOTEBOOKS=notebooks/{item.path.name}"
    try:
        result = yield
    except NbCellError as error:
        cure = store if str(error) == "Cell outputs differ" else ""
        pytest.fail(
            f"{where}: {error}\n{item.cell.source}\n{error.inner_traceback}\n{cure}"
        )
    name = pictures.name(item.parent.nb.cells, item.cell)
    if wrong := pictures.changed(item.cell, item.test_outputs, name):
        pytest.fail(
            f"{where}: the picture differs from the stored one.\n{wrong}\n{store}"
        )
    return result
