"""The operands of a call that PyTorch's samples make, taken apart so that they can be made again in
either library: same values, dtypes, strides, and the same tensor where one stands twice.
"""

from __future__ import annotations

import numpy as np


class Left(Exception):
    """An operand that neither library is asked about: complex, sparse, a subclass, a generator, or
    one of more dimensions than an array has."""


class Operands:
    """`self(library)` makes the tensors; the rest of the call is the same for both libraries."""

    def __init__(self, torch, args, kwargs, slopes, wide=False):
        self.torch, self.slopes, self.wide = torch, slopes, wide
        self.tensors, self.places = [], {}
        self.args, self.kwargs = self._taken(args), self._taken(kwargs)
        self.differentiable = tuple(slopes and t.requires_grad and t.is_leaf for t in self.tensors)
        self.images = [image(torch, t) for t in self.tensors]

    def _taken(self, value):
        """The call with a Place for each tensor."""
        if isinstance(value, self.torch.Tensor):
            return self._place(value)
        if isinstance(value, dict):
            return {k: self._taken(v) for k, v in value.items()}
        if isinstance(value, (list, tuple)):
            taken = [self._taken(v) for v in value]
            return taken if isinstance(value, list) else tuple(taken)
        if type(value).__name__ in ("Generator", "SymInt") or isinstance(
            value, self.torch.nn.Module
        ):
            raise Left
        if isinstance(value, self.torch.layout) and value != self.torch.strided:
            raise Left
        if isinstance(value, self.torch.dtype) and "complex" in str(value):
            raise Left
        return value

    def _place(self, t):
        if id(t) not in self.places:
            self.places[id(t)] = Place(len(self.tensors))
            self.tensors.append(t)
        return self.places[id(t)]

    def __call__(self, library, requires_grad=False):
        """The tensors; leaves, for whoever wants gradients to say so."""
        made = [self._made(library, *each) for each in self.images]
        for t, slope in zip(made, self.differentiable):
            t.requires_grad_(requires_grad and slope)
        return made

    def _made(self, library, values, dtype, shape, strides):
        dtype = "float64" if self.wide and "float" in dtype else dtype
        t = library.tensor(values, dtype)
        return t if strides is None else library.module.as_strided(t, shape, strides)

    def precise(self, results_float):
        return Operands(self.torch, *self.given(self.tensors), self.slopes, wide=True)

    def call(self, spelling):
        return self.calling(lambda library: library.find(spelling))

    def by(self, f):
        """The call by a function that asks its operands, as those of `operator` do."""
        return self.calling(lambda library: f)

    def calling(self, find):
        def invoke(library, *tensors):
            args, kwargs = self.given(tensors)
            f = find(library)
            return f(*said(library, self.torch, args), **said(library, self.torch, kwargs))

        return invoke

    def given(self, tensors):
        """The call's arguments, with these tensors in the places of its own."""
        return filled(self.args, tensors), filled(self.kwargs, tensors)


class Place:
    """Where a tensor stands in a call."""

    def __init__(self, index):
        self.index = index


def filled(value, tensors):
    if isinstance(value, Place):
        return tensors[value.index]
    if isinstance(value, dict):
        return {k: filled(v, tensors) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(filled(v, tensors) for v in value)
    return value


def said(library, torch, value):
    """Constants of torch in the words of a library."""
    if isinstance(value, (torch.dtype, torch.memory_format, torch.layout)):
        return getattr(library.module, str(value).rpartition(".")[2])
    if isinstance(value, torch.device):
        return library.module.device(str(value))
    if callable(value) and hasattr(torch.nn.functional, getattr(value, "__name__", "")):
        return getattr(library.module.nn.functional, value.__name__)
    if isinstance(value, dict):
        return {k: said(library, torch, v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(said(library, torch, v) for v in value)
    return value


def image(torch, t):
    """(values, dtype, shape, strides) from which a tensor can be made again."""
    plain = type(t) in (torch.Tensor, torch.nn.Parameter) and t.layout == torch.strided
    if not plain or t.is_complex() or t.device.type != "cpu" or t.dim() > 32:
        raise Left
    with torch.no_grad():
        t = t.detach()
        strides = None
        if not t.is_contiguous():
            strides = t.stride()
            span = 1 + sum((n - 1) * s for n, s in zip(t.shape, strides))
            t, shape = torch.as_strided(t, (span,), (1,)), t.shape
        values = t.float() if t.dtype == torch.bfloat16 else t
        made = np.array(values.numpy())
        return made, str(t.dtype).rpartition(".")[2], strides and tuple(shape), strides


def described(args, kwargs):
    parts = [brief(v) for v in args] + [f"{k}={brief(v)}" for k, v in kwargs.items()]
    return ", ".join(parts)[:160]


def brief(value):
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(brief(v) for v in value) + "]"
    if hasattr(value, "stride"):
        return f"{str(value.dtype).rpartition('.')[2]}{list(value.shape)}"
    return repr(value)
