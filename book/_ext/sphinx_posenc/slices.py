"""Which cells of a chapter a cell needs. The page's kernel imports this, too.

A cell needs the last one above that binds a name it reads, and those between that may change the
object: with ``x[0] = 1``, ``x.append(1)`` or a draw from a random generator.
"""

import ast
import symtable


def bound_and_read(node: ast.AST) -> tuple[set[str], set[str]]:
    """Names that a statement binds, and free names that it reads, nested scopes included."""
    top = symtable.symtable(ast.unparse(node), "a statement", "exec")
    bound = {s.get_name() for s in top.get_symbols() if s.is_assigned() or s.is_imported()}
    read = {s.get_name() for s in top.get_symbols() if s.is_referenced()}
    inner = top.get_children()
    while inner:
        table = inner.pop()
        inner += table.get_children()
        read |= {s.get_name() for s in table.get_symbols() if s.is_global()}
    if not isinstance(node, ast.Assign | ast.AugAssign | ast.Expr):
        read -= bound  # a loop or function binds its names before it reads them
    return bound, read


def changed_by(node: ast.AST) -> set[str]:
    """Names whose objects a statement may change in place, nested scopes included."""
    found = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute | ast.Subscript) and isinstance(part.ctx, ast.Store):
            found.add(base_of(part))
        call = part.value if isinstance(part, ast.Expr) else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
            found.add(base_of(call.func))
        if isinstance(part, ast.Call) and base_of(part.func) in {"rng", "random", "generator"}:
            found.add(base_of(part.func))
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
    facts, modules = [], set[str]()  # what a module's functions set counts only where it's imported
    for cell in cells:
        imports = (node for node in ast.walk(cell) if isinstance(node, ast.Import | ast.ImportFrom))
        modules |= {each.asname or each.name for node in imports for each in node.names}
        bound, read, changed = set[str](), set[str](), set[str]()
        for node in cell.body:
            binds, reads = bound_and_read(node)
            read |= reads - bound
            bound |= binds
            changed |= changed_by(node)
        facts.append((bound, read, changed - bound, read & read_later(cell)))
    found: list[int] = []
    later: set[str] = set()  # functions read names when they are called: what binds them may follow
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


def read_later(cell: ast.Module) -> set[str]:
    """The names that functions of a cell read."""
    functions = (f for f in ast.walk(cell) if isinstance(f, ast.FunctionDef | ast.Lambda))
    return {n.id for f in functions for n in ast.walk(f) if isinstance(n, ast.Name)}
