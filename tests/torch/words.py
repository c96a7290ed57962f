"""The names of parameters: every function and method that both have takes, by keyword, what
PyTorch's stub files name, of every overload.
"""

from __future__ import annotations

import ast
import pathlib

from .compare import Difference

# Where memory lies and dimensions have names: other parts of the comparison, or left out.
APART = frozenset("self cls out layout pin_memory memory_format names non_blocking".split())


def parameters(body):
    """`{function: names}` of what a stub file defines; private ones are nobody's words."""
    found = {}
    for node in body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            names = {a.arg for a in (*node.args.args, *node.args.kwonlyargs)}
            found.setdefault(node.name, set()).update(names - APART)
    return found


def stubs(torch):
    folder = pathlib.Path(torch.__file__).parent / "_C"
    functions = ast.parse((folder / "_VariableFunctions.pyi").read_text("utf-8")).body
    classes = ast.parse((folder / "__init__.pyi").read_text("utf-8")).body
    (tensor,) = (c for c in classes if isinstance(c, ast.ClassDef) and c.name == "TensorBase")
    return {"torch": parameters(functions), "Tensor": parameters(tensor.body)}


def is_unknown(function, given, name):
    try:
        function(*given, **{name: object()})
    except TypeError as problem:
        return f"unexpected keyword argument '{name}'" in str(problem)
    except Exception:  # of the value, which is nothing that fits
        pass
    return False


def into(found, ours, theirs):
    module, row = ours.module, "(words)"
    owners = {"torch": (module, ()), "Tensor": (module.Tensor, (module.ones(2, 2),))}
    for where, functions in stubs(theirs.module).items():
        owner, given = owners[where]
        for name, words in sorted(functions.items()):
            function = getattr(owner, name, None)
            if not callable(function):
                continue
            for word in sorted(words):
                found.calls[row] = found.calls.get(row, 0) + 1
                if is_unknown(function, given, word):
                    text = f"flambeau's {where}.{name} has no {word}"
                    found.differences.append(Difference(row, "name", text))
