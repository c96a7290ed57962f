"""A function of complex tensors as one of the pairs of reals that they are: what checks gradients
by differences looks at both parts of every number."""

from .._gen import ops
from .._tensor import Tensor


def _is_complex(value):
    return isinstance(value, Tensor) and value.is_complex()


def as_pairs(value):
    """A complex leaf as a real one over its memory; a result as pairs, with its history."""
    if not _is_complex(value):
        return value
    pairs = ops.TORCH["view_as_real"](value.detach() if value.is_leaf else value)
    return pairs.requires_grad_() if value.is_leaf and value.requires_grad else pairs


def in_reals(func, inputs):
    """(function, inputs) without complex tensors, among the results neither: real inputs may have
    complex results."""
    numbers = [_is_complex(x) for x in inputs]

    def of_reals(*pairs):
        made = ops.TORCH["view_as_complex"]
        found = func(*(made(p) if n else p for p, n in zip(pairs, numbers)))
        if isinstance(found, (list, tuple)):
            return tuple(_results(found))
        return next(_results([found]))

    return of_reals, tuple(map(as_pairs, inputs))


def _results(values):
    return (ops.TORCH["view_as_real"](v) if _is_complex(v) else v for v in values)
