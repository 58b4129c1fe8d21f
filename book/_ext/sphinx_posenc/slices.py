"""Which cells of a chapter a cell needs, and which need torch. The page's kernel imports this, too.

A cell needs the last one above that binds a name it reads, and those between that may change the
object: with ``x[0] = 1``, ``x.append(1)`` or a draw from a random generator.
"""

import ast
import copy
import re
import symtable
from collections.abc import Container, Iterable, Iterator

# Modules that Python in a page lacks.
ABSENT = ("torch", "posenc.nn", "posenc.book.experiments", "recall")


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
    found = {}
    if isinstance(node, ast.Import):
        found = {a.asname or a.name.partition(".")[0]: a.name for a in node.names}
    elif isinstance(node, ast.ImportFrom):
        found = {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
    parts = tuple(f"{module}." for module in modules)
    return {
        name: module for name, module in found.items() if f"{module}.".startswith(parts)
    }


def is_setting(node: ast.stmt) -> bool:
    """Whether a statement only sets a torch option."""
    return isinstance(node, ast.Expr) and ast.unparse(node).startswith("torch.set_")


def bound_and_read(node: ast.AST) -> tuple[set[str], set[str]]:
    """Names that a statement binds, and free names that it reads, nested scopes included."""
    top = symtable.symtable(ast.unparse(node), "a statement", "exec")
    bound = {
        s.get_name() for s in top.get_symbols() if s.is_assigned() or s.is_imported()
    }
    read = {s.get_name() for s in top.get_symbols() if s.is_referenced()}
    inner = top.get_children()
    while inner:
        table = inner.pop()
        inner += table.get_children()
        read |= {s.get_name() for s in table.get_symbols() if s.is_global()}
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


def changed_by(cell: ast.AST) -> set[str]:
    """Names whose objects a cell may change in place, nested scopes included."""
    found = set()
    for part in ast.walk(cell):
        if isinstance(part, ast.Attribute | ast.Subscript) and isinstance(
            part.ctx, ast.Store
        ):
            found.add(base_of(part))
        call = part.value if isinstance(part, ast.Expr) else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
            found.add(base_of(call.func))
        if isinstance(part, ast.Call):
            found |= {base_of(part.func)} & {"rng", "random", "generator"}
    return found - {""}


def base_of(node: ast.AST) -> str:
    """The name that a chain of attributes and items begins with."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def needed(sources: list[str], source: str) -> list[int]:
    """The numbers of the cells, among those above, that a cell needs."""
    try:
        cells = [ast.parse(each) for each in [*sources, source]]
    except SyntaxError:
        return []
    facts, modules = (
        [],
        set[str](),
    )  # what a module's functions set counts only where it's imported
    for cell in cells:
        imports = (
            node
            for node in ast.walk(cell)
            if isinstance(node, ast.Import | ast.ImportFrom)
        )
        modules |= {each.asname or each.name for node in imports for each in node.names}
        bound, read = of_cell(cell.body)
        functions = [
            f for f in ast.walk(cell) if isinstance(f, ast.FunctionDef | ast.Lambda)
        ]
        called = {
            n.id for f in functions for n in ast.walk(f) if isinstance(n, ast.Name)
        }
        facts.append((bound, read, changed_by(cell) - bound, read & called))
    found: list[int] = []
    later: set[str] = (
        set()
    )  # functions read names when they are called: what binds them may follow
    while True:
        wanted, before, found = facts[-1][1] | later, found, []
        for number in reversed(range(len(sources))):
            bound, read, changed, _ = facts[number]
            if (bound | changed - modules) & wanted:
                found.append(number)
                wanted = (wanted - bound) | read | changed
        later = later.union(*(facts[number][3] for number in found))
        if found == before:
            return found[::-1]


def needing_torch(
    sources: Iterable[str], tagged: Container[int] = ()
) -> Iterator[bool]:
    """Whether each cell of a chapter needs torch, directly or through another cell.

    A cell that merely imports torch along with other modules doesn't: ``kernel.py`` drops that
    import, and torch's settings. Where names can't tell, as with a dict that other cells fill,
    tag the cell `needs-torch`.
    """
    absent = set[str]()
    for number, source in enumerate(sources):
        body = [*one_by_one(ast.parse(source).body)]
        absent = absent.union(*map(absent_names, body))
        left = [
            node for node in body if not absent_names(node) and not is_setting(node)
        ]
        bound, read = of_cell(left)
        inner = any(absent_names(part) for node in left for part in ast.walk(node))
        executes = "exec" in read and re.search(r"\btorch\.", source)
        needs = bool(read & absent or executes or inner) or number in tagged
        absent = absent | bound if needs else absent - bound
        yield needs
