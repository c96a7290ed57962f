"""Functions and methods that also take an older form of call, or a form that only Python has.

Each stands in front of the generated function of its name, which does the work."""

import builtins
import warnings

from . import _indexing
from ._call import _fast
from ._deprecated import warn_once
from ._errors import DtypeError
from ._gen import ops
from ._types import NAMES, channels_last, channels_last_3d, preserve_format

_UINT8, _BOOL = NAMES["uint8"], NAMES["bool"]


def nonzero(input, *, as_tuple=False, out=None):
    """Where the elements are not zero: one row of indices for each, or one tensor per dimension."""
    if as_tuple:
        return ops._nonzero_tuple(input)
    found = ops._nonzero(input)
    return found if out is None else out.resize_(found.shape).copy_(found)


def range(start=0, end=None, step=1, *, dtype=None, device=None, requires_grad=False, out=None):
    """Numbers from `start` up to and with `end`. Deprecated in favour of `arange`."""
    warnings.warn(
        "torch.range is deprecated and will be removed in a future release because its behavior is "
        "inconsistent with Python's range builtin. Instead, use torch.arange, which produces "
        "values in [start, end).",
        UserWarning,
        stacklevel=2,
    )
    if end is None:
        start, end = 0, start
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    from ._factory import arange
    from ._functions import get_default_dtype

    n = int((end - start) / step) + 1
    kind = dtype or get_default_dtype()
    wide = NAMES["int64"] if not kind.is_floating_point else NAMES["float64"]
    made = (arange(n, dtype=wide, device=device) * step + start).to(kind)
    if out is not None:
        return out.resize_(made.shape).copy_(made)
    return made.requires_grad_(requires_grad)


def _with_uint8_conditions(name, place):
    function = ops.TORCH[name] if place == 0 else ops.TENSOR[name]

    def where(*args, **named):
        try:
            return function(*args, **named)
        except DtypeError:
            condition = named.get("condition", args[place] if len(args) > place else None)
            if getattr(condition, "dtype", None) is not _UINT8:
                raise
        warn_once(
            "where received a uint8 condition tensor. This behavior is deprecated and will be "
            "removed in a future version of PyTorch. Use a boolean condition instead."
        )
        if "condition" in named:
            return function(*args, **{**named, "condition": condition.to(_BOOL)})
        return function(*args[:place], condition.to(_BOOL), *args[place + 1 :], **named)

    where.__name__ = where.__qualname__ = name
    where.__doc__ = function.__doc__
    return where


def meshgrid(*tensors, indexing=None):
    """Grids of the coordinates in 1-d tensors; `indexing` is "ij" (the default) or "xy"."""
    if indexing is None:
        warn_once(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing "
            "argument."
        )
        indexing = "ij"
    return ops._meshgrid(*tensors, indexing=indexing)


def cross(input, other, dim=None, *, out=None):
    """The product of vectors of 3 along `dim`; without one along the first dimension of size 3."""
    if dim is None:
        warn_once(
            "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass "
            "the dim explicitly or simply use torch.linalg.cross.\nThe default value of dim will "
            "change to agree with that of linalg.cross in a future release."
        )
    return ops._cross(input, other, dim, out=out)


def _of_any_number(name):
    function = ops.TORCH[name]

    def at_least(*tensors):
        if len(tensors) == 1 and not isinstance(tensors[0], (list, tuple)):
            return function(tensors[0])
        return tuple(map(function, tensors[0] if len(tensors) == 1 else tensors))

    at_least.__name__ = at_least.__qualname__ = name
    at_least.__doc__ = function.__doc__
    return at_least


def norm(input, *args, out=None, **named):
    """The norm of all elements, or along dimensions; `linalg.norm` is its newer form."""
    found = ops.TORCH["norm"](input, *args, **named)
    return found if out is None else out.resize_(found.shape).copy_(found)


def is_nonzero(input):
    """Whether the only element differs from zero."""
    return bool(input)


def resize(self, *size):
    """A tensor of another shape. Deprecated."""
    warnings.warn("non-inplace resize is deprecated", UserWarning, stacklevel=2)
    return self.reshape(*size)


def resize_as(self, other):
    """A tensor of another's shape. Deprecated."""
    warnings.warn("non-inplace resize_as is deprecated", UserWarning, stacklevel=2)
    return self.reshape(other.shape)


def is_same_size(input, other):
    """Whether two tensors have one shape."""
    return input.shape == other.shape


_NHWC = {4: ((0, 2, 3, 1), (0, 3, 1, 2)), 5: ((0, 2, 3, 4, 1), (0, 4, 1, 2, 3))}


def _channels(tensor, memory_format):
    """The two orders of dimensions of a format with the channels last; None of other formats."""
    if memory_format not in (channels_last, channels_last_3d):
        return None
    n = 4 if memory_format is channels_last else 5
    if tensor.dim() != n:
        raise RuntimeError(f"required rank {n} tensor to use {str(memory_format)[6:]} format")
    return _NHWC[n]


def contiguous(self, memory_format=None):
    """The tensor itself where its elements lie one after the other in this order, else a copy."""
    orders = _channels(self, memory_format)
    if is_contiguous(self, memory_format):
        return self
    if orders is None:
        return ops._contiguous(self)
    return self.permute(orders[0]).contiguous().permute(orders[1])


def formatted(tensor, memory_format):
    """The tensor in the order asked for; one that is to keep its order, as it is."""
    if memory_format in (None, preserve_format):
        return tensor
    return contiguous(tensor, memory_format)


def clone(input, *, memory_format=None):
    """A copy with its own memory; laid out as the operand, or in the order asked for."""
    return formatted(ops._clone(input), memory_format)


def is_contiguous(self, memory_format=None):
    """Whether the elements lie one after the other in this order."""
    if memory_format in (channels_last, channels_last_3d):
        n = 4 if memory_format is channels_last else 5
        if self.dim() != n:
            return False
        self = self.permute(_NHWC[n][0])
    return bool(_fast.flam_tensor_is_contiguous(self._h))


def index_put_(self, indices, values, accumulate=False):
    """`self[indices] = values`, or with `accumulate` an addition to what is there, in place."""
    _indexing.put(self, tuple(_slice_of(i) for i in indices), values, accumulate)
    return self


def _slice_of(index):
    return slice(None) if index is None else index


def index_put(self, indices, values, accumulate=False):
    """A copy with `values` at `indices`."""
    return index_put_(self.clone(), indices, values, accumulate)


def sum_to_size(self, *size):
    """Summed over the dimensions that broadcasting from `size` would repeat."""
    size = tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else size
    if not size:
        return self.sum()
    more = self.dim() - len(size)
    fits = more >= 0 and all(n in (1, m) for n, m in zip(size, self.shape[more:]))
    if not fits:
        raise RuntimeError(
            f"size {{{list(size)}}} is not expandable to size {{{list(self.shape)}}}."
        )
    extra = list(builtins.range(more))
    ones = [more + d for d, n in enumerate(size) if n == 1 and self.shape[more + d] != 1]
    found = self.sum(extra + ones, keepdim=True) if extra + ones else self
    return found.reshape(size)


def set_(self, source=None):
    """Takes over the memory and shape of `source`."""
    self.data = source
    return self


def map_(self, tensor, callable):
    """Replaces every element of a cpu tensor by `callable` of it and of `tensor`'s; slow."""
    from ._factory import tensor as make

    pairs = zip(self.detach().reshape(-1).tolist(), tensor.expand(self.shape).reshape(-1).tolist())
    made = make([callable(a, b) for a, b in pairs], dtype=self.dtype)
    return self.copy_(made.reshape(self.shape))


def scalar_tensor(s, *, dtype=None, device=None, requires_grad=False):
    """A number as a 0-d tensor, of the default dtype where none is named."""
    from ._functions import get_default_dtype

    return ops._full((), s, dtype=dtype or get_default_dtype(), device=device).requires_grad_(
        requires_grad
    )


def is_inference(input):
    """Whether it was made in inference mode."""
    return input.is_inference()


def detach_(input):
    """Takes the tensor out of its graph, in place."""
    return input.detach_()


TORCH = {
    "clone": clone,
    "detach_": detach_,
    "index_put": index_put,
    "index_put_": index_put_,
    "is_inference": is_inference,
    "scalar_tensor": scalar_tensor,
    **{name: _of_any_number(name) for name in ("atleast_1d", "atleast_2d", "atleast_3d")},
    "norm": norm,
    "cross": cross,
    "is_nonzero": is_nonzero,
    "is_same_size": is_same_size,
    "meshgrid": meshgrid,
    "nonzero": nonzero,
    "range": range,
    "where": _with_uint8_conditions("where", 0),
}
TENSOR = {
    "clone": clone,
    "index_put": index_put,
    "index_put_": index_put_,
    "map_": map_,
    "set_": set_,
    "sum_to_size": sum_to_size,
    "contiguous": contiguous,
    "cross": cross,
    "is_contiguous": is_contiguous,
    "is_nonzero": is_nonzero,
    "is_same_size": is_same_size,
    "nonzero": nonzero,
    "resize": resize,
    "resize_as": resize_as,
    "where": _with_uint8_conditions("where", 1),
}
