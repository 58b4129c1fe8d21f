"""The Python of a page, without a page: cells that others need, and what a kernel keeps."""

import json

import slices
from reading import ROOT, python


def test_a_cell_needs_what_binds_or_changes_its_names_and_no_more():
    cells = ["import numpy as np", "x = [1]", "print(x)", "def f(n):\n    return n + k"]
    cells += ["k = 2", "x.append(2)", "y = np.ones(3)"]
    assert slices.needed(cells, "check(x)") == [1, 5]
    assert slices.needed(cells, "f(1)") == [3, 4]
    assert slices.needed(cells, "x = np.ones(2)") == [0]


# The kernel of a page, which keeps what it sends. Of each cell it prints what is shown, or what is
# said of its error, with the line.
RUN_ALL = f"""import json, sys, types
sys.path.append({str(ROOT / "book" / "python")!r})
sent = []
page = sys.modules["page"] = types.ModuleType("page")
page.send = lambda message: sent.append(json.loads(message))
import kernel
for cell in json.load(sys.stdin):
    kernel.wanted(cell)
    error = json.loads(kernel.run(cell, "cell")).get("error")
    texts = [message["text"] for message in sent]
    print(*texts, error and f"{{error['line']}}: {{error['says']}}")
    sent.clear()
"""
SESSION = {
    # An import waits until its name is read, unless another value takes the name.
    "from scipy import stats": "None",
    "stats = 3": "None",
    "stats": "3 None",
    "from scipy import fft": "None",
    "fft = 4\nraise ValueError": "2: ValueError",
    "raise ValueError\nfft = 5": "1: ValueError",
    "fft": "4 None",
    "from scipy import special": "None",
    "raise ValueError\nspecial = 5": "1: ValueError",
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
    "import scipy.none as none": "None",
    "none": "None: ModuleNotFoundError: No module named 'scipy.none'",
    "print(none)": "None: ModuleNotFoundError: No module named 'scipy.none'",
    # A line counts from the top of its cell, even if it compiles code.
    "x = 1\n\nfor": "3: SyntaxError: invalid syntax",
    "x = 1\n\ncompile('\\n' * 9 + '1 +', '', 'exec')": "3: SyntaxError: invalid syntax",
    "def f(x: int): ...\nf.__annotations__": "{'x': <class 'int'>} None",
    # A class isn't one of its objects, which can show themselves.
    "class Table:\n    def _repr_html_(self): ...\nTable": "<class '__main__.Table'> None",
    # A semicolon hides a value, but not one in a comment or a text.
    "(\n'µ');  # quiet": "None",
    "'µ;'  # ;": "'µ;' None",
    # An error is said by its type and the first line of its message.
    "raise AssertionError('no:\\nbut why')": "1: AssertionError: no:",
    "raise AssertionError('\\nNot equal\\n\\n 1')": "1: AssertionError: Not equal",
    "raise KeyError": "1: KeyError",
    "e = ValueError('no')\ne.add_note('of x')\nraise e": "3: ValueError: no",
}


def test_a_kernel_keeps_a_name_s_value_and_an_error_s_line():
    run = python("-c", RUN_ALL, input=json.dumps([*SESSION]))
    assert run.stdout.splitlines() == [*SESSION.values()], run.stderr
