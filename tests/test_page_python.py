"""The Python of a page, without a page: cells that others need, and what a kernel keeps."""

import json

import pytest
import slices
from reading import ROOT, python


def test_a_cell_needs_what_binds_or_changes_its_names_and_no_more():
    cells = ["import numpy as np", "x = [1]", "print(x)", "def f(n):\n    return n + k"]
    cells += ["k = 2", "x.append(2)", "y = np.ones(3)"]
    assert slices.needed(cells, "check(x)") == [1, 5]
    assert slices.needed(cells, "f(1)") == [3, 4]
    assert slices.needed(cells, "x = np.ones(2)") == [0]


# The kernel of a page, which keeps what it sends.
KERNEL = f"""import json, sys, types
sys.path.append({str(ROOT / "book" / "python")!r})
sent = []
page = sys.modules["page"] = types.ModuleType("page")
page.send = lambda message: sent.append(json.loads(message))
import kernel
"""
# Of each cell it prints what is shown, or the line of its error.
RUN_ALL = """
for cell in json.load(sys.stdin):
    kernel.wanted(cell)
    error = json.loads(kernel.run(cell, "cell")).get("error")
    print(*[message["text"] for message in sent], error and f"line {error['line']}")
    sent.clear()
"""
SESSION = {
    # An import waits until its name is read, unless another value takes the name.
    "from scipy import stats": "None",
    "stats = 3": "None",
    "stats": "3 None",
    "from scipy import fft": "None",
    "fft = 4\nraise ValueError": "line 2",
    "raise ValueError\nfft = 5": "line 1",
    "fft": "4 None",
    "from scipy import special": "None",
    "raise ValueError\nspecial = 5": "line 1",
    "float(special.expit(0))": "0.5 None",
    # A function's names are read when it is called.
    "from scipy import ndimage": "None",
    "def turned(x):\n    return ndimage.rotate(x, 90)": "None",
    "import sys\n'scipy.ndimage' in sys.modules": "False None",
    "turned([[1.0]]).shape": "(1, 1) None",
    # The last value may bind a name, too.
    "from scipy import signal": "None",
    "(signal := 5)": "5 None",
    "signal": "5 None",
    "import posenc": "None",
    "import posenc.nn": "None",
    "posenc.__name__": "'posenc' None",
    # Where an import fails that waited, this cell has no line that is wrong.
    "from scipy import none": "None",
    "none": "line None",
    "print(none)": "line None",
    # A line counts from the top of its cell, even if it compiles code.
    "x = 1\n\nfor": "line 3",
    "x = 1\n\ncompile('\\n' * 9 + '1 +', '', 'exec')": "line 3",
    "def f(x: int): ...\nf.__annotations__": "{'x': <class 'int'>} None",
    # A class isn't one of its objects, which can show themselves.
    "class Table:\n    def _repr_html_(self): ...\nTable": "<class '__main__.Table'> None",
    # A semicolon hides a value, but not one in a comment or a text.
    "(\n'µ');  # quiet": "None",
    "'µ;'  # ;": "'µ;' None",
}


def test_a_kernel_keeps_a_name_s_value_and_an_error_s_line():
    run = python("-c", KERNEL + RUN_ALL, input=json.dumps([*SESSION]))
    assert run.stdout.splitlines() == [*SESSION.values()], run.stderr


ERRORS = {
    "raise AssertionError('no:\\nbut why')": "AssertionError: no:",
    "raise AssertionError('\\nNot equal\\n\\n 1')": "AssertionError: Not equal",
    "raise KeyError": "KeyError",
    "x = (": "SyntaxError: '(' was never closed",
    "e = ValueError('no')\ne.add_note('of x')\nraise e": "ValueError: no",
}


@pytest.mark.parametrize("cell", ERRORS)
def test_an_error_is_said_by_its_type_and_the_first_line_of_its_message(cell):
    code = "print(json.loads(kernel.run(sys.stdin.read(), 'cell'))['error']['says'])"
    run = python("-c", KERNEL + code, input=cell)
    assert run.stdout.strip() == ERRORS[cell], run.stderr
