"""What isn't in a page: `run` marks the cells that need it, and the page's kernel leaves it out."""

from __future__ import annotations

import ast

ABSENT = ("torch", "posenc.nn", "posenc.experiments")


def is_absent(module: str) -> bool:
    """Whether it is one of these, or a part of torch."""
    return module in ABSENT or module.startswith("torch.")


def imported(node: ast.AST) -> list[tuple[str, str]]:
    """List the modules that a statement imports, each with the name that it binds."""
    if isinstance(node, ast.Import):
        return [(alias.name, alias.asname or alias.name.partition(".")[0]) for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module:
        return [(node.module, alias.asname or alias.name) for alias in node.names]
    return []


def absent_names(node: ast.AST) -> dict[str, str]:
    """The names that a statement binds to what isn't in the page, and what that is."""
    return {name: module for module, name in imported(node) if is_absent(module)}


def is_setting(node: ast.stmt) -> bool:
    """Whether a statement only sets something for torch."""
    return isinstance(node, ast.Expr) and ast.unparse(node).startswith("torch.set_")
