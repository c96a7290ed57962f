"""Copies under the names of the views that they show, and relatives of in-place methods that return
a copy."""

from ._call import fill as fill_out
from ._gen import ops
from ._on_demand import called
from ._tensor import Tensor

_VIEWS = (
    "as_strided detach diagonal expand narrow permute select split split_with_sizes squeeze t "
    "transpose unbind unfold unsqueeze view"
).split()


def _copied(found):
    """Tensors with memory of their own, in C order."""
    if not hasattr(found, "_h"):
        return tuple(map(_copied, found))
    return found.clone().contiguous()


def _given(found, out):
    """What was found, in `out` where there is one; torch returns nothing for a list of them."""
    if out is None:
        return found
    filled = fill_out(out, found, "copy")
    return filled if hasattr(out, "_h") else None


def to_dense(self, dtype=None, *, masked_grad=None):
    """The tensor itself, as none is sparse; in another dtype where one is asked for."""
    return self if dtype is None else self.to(dtype)


def _copying(name):
    def copy(input, *args, out=None, **named):
        named.pop("implicit", None)
        return _given(_copied(getattr(input, name)(*args, **named)), out)

    return called(copy, f"{name}_copy", f"A copy of what `Tensor.{name}` shows.")


globals().update({f"{name}_copy": _copying(name) for name in _VIEWS})


def alias_copy(input, *, out=None):
    """A copy."""
    return _given(_copied(input), out)


def slice_copy(input, dim=0, start=None, end=None, step=1, *, out=None):
    """A copy of a slice along a dimension."""
    part = [slice(None)] * input.dim()
    part[dim] = slice(start, end, step)
    return _given(_copied(input[tuple(part)]), out)


def _calling(name, method, doc, prepare=None):
    """A function that calls a method, of what `prepare` makes of the tensor."""

    def function(input, *args, **named):
        return getattr(prepare(input) if prepare else input, method)(*args, **named)

    return called(function, name, doc)


def _unsafe(name):
    def parts(input, *args, **named):
        return tuple(part.clone() for part in getattr(input, name)(*args, **named))

    doc = f"As `{name}`, but parts that may be written in place: here they have their own memory."
    return called(parts, f"unsafe_{name}", doc)


globals().update(
    {f"unsafe_{name}": _unsafe(name) for name in ("chunk", "split", "split_with_sizes")}
)
resize_as_ = _calling("resize_as_", "resize_as_", "Gives a tensor another's shape, in place.")
fill = _calling("fill", "fill_", "A copy with one value everywhere.", Tensor.clone)
put = _calling("put", "put_", "A copy with values at places of the tensor as a row.", Tensor.clone)


def empty_permuted(size, physical_layout, *, requires_grad=False, **named):
    """A tensor whose dimensions lie in memory in the order given; its elements are not set."""
    order = list(physical_layout)
    if sorted(order) != list(range(len(size))):
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout; i.e. "
            f"len(size) = {len(size)} is not equal to len(physical_layout) = {len(order)}"
            if len(order) != len(size)
            else f"Duplicate or missing dim in physical_layout: {order}"
        )
    named = {key: v for key, v in named.items() if key in ("dtype", "device") and v is not None}
    made = ops.TORCH["empty"]([size[d] for d in order], **named)
    found = made.permute([order.index(d) for d in range(len(order))])
    return found.requires_grad_() if requires_grad else found


def new_empty_strided(self, size, stride, dtype=None, device=None, requires_grad=False, **_):
    """A tensor of this one's dtype and device with given strides; its elements are not set."""
    like = {"dtype": dtype or self.dtype, "device": device or self.device}
    return ops.TORCH["empty_strided"](size, stride, **like, requires_grad=requires_grad)


def nonzero_static(input, *, size, fill_value=-1, out=None):
    """The first `size` rows of `nonzero`; rows that are wanting hold `fill_value`."""
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    found = ops.TORCH["nonzero"](input)[:size]
    made = found.new_full((size, input.dim()), fill_value)
    made[: found.shape[0]] = found
    return made if out is None else fill_out(out, made, "nonzero_static")
