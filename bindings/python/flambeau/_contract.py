"""`einsum` and `tensordot` in torch's spellings: subscripts as lists, dimensions as a count."""

from . import _call
from ._gen import api

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def einsum(*args):
    """Sums of products of operands over labelled dimensions.

    `einsum("ij,jk->ik", a, b)`, or with numbers for labels `einsum(a, [0, 1], b, [1, 2], [0, 2])`.
    A repeated label of one operand takes its diagonal, `...` stands for any number of dimensions
    that broadcast, and without `->` the labels that occur once make the result, in alphabetical
    order."""
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one "
            "operand and its subscripts list"
        )
    if isinstance(args[0], str):
        equation, operands = args[0], args[1:]
        if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
            operands = operands[0]
    else:
        operands = args[0 : len(args) - 1 : 2] if len(args) % 2 else args[::2]
        equation = ",".join(_subscripts(s) for s in args[1::2])
        if len(args) % 2:
            equation += "->" + _subscripts(args[-1])
    return api.einsum(equation, operands)


def _subscripts(labels):
    """A list of numbers and `...` as letters."""
    text = ""
    for label in labels:
        if label is Ellipsis:
            text += "..."
        elif 0 <= label < len(_LETTERS):
            text += _LETTERS[label]
        else:
            raise ValueError(
                "einsum(): subscript in subscript list is not within the valid range [0, 52)"
            )
    return text


def tensordot(a, b, dims=2, out=None):
    """The product of `a` and `b` summed over pairs of dimensions.

    `dims` is how many: the last ones of `a` with the first ones of `b`; or two lists of
    dimensions, one of each operand."""
    if isinstance(dims, _call.Tensor):
        dims = dims.tolist() if dims.dim() else int(dims.item())
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.dim(), b.dim()):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        dims_a, dims_b = list(range(-dims, 0)), list(range(dims))
    else:
        dims_a, dims_b = ([d] if isinstance(d, int) else list(d) for d in dims)
    result = api.tensordot(a, b, dims_a, dims_b)
    return result if out is None else _call.fill(out, result, "tensordot")
