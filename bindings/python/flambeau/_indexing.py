"""`x[...]` and `x[...] = value`: None, Ellipsis, slices, integers, masks, index tensors, lists and arrays.

An index is taken apart from left to right. What a view can express (None, Ellipsis, slices, integers) is applied
at once; index tensors and masks are collected by dimension and go to the library together.
"""

from . import _call
from ._call import _fast, _new, _raise
from ._gen import ops

_END = 2**63 - 1
_c_select, _c_slice, _c_unsqueeze = _fast.flam_select, _fast.flam_slice, _fast.flam_unsqueeze


def get(tensor, index):
    """`tensor[index]`."""
    if index.__class__ is int:
        return _wrapped(_c_select(_checked(tensor, index), 0, index))
    view, indices = _taken_apart(tensor, index)
    if indices:
        return ops.TENSOR["index"](view, _filled(indices))
    return _wrapped(_fast.flam_slice(view._h, 0, 0, _END, 1)) if view is tensor and tensor.dim() else \
        view.view(()) if view is tensor else view


def put(tensor, index, value):
    """`tensor[index] = value`."""
    from ._factory import as_tensor
    view, indices = _taken_apart(tensor, index)
    plain = isinstance(value, (int, float))
    if indices:
        if not hasattr(value, "_h"):
            value = ops.TORCH["full"]((), value, dtype=tensor.dtype, device=tensor.device) if plain else \
                as_tensor(value, dtype=tensor.dtype, device=tensor.device)
        ops.TENSOR["index_put_"](view, _filled(indices), value.to(tensor.device, tensor.dtype))
    elif plain:
        view.fill_(value)
    else:
        value = value if hasattr(value, "_h") else as_tensor(value, dtype=tensor.dtype)
        while value.dim() > view.dim() and value.shape[0] == 1:  # torch drops leading ones of the value
            value = value.squeeze(0)
        view.copy_(value)


# ---- taking an index apart -----------------------------------------------------------------------------------


def _wrapped(h):
    if not h:
        _raise()
    t = _new(_call.Tensor)
    t._h = h
    return t


def _checked(tensor, index, dim=0):
    """The tensor's handle; raises torch's texts for an integer that does not fit."""
    h = tensor._h
    if not _fast.flam_tensor_dim(h):
        raise IndexError("invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to "
                         "convert a 0-dim tensor to a number")
    size = _fast.flam_tensor_size(h, dim)
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of bounds for dimension {dim} with size {size}")
    return h


def _filled(indices):
    """The index tensors by dimension; None where a dimension is taken whole."""
    return [indices.get(d) for d in range(max(indices) + 1)]


def _items(index):
    """The parts of an index; sequences and arrays as tensors."""
    from ._factory import as_tensor
    parts = index if isinstance(index, tuple) or _is_tuple_like(index) else (index,)
    made = []
    for part in parts:
        if part is None or part is Ellipsis or isinstance(part, (slice, bool)) or hasattr(part, "_h"):
            made.append(part)
        elif isinstance(part, (list, tuple, range)):
            made.append(_index_tensor(part))
        elif type(part).__module__ == "numpy" and getattr(part, "shape", ()):
            made.append(as_tensor(part))
        elif hasattr(part, "__index__"):
            made.append(part.__index__())
        else:
            raise TypeError("only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid "
                            f"indices (got {type(part).__name__})")
    return made


def _is_tuple_like(index):
    """A short list that holds sequences, slices or tensors counts as a tuple, as it still does in torch."""
    return isinstance(index, list) and len(index) < 32 and any(
        part is None or part is Ellipsis or isinstance(part, (slice, list, tuple)) or hasattr(part, "_h")
        for part in index)


def _index_tensor(values):
    from . import _types
    from ._factory import tensor
    values = list(values)
    return tensor(values) if values else tensor(values, dtype=_types.NAMES["int64"])


def _is_mask(part):
    return part.dtype._name in ("bool", "uint8")


def _consumed(part):
    """How many dimensions of the tensor a part of the index stands for."""
    if part is None or part is Ellipsis or isinstance(part, bool):
        return 0
    return part.dim() if hasattr(part, "_h") and _is_mask(part) else 1


def _taken_apart(tensor, index):
    """(view, {dimension: index tensor}) after all that a view can do is done."""
    parts = _items(index)
    n, used = tensor.dim(), sum(map(_consumed, parts))
    if used > n:
        raise IndexError(f"too many indices for tensor of dimension {n}")
    view, dim, indices = tensor, 0, {}
    for part in parts:
        if part is Ellipsis:
            dim += n - used
        elif part is None or part is True or part is False:
            view = _wrapped(_c_unsqueeze(view._h, dim))
            if part is not None:
                indices[dim] = _index_tensor([0] if part else [])
            dim += 1
        elif isinstance(part, slice):
            view, dim = _sliced(view, dim, part), dim + 1
        elif part.__class__ is int:
            view = _wrapped(_c_select(_checked(view, part, dim), dim, part))
        else:
            view, dim = _with_tensor(view, dim, part, indices)
    return view, indices


def _sliced(view, dim, part):
    start = 0 if part.start is None else part.start.__index__()
    end = _END if part.stop is None else part.stop.__index__()
    step = 1 if part.step is None else part.step.__index__()
    if step <= 0:
        raise ValueError("step must be greater than zero")
    if start == 0 and end == _END and step == 1:
        return view
    return _wrapped(_c_slice(view._h, dim, start, end, step))


def _with_tensor(view, dim, part, indices):
    """Puts an index tensor in its place; a 0-d integer tensor selects as a number does."""
    if part.dtype.is_floating_point:
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    if _is_mask(part):
        return _with_mask(view, dim, part, indices)
    if part.dim() == 0:
        i = int(part.item())
        return _wrapped(_c_select(_checked(view, i, dim), dim, i)), dim
    indices[dim] = part
    return view, dim + 1


def _with_mask(view, dim, part, indices):
    """A mask stands for the positions where it is true, one index tensor per dimension of it."""
    part = part if part.dtype._name == "bool" else part.bool()
    if part.dim() == 0:
        view = _wrapped(_c_unsqueeze(view._h, dim))
        indices[dim] = _index_tensor([0] if part.item() else [])
        return view, dim + 1
    for i, size in enumerate(part.shape):
        if view.size(dim + i) != size:
            raise IndexError(f"The shape of the mask {list(part.shape)} at index {i} does not match the shape of the indexed "
                             f"tensor {list(view.shape)} at index {dim + i}")
    found = part.nonzero()
    for i in range(part.dim()):
        indices[dim + i] = found.select(1, i)
    return view, dim + part.dim()
