"""The library through its Python binding, by C names, which api.json maps to those of torch."""

import functools
import json
import pathlib

import flambeau
import numpy as np
from flambeau._gen import api

ROOT = pathlib.Path(__file__).resolve().parents[2]


@functools.cache
def functions():
    schema = json.loads((ROOT / "bindings" / "api.json").read_text())["functions"]
    return {f["name"].removeprefix("flam_"): f for f in schema if f["namespace"] == "ops"}


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
    spellings = functions()[name]["torch"]
    return _lookup(spellings[0]) if spellings else getattr(api, name)


def inplace(name):
    """The in-place method, or None where the header derives none."""
    form = functions().get(name + "_")
    if not form or form["form"] != "inplace":
        return None
    spelling = next((s for s in form["torch"] if s.startswith("Tensor.")), None)
    return _lookup(spelling) if spelling else None


def has_out(name):
    form = functions().get(name + "_out")
    return bool(form) and any(s.startswith("torch.") for s in functions()[name]["torch"])


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
