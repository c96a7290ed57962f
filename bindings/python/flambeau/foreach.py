"""`torch.foreach`, and `torch._foreach_*` as torch had it before: one operation on every tensor of
a list, out of place or, with a last underscore, in place. torch's optimizers use them and programs
have taken them over; here they are loops, since a step of an optimizer is one launch of its own."""

from ._errors import ShapeError
from ._on_demand import called as _called
from ._tensor import Tensor

_UNARY = (
    "abs acos asin atan ceil clone cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p "
    "log2 neg reciprocal round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc zero"
).split()
_BINARY = (
    "add sub mul div pow maximum minimum clamp_min clamp_max addcmul addcdiv lerp copy mm"
).split()
_ONLY = {"clone": False, "mm": False, "zero": True, "copy": True}  # in place or out of it
_METHODS = {"maximum": "clamp_min", "minimum": "clamp_max"}
_OPERANDS = "tensor1 tensor2 tensors1 other exponent end mat2 weight src".split()
_NUMBERS = "scalars scalar value".split()
# Operands that are lists of tensors, where no number stands for them.
_LISTS = {"copy": ["src"], "mm": ["mat2"], "lerp": ["tensors1"]}
_LISTS["addcmul"] = _LISTS["addcdiv"] = ["tensor1", "tensor2"]


def _each(values, n):
    """One value for each of n tensors: a list, or one number or tensor for all."""
    if _listed(values):
        if len(values) != n and not any(isinstance(v, Tensor) for v in values):
            raise ShapeError("Tensor list must have same number of elements as scalar list.")
        if len(values) != n:
            raise ShapeError(
                f"Tensor lists must have the same number of tensors, got {n} and {len(values)}"
            )
        return values
    if isinstance(values, Tensor) and values.dim() > 0:
        raise ShapeError(
            f"scalar tensor expected to be 0 dim but it has {values.dim()} dimensions and "
            f"{values.numel()} elements."
        )
    return [values] * n


def _listed(value):
    return isinstance(value, (list, tuple))


def _counted(tensors, name, operand="self", place=0):
    if not _listed(tensors):
        raise TypeError(
            f"_foreach_{name}(): argument '{operand}' (position {place + 1}) must be tuple of "
            f"Tensors, not {type(tensors).__name__}"
        )
    if not tensors:
        raise ShapeError("Tensor list must have at least one tensor.")
    for i, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor):
            raise TypeError(
                f"expected Tensor as element {i} in argument {place}, but got "
                f"{type(tensor).__name__}"
            )
    return len(tensors)


def _over(name, in_place):
    suffix = "_" * in_place
    method, pointwise = _METHODS.get(name, name) + suffix, name in ("addcmul", "addcdiv")

    def applied(tensor, values, named):
        if not isinstance(tensor, Tensor):
            return tensor ** values[0]
        if pointwise and len(values) == 3:
            return getattr(tensor, method)(*values[:2], value=values[2])
        return getattr(tensor, method)(*values, **named)

    def foreach(inputs, /, *lists, **named):
        lists += tuple(named.pop(key) for key in _OPERANDS if key in named)
        numbers = [named.pop(key) for key in _NUMBERS if key in named]
        lists += tuple(numbers)
        one_base = name == "pow" and not _listed(inputs) and _listed(lists[0])
        n = _counted(lists[0] if one_base else inputs, name + suffix)
        inputs = [inputs] * n if one_base else inputs
        for place, (operand, values) in enumerate(zip(_LISTS.get(name, ()), lists), 1):
            _counted(values, name + suffix, operand, place)
        if pointwise and isinstance(lists[-1], Tensor):
            lists = *lists[:-1], lists[-1].tolist()  # numbers of the tensors
        columns = [_each(values, n) for values in lists]
        found = [applied(t, row, named) for t, *row in zip(inputs, *columns)]
        return inputs if in_place else tuple(found)

    text = f"`Tensor.{name}{suffix}` of every tensor of a list."
    return _called(foreach, name + suffix, text)


def max(inputs, /):
    """The greatest element of every tensor of a list."""
    _counted(inputs, "max")
    return tuple(t.max() for t in inputs)


def norm(inputs, /, ord=2, dtype=None):
    """The norm of every tensor of a list."""
    from .linalg import vector_norm

    _counted(inputs, "norm")
    return tuple(vector_norm(t, ord, dtype=dtype) for t in inputs)


for _name in _UNARY + _BINARY:
    for _in_place in (False, True):
        if _ONLY.get(_name, _in_place) == _in_place:
            globals()[_name + "_" * _in_place] = _over(_name, _in_place)
__all__ = sorted(name for name in globals() if name[0].islower())
