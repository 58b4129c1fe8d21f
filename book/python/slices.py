"""Which cells of a chapter a cell needs, and which need torch.

A cell needs the last one above that binds a name it reads, and those between that may change the
object: with ``x[0] = 1``, ``x.append(1)`` or a draw from a random generator. The page asks for
them; the build asks which cells can't run there.
"""

import ast
import copy
import dis
from collections.abc import Container, Iterator
from dataclasses import dataclass
from functools import cache
from types import CodeType

# Modules that Python in a page lacks.
ABSENT = ("torch", "posenc.nn", "posenc.book.experiments", "recall")
GENERATORS = {"rng", "random", "generator"}


def one_by_one(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements, with imports split into one name each."""
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                alone = copy.copy(node)
                alone.names = [alias]
                yield alone
        else:
            yield node


def absent_names(
    node: ast.AST,
    modules: tuple[str, ...] = ABSENT,
) -> dict[str, str]:
    """The names that an import binds to these modules or their parts, and what each refers to."""
    names = {}
    if isinstance(node, ast.Import):
        names = {a.asname or a.name.partition(".")[0]: a.name for a in node.names}
    elif isinstance(node, ast.ImportFrom):
        names = {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
    parts = tuple(f"{module}." for module in modules)
    return {name: full for name, full in names.items() if f"{full}.".startswith(parts)}


def is_setting(node: ast.AST) -> bool:
    """Whether a statement only sets a torch option."""
    return isinstance(node, ast.Expr) and ast.unparse(node).startswith("torch.set_")


@dataclass
class Cell:
    """What the choice of cells goes by."""

    bound: set[str]  # names that the cell binds
    read: set[str]  # names that it takes from the cells around it
    late: set[str]  # those of them that its functions read, only when they are called
    changed: set[str]  # names whose objects it may change in place
    imported: set[str]


def read_later(code: CodeType) -> set[str]:
    """The names of the notebook that functions and classes within a piece of code read."""
    names = set()
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            steps = [*dis.get_instructions(inner)]
            own = {step.argval for step in steps if step.opname == "STORE_NAME"}
            loads = ("LOAD_GLOBAL", "LOAD_NAME")
            names |= {step.argval for step in steps if step.opname in loads} - own
            names |= read_later(inner)
    return names


def base_of(node: ast.AST) -> str:
    """The name that a chain of attributes and items begins with."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def changes(node: ast.AST) -> bool:
    """Whether a part of a cell may change an object in place.

    Seen are ``x[0] = 1``, ``del x[0]``, ``x.append(1)`` and ``y = rng.random()``; not seen are
    ``last = x.pop()``, ``f(x)`` and a function's ``global x``: write such a cell in another way.
    """
    if isinstance(node, ast.Attribute | ast.Subscript):
        return isinstance(node.ctx, ast.Store | ast.Del)
    if isinstance(node, ast.Expr):  # x.append(1), whose value nobody takes
        call = node.value
        return isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
    return isinstance(node, ast.Call) and base_of(node) in GENERATORS


@cache
def understand(source: str) -> Cell:
    """Parse a cell."""
    tree = ast.parse(source)
    code = compile(tree, "a cell", "exec")
    bound, read, imported, changed = set(), set(), set(), set()
    # The compiled code has names in the order in which they are read and bound.
    for step in dis.get_instructions(code):
        if step.opname == "STORE_NAME":
            bound.add(step.argval)
        elif step.opname == "LOAD_NAME" and step.argval not in bound:
            read.add(step.argval)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            imported |= {alias.asname or alias.name for alias in node.names}
        elif changes(node):
            changed.add(base_of(node.value if isinstance(node, ast.Expr) else node))
    late = read_later(code) - bound
    return Cell(bound, read | late, late, changed - bound - {""}, imported)


def needed(sources: list[str], source: str) -> list[int]:
    """The numbers of the cells, among those above, that a cell needs.

    With these four cells above, ``print(total)`` needs 0, 2 and 3::

        0  x = [1]            binds x
        1  y = 2              nobody wants y
        2  x.append(3)        changes x, which 3 reads
        3  total = sum(x)     binds total, reads x

    From the last to the first: 3 binds the wanted ``total``, so ``x`` is wanted instead; 2 changes
    ``x``, which stays wanted; 0 binds it.
    """
    try:
        cells = [understand(above) for above in sources]
        first = understand(source).read
    except SyntaxError:
        return []
    # What a module's functions set counts only where the module is imported.
    modules = set[str]().union(*(cell.imported for cell in cells))
    # Functions read names when they are called: what binds those may follow the function.
    later = set[str]()
    chosen: list[int] = []
    # A round may choose a function that reads more names, so another follows. It ends, since
    # `later` only grows, by names of these cells; once it doesn't, a round chooses the same.
    while True:
        wanted = first | later
        before, chosen = chosen, []
        for number in reversed(range(len(cells))):
            cell = cells[number]
            if (cell.bound | (cell.changed - modules)) & wanted:
                chosen.append(number)
                wanted = (wanted - cell.bound) | cell.read | cell.changed
        later = later.union(*(cells[number].late for number in chosen))
        if chosen == before:
            return chosen[::-1]


def needing_torch(
    sources: list[str],
    tagged: Container[int] = (),
) -> Iterator[bool]:
    """Whether each cell of a chapter needs torch, directly or through another cell.

    A cell that merely imports torch along with other modules doesn't: ``kernel.py`` drops that
    import, and torch's settings. Where names can't tell, as with a dict that other cells fill,
    tag the cell `needs-torch`.
    """
    absent = set[str]()  # names that can't be had
    for number, source in enumerate(sources):
        rest = []
        for node in one_by_one(ast.parse(source).body):
            names = absent_names(node)
            absent |= names.keys()
            if not names and not is_setting(node):
                rest.append(node)
        cell = understand(ast.unparse(ast.Module(rest, [])))
        imports = any(absent_names(part) for node in rest for part in ast.walk(node))
        executes = "exec" in cell.read and "torch." in source
        needs = bool(cell.read & absent) or imports or executes or number in tagged
        absent = absent | cell.bound if needs else absent - cell.bound
        yield needs
