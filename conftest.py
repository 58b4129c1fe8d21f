"""Notebooks as tests: nbval runs cells and compares text; this adds pictures and wrong answers."""

import difflib
import re
from pathlib import Path

import forked_kernels
import nbval.plugin
import near_answers
import pictures
import pytest
from nbval.plugin import IPyNbCell, IPyNbFile, NbCellError
from near_answers import ACCEPTED

NEAR = Path(near_answers.__file__).read_text(encoding="utf-8")


def pytest_configure(config):
    """Disable coverage in kernels: it doubles a chapter's time, and the unit tests cover all."""
    forked_kernels.install()
    nbval.plugin.setup_coverage = nbval.plugin.teardown_coverage = lambda *given: None
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


class Answer(pytest.Item):
    """Code that runs in a copy of a chapter's namespace, after all cells."""

    def run_in_kernel(self, source):
        """Run it, and return the name and the text of the error that it raises."""
        kernel = self.parent.kernel
        sent = kernel.execute_cell_input(f"exec({source!r}, {{**globals()}})")
        error, message = {"ename": "nothing", "evalue": ""}, None
        while not message or message["content"].get("execution_state") != "idle":
            message = kernel.get_message("iopub", timeout=300)
            if message["parent_header"].get("msg_id") != sent:
                message = None
            elif message["msg_type"] == "error":
                error = message["content"]
        return error

    def repr_failure(self, failure):
        return str(failure.value)


class WrongAnswer(Answer):
    """A wrong answer to an exercise, which its check must reject."""

    answer: str
    says: str

    def runtest(self):
        error = self.run_in_kernel(self.answer)
        if error["ename"] != "AssertionError" or self.says not in error["evalue"]:
            raised = f"it raises {error['ename']}: {error['evalue']}"
            pytest.fail(
                f"{self.nodeid}\n{self.answer}\nThe check must reject this and say {self.says!r}; "
                f"{raised}\nFix the check, or `wrong_answers` in the metadata of its cell.",
                pytrace=False,
            )


class NearAnswers(Answer):
    """Answers near the solution's, which a check must reject, too."""

    check: str
    solution: str

    def runtest(self):
        found = f"[*accepted({self.check!r}, {self.solution!r}, globals())]"
        error = self.run_in_kernel(f"{NEAR}\nassert not (found := {found}), found")
        if error["ename"] != "nothing":
            pytest.fail(
                f"{self.nodeid}\nThe check is too loose: it accepts {error['evalue']}\n"
                "Tighten it, or add it to ACCEPTED in tests/near_answers.py, with the reason.",
                pytrace=False,
            )


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """Collect the wrong answers in a notebook's metadata, after its cells."""
    report = yield
    if isinstance(collector, IPyNbFile) and report.passed:
        for cell in collector.nb.cells:
            for given in cell.metadata.get("wrong_answers", []):
                check = re.search(r"^def (check_\w+)", cell.source, re.MULTILINE)[1]
                item = WrongAnswer.from_parent(collector, name=f"{check}: {given.slip}")
                item.answer, item.says = given.answer, given.says
                report.result.append(item)
            tried = "wrong_answers" in cell.metadata
            if tried and f"{collector.path.stem[:2]} {check}" not in ACCEPTED:
                item = NearAnswers.from_parent(collector, name=f"{check}: near the solution")
                solved = (c.source for c in collector.nb.cells if f"{check}(" in c.source)
                item.check, item.solution = check, next(s for s in solved if s != cell.source)
                report.result.append(item)
    return report


def said(outputs):
    """Split the outputs' text into lines."""
    texts = [o.get("text", o.get("data", {}).get("text/plain", "")) for o in outputs]
    return "\n".join(texts).splitlines()


def problem(item, error):
    """Describe what is wrong with a cell, and how to fix it."""
    where = f"{item.path.name}, cell {item.name}"
    store = f"If the fresh one is right: make notebooks NOTEBOOKS=notebooks/{item.path.name}"
    if isinstance(error, str):
        return f"{where}: the picture differs from the stored one.\n{error}\n{store}"
    if str(error) != "Cell outputs differ":
        return f"{where}: {error}\n{item.cell.source}\n{error.inner_traceback or ''}"
    sides = said(item.cell.outputs), said(item.test_outputs)
    lines = list(difflib.unified_diff(*sides, "stored", "fresh", lineterm=""))
    lines = lines or [str(error.inner_traceback)]
    return "\n".join([f"{where}: the output differs from the stored one.", *lines, store])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Fail a cell that raises, or whose text or picture differs from the stored one."""
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
