"""What runs the cells of a page, in Pyodide: as much of a notebook's kernel as the book needs.

`worker.js` loads this as the module `kernel`, and hands it `send`, which takes a message as JSON.
A message has one entry: `stream`, `text`, `svg`, `widget` or `state`.
"""

from __future__ import annotations

import ast
import builtins
import copy
import functools
import io
import json
import linecache
import logging
import os
import pprint
import sys
import time
import traceback
import types
import warnings
from contextlib import redirect_stderr, redirect_stdout
from importlib.machinery import ModuleSpec
from typing import Any

from page import send  # type: ignore[import-not-found]  # of worker.js
from unavailable import absent_names, is_setting, without_absent

# Large, and not needed by every cell: imported when a cell first reads what they are called.
LATER = ("matplotlib", "scipy", "sklearn", "sympy", "posenc.plots", "posenc.widgets")
LONGEST = 100_000  # characters that one cell may print
HERE = __file__

main = types.ModuleType("__main__")
sys.modules["__main__"] = main
space = main.__dict__
right: list[str] = []  # names of the checks that found an answer right, in this run
widgets: dict[int, Any] = {}  # that the page shows
# Names that wait: their module, and what is to be executed once a cell reads them.
later: dict[str, tuple[str, list[ast.stmt]]] = {}


class Absent:
    """Stands where a cell imported what isn't in the page; the cell's other imports work."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what the import itself asks for
            raise AttributeError(name)
        raise ModuleNotFoundError(
            f"{self._name} isn't in the page: this cell runs in the notebook", name=self._name
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__getattr__("")


class Stream(io.TextIOBase):
    """Standard output, sent a few times a second."""

    def __init__(self, name: str) -> None:
        self.name, self.kept, self.length, self.last = name, "", 0, 0.0

    def write(self, text: str) -> int:
        left = LONGEST - self.length
        self.length += len(text)
        self.kept += text[: max(left, 0)]
        if 0 < left < len(text):
            self.kept += "\n… and more than a page should hold"
        if time.monotonic() - self.last > 0.1:
            self.flush()
        return len(text)

    def flush(self) -> None:
        if self.kept:
            tell(stream=self.kept, name=self.name)
        self.kept, self.last = "", time.monotonic()


out, err = Stream("stdout"), Stream("stderr")


def tell(**message: Any) -> None:
    send(json.dumps(message))


def display(*values: Any) -> None:
    """Show values as a notebook would: a widget, a picture, or text."""
    for value in values:
        bundle = getattr(value, "_repr_mimebundle_", None)
        data = bundle() if bundle else {}
        data = data[0] if isinstance(data, tuple) else data or {}
        out.flush()
        err.flush()
        if "widget" in data:
            tell(widget=data["widget"], svg=themed(data["image/svg+xml"]))
        elif "image/svg+xml" in data:
            tell(svg=themed(data["image/svg+xml"]))
        elif isinstance(value, list | tuple | dict | set):
            tell(text=pprint.pformat(value, sort_dicts=False))
        else:
            tell(text=repr(value))


builtins.display = display  # type: ignore[attr-defined]


def themed(svg: str) -> str:
    from svg_theme import follow_theme

    return follow_theme(svg)


def show_figures() -> None:
    """Show the open figures of pyplot, and close them."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if not pyplot:
        return
    out.flush()
    for number in pyplot.get_fignums():
        svg = io.StringIO()
        pyplot.figure(number).savefig(svg, format="svg", metadata={"Date": None})
        tell(svg=themed(svg.getvalue()))
    pyplot.close("all")


def note_checks() -> None:
    """Have each check of an exercise say when it finds an answer right."""
    for name, value in list(space.items()):
        is_check = name.startswith("check_") and isinstance(value, types.FunctionType)
        if is_check and not hasattr(value, "__wrapped__"):
            space[name] = noting(name, value)


def noting(name: str, check: Any) -> Any:
    @functools.wraps(check)
    def noted(*args: Any, **kwargs: Any) -> Any:
        found = check(*args, **kwargs)
        right.append(name)
        return found

    return noted


def outside(summary: traceback.TracebackException) -> None:
    """Leave this file's own lines out of a traceback."""
    frames = [frame for frame in summary.stack if frame.filename != HERE]
    summary.stack = traceback.StackSummary.from_list(frames)
    for other in (summary.__cause__, summary.__context__):
        if other:
            outside(other)


def names_in(code: types.CodeType) -> set[str]:
    """The names that a function's code reads, and the functions inside it."""
    inner = (names_in(const) for const in code.co_consts if isinstance(const, types.CodeType))
    return set(code.co_names).union(*inner)


def reached(tree: ast.AST) -> set[str]:
    """The names that a cell reads, itself or through functions and classes of other cells."""
    names = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name)]
    found = set(names)
    for name in names:  # grows
        value = space.get(name)
        parts = [value, *vars(value).values()] if isinstance(value, type) else [value]
        codes = [part.__code__ for part in parts if isinstance(part, types.FunctionType)]
        new = set().union(*map(names_in, codes)) - found
        found |= new
        names += new
    return found


def postpone(tree: ast.Module) -> None:
    """Take the imports that can wait out of a cell, and what is set for them."""
    body = []
    for node in tree.body:
        for name, module in absent_names(node, LATER).items():
            alone = copy.deepcopy(node)
            alone.names = [a for a in node.names if name in (a.asname, a.name.partition(".")[0])]
            later[name] = module, [alone]
        left = without_absent(node, LATER)
        if left and "plots" in later and ast.unparse(left) == "plots.use_style()":
            later["plots"][1].append(left)
        elif left:
            body.append(left)
    tree.body = body


def due(tree: ast.AST) -> list[str]:
    """The names that a cell reads and that waited until now; all drawing asks for our style."""
    names = reached(tree) & later.keys()
    if any(later[name][0].startswith("matplotlib") for name in names):
        names |= {"plots"} & later.keys()
    return sorted(names)


def wanted(source: str) -> str:
    """The modules that a cell needs now, as JSON: its imports, and those that waited for it."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return "[]"
    postpone(tree)
    modules = [later[name][0] for name in due(tree)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules += [f"{node.module}.{alias.name}" for alias in node.names]
    return json.dumps(modules)


def execute(source: str, file: str) -> None:
    tree = ast.parse(source, file)
    end = tree.body[-1] if tree.body else None
    postpone(tree)
    waited = [node for name in due(tree) for node in later.pop(name)[1]]
    exec(compile(ast.Module(waited, []), HERE, "exec"), space)
    body = []
    for node in tree.body:
        space.update({name: Absent(module) for name, module in absent_names(node).items()})
        left = without_absent(node)
        if left and not is_setting(left):
            body.append(left)
    last = body.pop() if body and body[-1] is end and isinstance(end, ast.Expr) else None
    exec(compile(ast.Module(body, []), file, "exec"), space)
    if last:
        value = eval(compile(ast.Expression(last.value), file, "eval"), space)
        if value is not None and not source.rstrip().endswith(";"):
            display(value)


def run(source: str, name: str) -> str:
    """Run a cell. Return as JSON what became of it."""
    file = f"<{name}>"
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    right.clear()
    out.length = err.length = 0
    done: dict[str, Any] = {}
    start = time.perf_counter()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            execute(source, file)
        except BaseException as error:
            summary = traceback.TracebackException.from_exception(error)
            outside(summary)
            lines = [frame.lineno for frame in summary.stack if frame.filename == file]
            if isinstance(error, SyntaxError):
                lines = [error.lineno]
            done["error"] = {
                "type": type(error).__name__,
                "says": "".join(summary.format_exception_only()).strip().splitlines()[-1],
                "text": "".join(summary.format()),
                "line": lines[-1] if lines else None,
            }
        show_figures()
    out.flush()
    err.flush()
    sys.modules.pop("torch", None)  # the package looks there for torch itself
    note_checks()
    return json.dumps(done | {"right": right, "seconds": time.perf_counter() - start})


def move(number: int, state: str) -> None:
    """Set a widget to what the reader made of it."""
    widget = widgets[number]
    for name, value in json.loads(state).items():
        if getattr(widget, name) != value:
            setattr(widget, name, value)


def widget_base() -> types.ModuleType:
    """Make a stand-in for anywidget, which would bring Jupyter: it tells the page its state."""
    import traitlets

    class AnyWidget(traitlets.HasTraits):
        def __init__(self, **state: Any) -> None:
            super().__init__(**state)
            self.observe(self.tell_state)

        def shared(self) -> dict[str, Any]:
            return {name: getattr(self, name) for name in self.trait_names(sync=True)}

        def tell_state(self, change: Any) -> None:
            if widgets.get(id(self)) is self:
                tell(state=self.shared(), number=id(self))

        def open(self) -> None:
            pass

        def _repr_mimebundle_(self, **kwargs: Any) -> Any:
            widgets[id(self)] = self
            return {"widget": {"number": id(self), "state": self.shared()}}, {}

    module = types.ModuleType("anywidget")
    module.AnyWidget = AnyWidget  # type: ignore[attr-defined]
    return module


class Finder:
    """Finds anywidget when it is imported, as traitlets comes late; and torch, which is absent."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> Any:
        return ModuleSpec(name, Finder) if name in ("anywidget", "torch") else None

    @staticmethod
    def create_module(spec: Any) -> Any:
        return widget_base() if spec.name == "anywidget" else Absent(spec.name)

    @staticmethod
    def exec_module(module: Any) -> None:
        pass


sys.meta_path.append(Finder)
os.environ["MPLBACKEND"] = "module://drawn"
# One font is here, and it holds all that the book draws; and a page can't mend threadpoolctl.
logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
warnings.filterwarnings("ignore", "JsProxy.as_object_map", RuntimeWarning)
