"""`x[...]` and `x[...] = value`: an index becomes a list of items for the library, which does the
rest.

An item is a kind, three numbers and perhaps a tensor (see `flam_index`). A single integer, by far
the most frequent index, goes straight to `flam_select`."""

from operator import index as index_of

from ._call import _NULL, _NUMBERS, _blocking, _fast, _own_view, _raise, _scalar
from ._deprecated import warn
from ._factory import as_tensor
from ._factory import tensor as tensor_of
from ._gen import api
from ._on_demand import called
from ._tensor import Tensor
from ._types import NAMES

_UINT8 = NAMES["uint8"]
_END = 2**63 - 1
_IN_TUPLES = slice, list, tuple, type(None), type(Ellipsis)
_KINDS = api._E_flam_index_kind
_INT, _SLICE, _NONE, _ELLIPSIS, _BOOL, _TENSOR = (
    _KINDS[k] for k in ("int", "slice", "newaxis", "ellipsis", "bool", "tensor")
)


def get(tensor, index):
    """`tensor[index]`."""
    if index.__class__ is int:
        t = _own_view(Tensor, tensor, _fast.flam_select, _checked(tensor, index), 0, index)
    else:
        items, kept = _items(index)
        t = _own_view(Tensor, tensor, _blocking.flam_index, tensor._h, *items)
    return _raise() if t is None else t


def put(tensor, index, value, accumulate=False):
    """`tensor[index] = value`; with `accumulate` an addition."""
    items, kept = _items(index)
    if value.__class__ in _NUMBERS:
        value = _scalar(value)
    elif not hasattr(value, "_h"):
        value = as_tensor(value, dtype=tensor.dtype, device=tensor.device)
    h = _blocking.flam_index_put_(tensor._h, *items, value._h, accumulate)
    if not h:
        _raise()


def _checked(tensor, index):
    """The tensor's handle; raises torch's text where there is no dimension to index."""
    h = tensor._h
    if not _fast.flam_tensor_dim(h):
        raise IndexError(
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` "
            "in C++ to convert a 0-dim tensor to a number"
        )
    size = _fast.flam_tensor_size(h, 0)
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of bounds for dimension 0 with size {size}")
    return h


def _is_tuple_like(index):
    """A short list that holds sequences, slices or tensors counts as a tuple, as it still does in
    torch."""
    if not isinstance(index, list) or len(index) >= 32:
        return False
    return any(isinstance(part, _IN_TUPLES) or hasattr(part, "_h") for part in index)


def _items(index):
    """What C takes for an index (kinds, bounds and tensors), and what keeps its tensors alive."""
    kinds, bounds, tensors, kept = [], [], [], []
    for part in index if isinstance(index, tuple) or _is_tuple_like(index) else (index,):
        numbers = (0, 0, 0)
        if part.__class__ is int:
            kind, numbers = _INT, (part, 0, 0)
        elif part.__class__ is slice:
            kind, numbers = _SLICE, _bounds(part)
        elif part is None:
            kind = _NONE
        elif part is Ellipsis:
            kind = _ELLIPSIS
        elif isinstance(part, bool):
            kind, numbers = _BOOL, (part, 0, 0)
        else:
            found = _as_index(part)
            if found.__class__ is int:
                kind, numbers = _INT, (found, 0, 0)
            else:
                kind = _TENSOR
                kept.append(found)
                tensors.append(found._h)
        kinds.append(kind)
        bounds += numbers
    items = (kinds, len(kinds), bounds, len(bounds), tensors or _NULL, len(tensors))
    return items, kept


def _bounds(part):
    try:
        step = 1 if part.step is None else index_of(part.step)
        start = 0 if part.start is None else index_of(part.start)
        stop = _END if part.stop is None else index_of(part.stop)
    except TypeError:
        raise TypeError(
            "slice indices must be integers or None or have an __index__ method"
        ) from None
    if step <= 0:
        raise ValueError(f"slice step {'must be greater than' if step else 'cannot be'} zero")
    return start, stop, step


def _as_index(part):
    """An int, or a tensor of indices or truth values, for whatever else may stand in an index."""
    if hasattr(part, "_h"):
        if part.dtype.is_floating_point:
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
        if part.dtype is _UINT8:
            warn(
                "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool "
                "instead."
            )
        return part
    if isinstance(part, (list, tuple, range)):
        values = list(part)
        return tensor_of(values) if values else tensor_of(values, dtype=NAMES["int64"])
    if type(part).__module__ == "numpy" and getattr(part, "shape", ()):
        return as_tensor(part)
    if hasattr(part, "__index__"):
        return part.__index__()
    raise (TypeError if isinstance(part, str) else IndexError)(
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid "
        f"indices (got {type(part).__name__})"
    )


# By its name functions tell it from `torch.put`.
Tensor.__getitem__, Tensor.__setitem__ = get, called(put, "__setitem__")
