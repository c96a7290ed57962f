"""`torch._foreach_*`: one operation on every tensor of a list, out of place or, with a last
underscore, in place. torch's optimizers use them and programs have taken them over; here they are
loops, since a step of an optimizer is one launch of its own."""

from ._errors import ShapeError
from ._tensor import Tensor

_UNARY = (
    "abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 "
    "neg reciprocal round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc zero"
).split()
_BINARY = (
    "add sub mul div pow maximum minimum clamp_min clamp_max addcmul addcdiv lerp copy"
).split()
_METHODS = {"maximum": "clamp_min", "minimum": "clamp_max"}


def _each(values, n):
    """One value for each of n tensors: a list, or one number or tensor for all."""
    if _listed(values):
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


def _counted(tensors):
    if not tensors:
        raise ShapeError("Tensor list must have at least one tensor.")
    return len(tensors)


def _over(name, in_place):
    method = name + "_" if in_place else name

    def applied(tensor, values, named):
        if name == "copy":
            return (tensor if in_place else tensor.clone()).copy_(values[0], **named)
        if name in ("maximum", "minimum"):
            return getattr(tensor, _METHODS[name] + "_" * in_place)(*values)
        if not isinstance(tensor, Tensor):
            return tensor ** values[0]
        if name in ("addcmul", "addcdiv") and len(values) == 3:
            return getattr(tensor, method)(*values[:2], value=values[2])
        return getattr(tensor, method)(*values, **named)

    def foreach(self, *lists, **named):
        lists += tuple(
            named.pop(key)
            for key in ("tensor1", "tensor2", "other", "exponent", "tensors1", "weight", "src")
            if key in named
        )
        scalars = named.pop("scalars", named.pop("scalar", named.pop("value", None)))
        lists += () if scalars is None else (scalars,)
        if name == "pow" and not _listed(self):  # one base, a list of exponents
            self = [self] * len(lists[0])
        n = _counted(self)
        if name in ("addcmul", "addcdiv") and isinstance(lists[-1], Tensor):
            lists = *lists[:-1], lists[-1].tolist()  # numbers of the tensors
        columns = [_each(values, n) for values in lists]
        found = [applied(t, row, named) for t, *row in zip(self, *columns)]
        return None if in_place else tuple(found)

    foreach.__name__ = foreach.__qualname__ = f"_foreach_{method}"
    foreach.__doc__ = f"`Tensor.{method}` of every tensor of a list."
    return foreach


def _foreach_max(self):
    """The greatest element of every tensor of a list."""
    _counted(self)
    return tuple(t.max() for t in self)


def _foreach_norm(self, ord=2, dtype=None):
    """The norm of every tensor of a list."""
    from .linalg import vector_norm

    return tuple(vector_norm(t, ord, dtype=dtype) for t in self)


for _name in _UNARY + _BINARY:
    if _name not in ("zero", "copy"):
        globals()[f"_foreach_{_name}"] = _over(_name, False)
    globals()[f"_foreach_{_name}_"] = _over(_name, True)
