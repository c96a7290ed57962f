"""The library through its Python binding, by C names, which the ledger maps to those of torch."""

import flambeau
import numpy as np

from . import ledger
from .gen import api


def _lookup(spelling):
    head, _, rest = spelling.partition(".")
    if head == "Tensor":
        return lambda self, *args, **kwargs: getattr(self, rest)(*args, **kwargs)
    target = flambeau if head == "torch" else flambeau.nn.functional
    for part in rest.split("."):
        target = getattr(target, part)
    return target


def function(name):
    """The Python function of an op, under the first of its torch names or else its own."""
    spellings = ledger.ops()[name]["torch"]
    return _lookup(spellings[0]) if spellings else getattr(api, name)


def inplace(name):
    """The in-place method, or None where the header derives none."""
    spellings = ledger.in_place(ledger.ops()[name])
    spelling = next((s for s in spellings if s.startswith("Tensor.")), None)
    return _lookup(spelling) if spelling else None


def has_out(name):
    row = ledger.ops()[name]
    return "out" in row["forms"] and any(s.startswith("torch.") for s in row["torch"])


def tensor(array, dtype, device="cpu", requires_grad=False):
    array = np.asarray(array)
    t = flambeau.tensor(array.astype(np.float64) if array.dtype.kind == "f" else array)
    t = t.to(getattr(flambeau, dtype)).to(device)
    return t.requires_grad_() if requires_grad else t


def array(t):
    """A tensor's values as float64, or as integers or bool."""
    t = t.detach().cpu()
    return t.double().numpy() if t.is_floating_point() else t.numpy()


def dtype_name(t):
    return str(t.dtype).removeprefix("torch.").removeprefix("flambeau.")
