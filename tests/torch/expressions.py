"""What torch has beside the table's ops: methods of tensors, conversions, construction, indexing,
printing. A line of expressions.txt is evaluated with each library as `torch`; tensors,
numbers, texts and errors are compared.
"""

from __future__ import annotations

import pathlib

import numpy as np

from .calls import Call
from .compare import Tolerance
from .walk import compare_call

LIST = pathlib.Path(__file__).with_name("expressions.txt")


def names(module):
    """What an expression may use, made anew for each."""
    t = module.arange(12.0).reshape(3, 4) / 4
    values = [1.0, 0.0, float("nan"), float("inf"), -2.5]

    def put(target, index, value):
        target[index] = value
        return target

    return {
        **{"torch": module, "F": module.nn.functional, "nn": module.nn, "np": np, "put": put},
        **{"t": t, "i": module.tensor([2, 0, 1, 1]), "b": module.tensor([True, False, True])},
        **{"s": module.tensor(1.0), "e": module.zeros(0), "g": module.ones(2, requires_grad=True)},
        **{"big": module.tensor([1e6, 1e-6, 123456.789]), "special": module.tensor(values)},
        "c": module.arange(24.0).reshape(1, 2, 3, 4),
    }


def groups():
    """The lines of each group, by its name."""
    found, group = {}, None
    for line in LIST.read_text().splitlines():
        if line.startswith("[") and line[1:-1].isalpha():
            group = found.setdefault(line[1:-1], [])
        elif line and not line.startswith("# "):
            group.append(line)
    return found


def into(found, ours, theirs):
    """Adds to `found` under the group's name."""
    for group, lines in groups().items():
        for line in lines:
            call = Call(
                f"({group})",
                "expression",
                line,
                lambda library: [],
                lambda library, line=line: evaluated(line, library),
                Tolerance(1, lambda dtype: 0.0),
            )
            compare_call(found, ours, theirs, call)
        found.calls[f"({group})"] = len(lines)


def evaluated(line, library):
    return eval(line, names(library.module))
