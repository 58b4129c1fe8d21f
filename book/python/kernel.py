"""Runs the cells of a page in Pyodide: as much of a notebook's kernel as the book needs.

`worker.js` imports this as the module `kernel`, and provides `send`, which takes a message as JSON.
A message has a `stream`, a `text`, or an `svg`, with a widget's state as `figure`.
"""

from __future__ import annotations

import ast
import builtins
import io
import json
import linecache
import logging
import os
import pprint
import sys
import traceback
import types
import warnings
from contextlib import redirect_stderr, redirect_stdout
from typing import Any, NamedTuple

from page import send  # registered by worker.js
from slices import absent_names, is_setting, one_by_one

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
# Chapters begin with STYLE, which would load matplotlib before a cell draws. So it waits with
# the import of PLOTS, and runs before the first cell that draws, even one that doesn't name PLOTS.
PLOTS = "plots"  # posenc.book.plots, as chapters import it
STYLE = "plots.use_style()"

main = types.ModuleType("__main__")
sys.modules["__main__"] = main
space = main.__dict__
# What earlier cells left; `record` alone adds to them.
later: dict[str, list[ast.stmt]] = {}  # by name: what to execute once a cell reads it
made: dict[str, set[str]] = {}  # the names that a name's definition uses


class Statements(NamedTuple):
    """A cell's statements, by when they can run."""

    # By name: the module that the page lacks, or the statements that wait until a cell reads it.
    absent: dict[str, str]
    waiting: dict[str, list[ast.stmt]]
    now: list[ast.stmt]


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


def tell_picture(svg: str, figure: Any = None) -> None:
    from svg_theme import follow_theme

    tell(svg=follow_theme(svg), figure=figure)


def display(*values: Any) -> None:
    """Show values as a notebook would: a widget, a picture, or text."""
    for value in values:
        bundle = getattr(value, "_repr_mimebundle_", None)
        data = bundle() if bundle else {}
        data = data[0] if isinstance(data, tuple) else data or {}
        if "image/svg+xml" in data:
            tell_picture(data["image/svg+xml"], data.get(FIGURE))
        elif isinstance(value, list | tuple | dict | set):
            tell(text=pprint.pformat(value, sort_dicts=False))
        else:
            tell(text=repr(value))


builtins.display = display


def show(*args: Any, **kwargs: Any) -> None:
    """Show the open figures of pyplot, and close them."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if not pyplot:
        return
    for number in pyplot.get_fignums():
        svg = io.StringIO()
        pyplot.figure(number).savefig(svg, format="svg", metadata={"Date": None})
        tell_picture(svg.getvalue())
    pyplot.close("all")


def can_run(body: list[ast.stmt]) -> Statements:
    """Sort a cell's statements; imports are split by name, settings of torch dropped.

    This reads `later`, and changes nothing.
    """
    cell = Statements({}, {}, [])
    for node in one_by_one(body):
        absent, waits = absent_names(node), absent_names(node, LATER)
        cell.absent.update(absent)
        cell.waiting.update({name: [node] for name in waits})
        style_waits = PLOTS in cell.waiting or PLOTS in later
        if style_waits and ast.unparse(node) == STYLE:
            statements = cell.waiting.get(PLOTS) or later[PLOTS]
            cell.waiting[PLOTS] = [*statements, node]
        elif not (absent or waits or is_setting(node)):
            cell.now.append(node)
    return cell


def record(cell: Statements) -> None:
    """Keep what a cell defers and defines, for this cell and those after it.

    The page asks `wanted` before `run`, so each cell is recorded twice, which does no harm.
    """
    space.update({name: Absent(module) for name, module in cell.absent.items()})
    later.update(cell.waiting)
    for node in cell.now:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            made[node.name] = names_in(node)
        elif isinstance(node, ast.Assign):
            made.update(dict.fromkeys(names_in(*node.targets), names_in(node.value)))


def names_in(*nodes: ast.AST) -> set[str]:
    parts = (part for node in nodes for part in ast.walk(node))
    return {part.id for part in parts if isinstance(part, ast.Name)}


def due(body: list[ast.stmt]) -> list[str]:
    """The deferred names that a cell reads, directly or through what other cells defined."""
    names = names_in(*body)
    while new := set().union(*(made.get(name, ()) for name in names)) - names:
        names |= new
    imports = [ast.unparse(later[name][0]) for name in names & later.keys()]
    if any("matplotlib" in line for line in imports):
        names.add(PLOTS)
    return sorted(names & later.keys())


def wanted(source: str) -> str:
    """A cell's code with the imports it needs now, from which Pyodide finds packages to load.

    It runs nothing, but records the cell as `execute` will.
    """
    try:
        cell = can_run(ast.parse(source).body)
    except SyntaxError:
        return ""
    record(cell)
    body = cell.now
    code = ast.Module(
        [*(node for name in due(body) for node in later[name]), *body], []
    )
    modules = [
        m for m in BESIDE if any(absent_names(node, (m,)) for node in ast.walk(code))
    ]
    return "\n".join(
        [ast.unparse(code), *(f"import {BESIDE[module]}" for module in modules)]
    )


def execute(source: str, file: str) -> None:
    """Run a cell's statements, after those that waited for it, and show its last value."""
    written = ast.parse(source, file).body
    cell = can_run(written)
    record(cell)
    body = cell.now
    waited = [node for name in due(body) for node in later.pop(name)]
    exec(compile(ast.Module(waited, []), HERE, "exec"), space)
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.show = show
    last = (
        body.pop()
        if body and body[-1] is written[-1] and isinstance(written[-1], ast.Expr)
        else None
    )
    exec(compile(ast.Module(body, []), file, "exec"), space)
    if isinstance(last, ast.Expr):
        value = eval(compile(ast.Expression(last.value), file, "eval"), space)
        if value is not None and not source.rstrip().endswith(";"):
            display(value)


def run(source: str, name: str) -> str:
    """Run a cell. Return its error, if any, as JSON."""
    file = f"<{name}>"
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    out.length = err.length = 0
    done: dict[str, Any] = {}
    with redirect_stdout(out), redirect_stderr(err):
        try:
            execute(source, file)
        except BaseException as error:
            summary = traceback.TracebackException.from_exception(error)
            inner = [frame for frame in summary.stack if frame.filename != HERE]
            summary.stack = traceback.StackSummary.from_list(inner)
            lines = [frame.lineno for frame in summary.stack if frame.filename == file]
            if isinstance(error, SyntaxError):
                lines = [error.lineno]
                summary.stack.clear()  # the parser's own frames
            done["error"] = {
                "type": type(error).__name__,
                "says": "".join(summary.format_exception_only())
                .strip()
                .splitlines()[-1],
                "text": "".join(summary.format()),
                "line": lines[-1] if lines else None,
            }
        show()
    sys.modules.pop("torch", None)  # the package checks there for the real torch
    return json.dumps(done)


os.environ["POSENC_STATIC"] = "1"  # widgets give their picture and state, no live view
os.environ["MPLBACKEND"] = "svg"
# Nothing to act on: the only font has all glyphs of the book, and the warning is threadpoolctl's.
logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
warnings.filterwarnings("ignore", "JsProxy.as_object_map", RuntimeWarning)
