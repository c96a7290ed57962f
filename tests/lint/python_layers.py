"""Who may import whom in the Python package: downwards only, and nobody in a circle. Imports inside
functions count, and so do the tables named `_LAZY` of what is loaded on first use, and names handed
to `import_module`; one that is computed would hide what is imported. A package's own file
(`nn/__init__.py`) is a module beside those that it holds.
"""

from __future__ import annotations

import ast
import graphlib
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path("bindings/python/flambeau")
# From the bottom up; a package stands for all that it holds and is not named itself. The packages
# between the first and the last see each other as long as there is no circle.
LAYERS = [
    "_errors _library _on_demand _deprecated.__init__ version",
    "_types _refused _signed _thread_state",
    "_call _callbacks _default_device _gen _memory_format _printing _scope",
    "_tensor",
    "_factory",
    "_complex _contract _copies _debug_switches _deprecated _dlpack _exchange foreach _functions "
    "_indexing _operators _signatures _storage _unique _words autograd linalg random "
    "special",
    "_torch",
    "",  # every other package
    "_C _methods overrides",
    "__init__",
    "__main__ as_torch",
]
PACKAGES = LAYERS.index("")
RANKS = {name: rank for rank, names in enumerate(LAYERS) for name in names.split()}
COMPUTE = {"_on_demand", "_methods"}  # import by names that their callers' tables, read here, hold


def module_of(path: Path) -> str:
    """The name below the package, `nn.modules.conv` or `nn.__init__`."""
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts)


def rank(module: str) -> int:
    for name in (module, module.split(".")[0]):
        if name in RANKS:
            return RANKS[name]
    return PACKAGES


def absolute(module: str, node: ast.ImportFrom) -> str | None:
    """What `from ... import` names, below the package; None for what is not in it."""
    if not node.level:
        first, _, rest = (node.module or "").partition(".")
        return rest if first == PACKAGE.name else None
    folder = module.split(".")[: -node.level]
    return ".".join([*folder, *(node.module or "").split(".")]).strip(".")


def imported_by_name(node: ast.AST) -> ast.expr | None:
    """What a call of `import_module` or `__import__` imports, as an expression."""
    if not isinstance(node, ast.Call) or not (node.args or node.keywords):
        return None
    called = getattr(node.func, "attr", getattr(node.func, "id", ""))
    if called not in ("import_module", "__import__"):
        return None
    return node.args[0] if node.args else node.keywords[0].value


def computed_imports(text: str, module: str) -> Iterator[int]:
    """Lines that import by a computed name. Allowed where names come from a table that `tables`
    reads, and at the top, which may see everything."""
    tree = ast.parse(text)
    if module in COMPUTE or rank(module) == len(LAYERS) - 1 or any(_named(tree, "_PARTS")):
        return
    for node in ast.walk(tree):
        name = imported_by_name(node)
        if name is not None and not isinstance(name, ast.Constant):
            yield node.lineno


def _named(tree: ast.Module, name: str) -> Iterator[ast.Assign]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == name:
            yield node


def tables(tree: ast.Module, module: str) -> Iterator[tuple[str, int]]:
    """The modules that a `_LAZY` table names as its keys, and those whose names `_PARTS` splits."""
    folder = module.split(".")[:-1]
    for node in _named(tree, "_LAZY"):
        for key in node.value.keys:
            if isinstance(key, ast.Constant):
                yield ".".join([*folder, key.value]), key.lineno
    for node in _named(tree, "_PARTS"):
        for name in node.value.func.value.value.split():
            yield ".".join([*folder, name]), node.lineno


def imports(text: str, module: str, known: set[str]) -> Iterator[tuple[str, int]]:
    """The package's modules that a file imports, with the lines."""

    def found(name: str) -> str | None:
        name = name.strip(".")
        whole = f"{name}.__init__".strip(".")
        return name if name in known else whole if whole in known else None

    tree = ast.parse(text)
    for name, line in tables(tree, module):
        yield found(name) or name, line
    for node in ast.walk(tree):
        named = imported_by_name(node)
        if isinstance(named, ast.Constant):
            rest = named.value.lstrip(".")
            base = absolute(module, ast.ImportFrom(rest, [], len(named.value) - len(rest)))
            if base is not None and found(base):
                yield found(base), node.lineno
        elif isinstance(node, ast.Import):
            for alias in node.names:
                first, _, rest = alias.name.partition(".")
                if first == PACKAGE.name and found(rest):
                    yield found(rest), node.lineno
        elif isinstance(node, ast.ImportFrom):
            base = absolute(module, node)
            for alias in node.names if base is not None else []:
                used = found(f"{base}.{alias.name}") or found(base)
                if used:
                    yield used, node.lineno


def check(root: Path, files: list[Path]) -> list[str]:
    paths = {module_of(p): p for p in files if p.is_relative_to(PACKAGE) and p.suffix == ".py"}
    known = {*paths, "_gen.__init__", "_gen.api", "_gen.ops"}
    faults, graph = [], {}
    for module, path in paths.items():
        graph[module] = set()
        text = (root / path).read_text()
        for line in computed_imports(text, module):
            faults.append(f"{path}:{line}: {module} imports a module by a name that is computed")
        for used, line in imports(text, module, known):
            if used == module:
                continue
            graph[module].add(used)
            if used not in known:
                faults.append(f"{path}:{line}: there is no module {used}")
            elif rank(used) > rank(module):
                faults.append(f"{path}:{line}: {module} does not see {used}, which is above it")
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as circle:
        faults.append(f"{PACKAGE}: a circle of imports: {' -> '.join(reversed(circle.args[1]))}")
    return faults
