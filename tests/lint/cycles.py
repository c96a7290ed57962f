"""Inner functions of the package that call themselves: such a function is held by its own closure,
so that what it closes over, often tensors, lives until Python looks for cycles.
"""

from __future__ import annotations

import ast
from pathlib import Path

PACKAGE = Path("bindings/python/flambeau")
FUNCTIONS = ast.FunctionDef, ast.AsyncFunctionDef


def inner(outer: ast.AST) -> list[ast.AST]:
    """The functions that stand in a function itself, not in one of them."""
    found, rest = [], list(ast.iter_child_nodes(outer))
    while rest:
        node = rest.pop()
        if isinstance(node, FUNCTIONS):
            found.append(node)
        elif not isinstance(node, ast.ClassDef):
            rest += ast.iter_child_nodes(node)
    return found


def called(function: ast.AST) -> set[str]:
    calls = (node.func for node in ast.walk(function) if isinstance(node, ast.Call))
    return {f.id for f in calls if isinstance(f, ast.Name)}


def cycles(text: str) -> list[tuple[int, str]]:
    """Line and name of each inner function that reaches itself by calls."""
    found = []
    for outer in ast.walk(ast.parse(text)):
        functions = {f.name: f for f in inner(outer)} if isinstance(outer, FUNCTIONS) else {}
        calls = {name: called(f) & functions.keys() for name, f in functions.items()}
        for name, f in functions.items():
            seen, rest = set(), list(calls[name])
            while rest:
                next_ = rest.pop()
                if next_ not in seen:
                    seen.add(next_)
                    rest += calls[next_]
            if name in seen:
                found.append((f.lineno, name))
    return sorted(found)


def check(root: Path, files: list[Path]) -> list[str]:
    return [
        f"{path}:{number}: {name} calls itself and is held by its own closure; make it a function "
        "of the module"
        for path in files
        if path.suffix == ".py" and path.is_relative_to(PACKAGE)
        for number, name in cycles((root / path).read_text())
    ]
