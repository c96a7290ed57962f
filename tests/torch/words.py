"""The names of parameters and their defaults: every function and method that both have takes, by
keyword, what PyTorch's stub files name, of every overload; and what is left out is the same.
"""

from __future__ import annotations

import ast
import inspect
import pathlib
import warnings

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
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # some calls are of old functions
            function(*given, **{name: object()})
    except TypeError as problem:
        return f"unexpected keyword argument '{name}'" in str(problem)
    except Exception:  # of the value, which is nothing that fits
        pass
    return False


# Modules whose functions and classes are Python's in both, which tell their defaults.
MODULES = (
    "nn nn.functional nn.init nn.utils nn.utils.rnn nn.utils.parametrizations optim amp autograd "
    "optim.lr_scheduler autograd.functional func distributions utils.data utils.checkpoint"
).split()
PLAIN = (int, float, str, tuple, list, type(None))


def defaults(torch):
    """`{"module.function": {parameter: default}}`, of values that can be compared."""
    found = {}
    for path in MODULES:
        module = torch
        for part in path.split("."):
            module = getattr(module, part)
        for name in (n for n in dir(module) if not n.startswith("_")):
            try:
                told = inspect.signature(getattr(module, name)).parameters
            except (TypeError, ValueError):  # no function, or one of C
                continue
            given = {k: p.default for k, p in told.items() if isinstance(p.default, PLAIN)}
            found[f"{path}.{name}"] = given
    return found


def compare_defaults(found, ours, theirs):
    mine, row = defaults(ours.module), "(defaults)"
    for name, wanted in defaults(theirs.module).items():
        for parameter in wanted.keys() & mine.get(name, {}).keys():
            found.calls[row] = found.calls.get(row, 0) + 1
            a, b = mine[name][parameter], wanted[parameter]
            if a != b or isinstance(a, bool) != isinstance(b, bool):
                text = f"{name} has {parameter}={a!r}, PyTorch {b!r}"
                found.differences.append(Difference(row, "value", text))


def into(found, ours, theirs):
    compare_defaults(found, ours, theirs)
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
