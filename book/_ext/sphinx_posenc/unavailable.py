"""Modules that Python in a page lacks.

`browser_cells` marks the cells that need them; the page's kernel drops their imports.
"""

import ast

ABSENT = ("torch", "posenc.nn", "posenc.book.experiments", "recall")


def absent_names(node: ast.AST, modules: tuple[str, ...] = ABSENT) -> dict[str, str]:
    """The names that an import binds to these modules or their parts, and what each refers to."""
    if isinstance(node, ast.Import):
        found = [(a.asname or a.name.partition(".")[0], a.name) for a in node.names]
    elif isinstance(node, ast.ImportFrom) and node.module:
        found = [(a.asname or a.name, f"{node.module}.{a.name}") for a in node.names]
    else:
        found = []
    return {
        name: module
        for name, module in found
        if any(f"{module}.".startswith(f"{part}.") for part in modules)
    }


def without_absent(node: ast.stmt, modules: tuple[str, ...] = ABSENT) -> ast.stmt | None:
    """A statement without its imports of these modules; None if nothing is left."""
    absent = absent_names(node, modules)
    if not absent or not isinstance(node, ast.Import | ast.ImportFrom):
        return node
    left = [a for a in node.names if (a.asname or a.name.partition(".")[0]) not in absent]
    node.names = left
    return node if left else None


def is_setting(node: ast.stmt) -> bool:
    """Whether a statement only sets a torch option."""
    return isinstance(node, ast.Expr) and ast.unparse(node).startswith("torch.set_")
