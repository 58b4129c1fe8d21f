"""Which cells of a chapter a cell needs, and which need torch.

A cell needs the last one above that binds a name it reads, and those between that may change the
object: with ``x[0] = 1``, ``x.append(1)`` or a draw from a random generator. The page asks for
them; the build asks which cells can't run there.
"""

import ast
import copy
import re
import symtable
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass

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


def absent_names(node: ast.AST, modules: tuple[str, ...] = ABSENT) -> dict[str, str]:
    """The names that an import binds to these modules or their parts, and what each refers to."""
    names = {}
    if isinstance(node, ast.Import):
        names = {a.asname or a.name.partition(".")[0]: a.name for a in node.names}
    elif isinstance(node, ast.ImportFrom):
        names = {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
    parts = tuple(f"{module}." for module in modules)
    return {name: full for name, full in names.items() if f"{full}.".startswith(parts)}


def is_setting(node: ast.stmt) -> bool:
    """Whether a statement only sets a torch option."""
    return isinstance(node, ast.Expr) and ast.unparse(node).startswith("torch.set_")


def bound_and_read(node: ast.AST) -> tuple[set[str], set[str]]:
    """Names that a statement binds, and free names that it reads, nested scopes included."""
    top = symtable.symtable(ast.unparse(node), "a statement", "exec")
    bound, read = set[str](), set[str]()
    for symbol in top.get_symbols():
        if symbol.is_assigned() or symbol.is_imported():
            bound.add(symbol.get_name())
        if symbol.is_referenced():
            read.add(symbol.get_name())
    scopes = top.get_children()
    while scopes:
        scope = scopes.pop()
        scopes += scope.get_children()
        read |= {s.get_name() for s in scope.get_symbols() if s.is_global()}
    if not isinstance(node, ast.Assign | ast.AugAssign | ast.Expr):
        read -= bound  # a loop or function binds its names before it reads them
    return bound, read


def of_cell(body: Iterable[ast.stmt]) -> tuple[set[str], set[str]]:
    """Names that a cell binds, and those that it reads before."""
    bound, read = set[str](), set[str]()
    for node in body:
        binds, reads = bound_and_read(node)
        read |= reads - bound
        bound |= binds
    return bound, read


def base_of(node: ast.AST) -> str:
    """The name that a chain of attributes and items begins with."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def changed_by(cell: ast.AST) -> set[str]:
    """Names whose objects a cell may change in place, nested scopes included."""
    names = set()
    for part in ast.walk(cell):
        if isinstance(part, ast.Attribute | ast.Subscript):
            if isinstance(part.ctx, ast.Store):
                names.add(base_of(part))
        elif isinstance(part, ast.Expr) and isinstance(part.value, ast.Call):
            if isinstance(part.value.func, ast.Attribute):  # x.append(1)
                names.add(base_of(part.value))
        elif isinstance(part, ast.Call) and base_of(part) in GENERATORS:
            names.add(base_of(part))
    return names - {""}


@dataclass
class Cell:
    """What the choice of cells goes by."""

    bound: set[str]
    read: set[str]
    changed: set[str]
    late: set[str]  # read by functions, only when they are called
    imported: set[str]


def understand(source: str) -> Cell:
    """Parse a cell."""
    tree = ast.parse(source)
    bound, read = of_cell(tree.body)
    inside, imported = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            inside |= {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
        elif isinstance(node, ast.Import | ast.ImportFrom):
            imported |= {alias.asname or alias.name for alias in node.names}
    return Cell(bound, read, changed_by(tree) - bound, read & inside, imported)


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
        cells = [understand(each) for each in sources]
        wanted_first = understand(source).read
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
        wanted = wanted_first | later
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
    sources: Iterable[str], tagged: Container[int] = ()
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
        bound, read = of_cell(rest)
        imports = any(absent_names(part) for node in rest for part in ast.walk(node))
        executes = "exec" in read and re.search(r"\btorch\.", source)
        needs = bool(read & absent or executes or imports) or number in tagged
        absent = absent | bound if needs else absent - bound
        yield needs
