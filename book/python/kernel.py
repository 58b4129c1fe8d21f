"""Runs the cells of a page in Pyodide: as much of a notebook's kernel as the book needs.

`worker.js` imports this as the module `kernel`, and provides `send`, which takes a message as JSON.
A message has a `stream`, what a cell prints, with its `name`, "stdout" or "stderr"; or a `text`
or `html`, a value that it shows; or an `svg`, with a widget's kind and state as `figure` or None.
The reader of configurations (config_view.js) calls `tell` for a message of its own.

For a cell the page asks `wanted` which code to find packages by, loads them, and then calls `run`.
"""

from __future__ import annotations

import ast
import builtins
import copy
import io
import json
import linecache
import logging
import os
import pprint
import re
import sys
import traceback
import types
import warnings
from collections.abc import Iterable
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from typing import Any

from page import send  # registered by worker.js
from slices import Cell, absent_names, is_setting, one_by_one, understand

# Large, so imported lazily, when a cell first reads one of their names.
LATER = (
    "matplotlib",
    "scipy",
    "sklearn",
    "sympy",
    "posenc.book.plots",
    "posenc.book.widgets",
)
BESIDE = {
    "posenc.book.plots": "matplotlib",
    "posenc.book.widgets": "matplotlib, traitlets",
}
FIGURE = "application/vnd.posenc.figure+json"  # posenc.book.widgets.MIME
LONGEST = 100_000  # characters that one cell may print
HERE = __file__
STYLE = (
    "plots.use_style()"  # of chapters; `draw_in_style` does it when matplotlib comes
)

main = types.ModuleType("__main__")
sys.modules["__main__"] = main
space = main.__dict__


class Absent:
    """Placeholder for a module that isn't in the page; the cell's other imports still work."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        raise ModuleNotFoundError(
            f"{self._name} isn't in the page: this cell runs in the notebook",
            name=self._name,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__getattr__("")


class Stream(io.TextIOBase):
    """Standard output or error, truncated at `LONGEST` characters."""

    def __init__(self, name: str) -> None:
        self.name, self.length = name, 0

    def write(self, text: str) -> int:
        left = LONGEST - self.length
        self.length += len(text)
        if left > 0:
            more = "\n… and more than a page should hold" if len(text) > left else ""
            tell(stream=text[:left] + more, name=self.name)
        return len(text)


out, err = Stream("stdout"), Stream("stderr")


def tell(**message: Any) -> None:
    send(json.dumps(message))


def tell_picture(svg: str) -> None:
    from svg_theme import follow_theme

    tell(svg=follow_theme(svg))


def method_of(value: Any, name: str) -> Any:
    """The method of this name, or None. A class has its objects' methods, but is none of them."""
    return None if isinstance(value, type) else getattr(value, name, None)


def display(*values: Any) -> None:
    """Show values as a notebook would: a widget, a picture, a table, or text."""
    for value in values:
        bundle = method_of(value, "_repr_mimebundle_")
        data = bundle() if bundle else {}
        data = data[0] if isinstance(data, tuple) else data or {}
        if FIGURE in data:
            # In print, a figure that no chapter shows has no picture.
            tell(svg=data.get("image/svg+xml", ""), figure=data[FIGURE])
        elif "image/svg+xml" in data:
            tell_picture(data["image/svg+xml"])
        elif as_html := method_of(value, "_repr_html_"):
            tell(html=as_html())
        elif isinstance(value, list | tuple | dict | set):
            tell(text=pprint.pformat(value, sort_dicts=False))
        else:
            tell(text=repr(value))


builtins.display = display


@cache
def draw_in_style() -> None:
    """Draw as chapters do, from the first cell that matplotlib is loaded for."""
    from matplotlib import pyplot

    from posenc.book import plots

    plots.use_style()
    pyplot.show = show


def show(*args: Any, **kwargs: Any) -> None:
    """Show the open figures of pyplot, and close them."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if not pyplot:
        return
    try:
        for number in pyplot.get_fignums():
            svg = io.StringIO()
            pyplot.figure(number).savefig(svg, format="svg", metadata={"Date": None})
            tell_picture(svg.getvalue())
    finally:  # a figure that can't be drawn doesn't come up again
        pyplot.close("all")


# What earlier cells left to do: imports that wait, by name, until a cell reads their names. If one
# fails then, it waits for the next cell that reads it.
#
#     after each of these cells              waiting
#     from scipy import stats                stats
#     from posenc.book import plots          stats, plots
#     def cdf(x): return stats.norm.cdf(x)   stats, plots
#     print(cdf(0))                          plots
#     plots = 3                              none: a name that waits has no value that counts
waiting: dict[str, ast.stmt] = {}
ran: list[Cell] = []  # for the names that their functions read


def heads(body: list[ast.stmt]) -> list[ast.stmt]:
    """A cell's statements; if all define functions, then without what these do when called."""
    for node in body:
        # A decorator may call its function at once.
        if not isinstance(node, ast.FunctionDef) or node.decorator_list:
            return body
    stubs = [copy.copy(node) for node in body]
    for stub in stubs:
        stub.body = [ast.Pass()]
    return stubs


def due(body: list[ast.stmt]) -> list[str]:
    """The names that wait and that a cell reads, itself or by functions of cells that ran."""
    names: set[str] = set()
    more = understood(heads(body)).read
    while more != names:
        names = more
        more = names.union(*(other.late for other in ran if other.bound & names))
    return sorted(names & waiting.keys())


def forget(names: Iterable[str]) -> None:
    """Let no import wait for names that have their value."""
    for name in names:
        waiting.pop(name, None)


def keep_imports(body: list[ast.stmt]) -> list[ast.stmt]:
    """Put what a cell imports into `space` and `waiting`; return the statements that can run now.

    Imports are taken name by name: of modules that the page lacks, a placeholder is bound at once;
    large ones are kept until a cell reads their names. Settings of torch and of figures' style are
    dropped. The page asks `wanted` before `run`, so this is done twice for each cell, which does no
    harm.
    """
    now = []
    for node in one_by_one(body):
        absent, large = absent_names(node), absent_names(node, LATER)
        for name, module in absent.items():
            # `import posenc.nn` leaves the name to the package if that is there.
            if not isinstance(space.get(name), types.ModuleType):
                space[name] = Absent(module)
        waiting.update(dict.fromkeys(large, node))
        is_import = bool(absent or large)
        if not (is_import or is_setting(node) or ast.unparse(node) == STYLE):
            now.append(node)
    return now


def understood(body: list[ast.stmt]) -> Cell:
    """What the statements that can run now read and bind."""
    return understand(ast.unparse(ast.Module(body, [])))


def wanted(source: str) -> str:
    """A cell's code with the imports it needs now, from which Pyodide finds packages to load."""
    try:
        body = keep_imports(ast.parse(source).body)
        names = due(body)
    except SyntaxError:
        return ""
    code = ast.Module([*(waiting[name] for name in names), *body], [])
    lines = [ast.unparse(code)]
    for module, packages in BESIDE.items():
        if any(absent_names(node, (module,)) for node in ast.walk(code)):
            lines.append(f"import {packages}")
    return "\n".join(lines)


def compiled(code: str | ast.AST, file: str, mode: str = "exec") -> types.CodeType:
    """Compile code of a page, to which this module's import from the future doesn't apply."""
    return compile(code, file, mode, dont_inherit=True)


def is_quiet(source: str, statement: ast.stmt) -> bool:
    """Whether a semicolon follows the last statement, so that its value isn't shown."""
    line = source.split("\n")[statement.end_lineno - 1]
    return line.encode()[statement.end_col_offset :].lstrip().startswith(b";")


def import_due(body: list[ast.stmt]) -> None:
    """Run the imports that waited for a cell. One that fails waits on."""
    names = due(body)
    imports = [waiting[name] for name in names]
    exec(compiled(ast.Module(imports, []), HERE), space)
    forget(names)
    if "matplotlib" in sys.modules:
        draw_in_style()


def run_statements(body: list[ast.stmt], shows: bool, file: str) -> Any:
    """Run a cell's statements; return the value of the last one if it `shows`."""
    now = body[:-1] if shows else body
    exec(compiled(ast.Module(now, []), file), space)
    if shows:
        return eval(compiled(ast.Expression(body[-1].value), file, "eval"), space)
    return None


def execute(source: str, file: str) -> None:
    """Run a cell's statements, after those that waited for it, and show its last value."""
    compiled(source, file)  # an error has the line of the source
    written = ast.parse(source, file).body
    body = keep_imports(written)
    cell = understood(body)
    ran.append(cell)
    import_due(body)
    last = written[-1] if written else None
    shows = isinstance(last, ast.Expr) and last in body
    # A cell may give a waiting name another value, even if it fails afterwards.
    for name in cell.bound & waiting.keys():
        space.pop(name, None)
    try:
        value = run_statements(body, shows, file)
    finally:
        forget(cell.bound & space.keys())
    if value is not None and not is_quiet(source, last):
        display(value)


def describe(error: BaseException, file: str) -> dict[str, Any]:
    """An error as the page shows it, with the line of the cell that raised it."""
    summary = traceback.TracebackException.from_exception(error)
    inner = [frame for frame in summary.stack if frame.filename != HERE]
    summary.stack = traceback.StackSummary.from_list(inner)
    lines = [frame.lineno for frame in inner if frame.filename == file]
    # Of the cell itself, not of a text that it compiles.
    if isinstance(error, SyntaxError) and error.filename == file:
        lines = [error.lineno]
        summary.stack.clear()  # the parser's own frames
    # Of a SyntaxError, the place comes first, indented; of any error, its notes come last.
    parts = summary.format_exception_only()
    message = next(part for part in parts if not part.startswith(" "))
    return {
        "type": type(error).__name__,
        # Some messages begin with an empty line, as those of numpy.testing do.
        "says": re.sub(r":\s+", ": ", message, count=1).splitlines()[0],
        "text": "".join(summary.format()),
        "line": lines[-1] if lines else None,
    }


def run(source: str, name: str) -> str:
    """Run a cell. Return its error, if any, as JSON."""
    file = f"<{name}>"
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    out.length = err.length = 0
    done = {}
    with redirect_stdout(out), redirect_stderr(err):
        try:
            try:
                execute(source, file)
            finally:
                show()
        except BaseException as error:
            done["error"] = describe(error, file)
    sys.modules.pop("torch", None)  # the package checks there for the real torch
    return json.dumps(done)


os.environ["POSENC_STATIC"] = "1"  # widgets give their picture and state, no live view
os.environ["MPLBACKEND"] = "svg"
# Nothing to act on: the only font has all glyphs of the book, and the warning is threadpoolctl's.
logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
warnings.filterwarnings("ignore", "JsProxy.as_object_map", RuntimeWarning)
