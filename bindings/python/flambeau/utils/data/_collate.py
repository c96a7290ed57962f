"""Collation: a list of samples becomes a batch, tensor by tensor, through tuples and
dictionaries."""

import copy
from collections.abc import Mapping, MutableMapping, Sequence

from ..._tensor import Tensor
from ..._torch import as_tensor, float64, stack, tensor

default_collate_err_msg_format = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)


def default_collate(batch):
    """Stacks tensors, arrays and numbers; keeps strings; goes into mappings, named tuples and
    sequences."""
    first = batch[0]
    kind = type(first)
    if isinstance(first, Tensor):
        return stack(batch, 0)
    if kind.__module__ == "numpy" and not isinstance(first, (str, bytes)):
        if kind.__name__ == "ndarray":
            if first.dtype.kind not in "biuf":
                raise TypeError(default_collate_err_msg_format.format(first.dtype))
            return default_collate([as_tensor(b) for b in batch])
        return as_tensor(batch)
    if isinstance(first, float):
        return tensor(batch, dtype=float64)
    if isinstance(first, int):
        return tensor(batch)
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        return _like(first, {key: default_collate([b[key] for b in batch]) for key in first})
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return kind(*(default_collate(list(column)) for column in zip(*batch)))
    if isinstance(first, Sequence):
        if any(len(b) != len(first) for b in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        return [default_collate(list(column)) for column in zip(*batch)]
    raise TypeError(default_collate_err_msg_format.format(kind))


def _like(mapping, items):
    """The items in a mapping of the same class; in a dictionary where that takes no items."""
    if type(mapping) is dict:
        return items
    try:
        if not isinstance(mapping, MutableMapping):
            return type(mapping)(items)
        made = copy.copy(mapping)
        made.update(items)
        return made
    except TypeError:
        return items


def _over(function, data, listed):
    """A container of what a function makes of each of its parts; `listed` are kept as lists."""
    if isinstance(data, Mapping):
        return _like(data, {key: function(value) for key, value in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*map(function, data))
    return listed(map(function, data))


def default_convert(data):
    """Arrays become tensors, through containers; anything else stays."""
    if type(data).__module__ == "numpy":
        text = getattr(getattr(data, "dtype", None), "kind", "") in "SaUO"
        return data if text else as_tensor(data)
    if isinstance(data, (str, bytes)) or not isinstance(data, (Mapping, Sequence)):
        return data
    return _over(default_convert, data, list)


def pin(data):
    """The same batch in page-locked memory."""
    if isinstance(data, Tensor):
        return data.pin_memory()
    if isinstance(data, (Mapping, tuple, list)):
        return _over(pin, data, type(data))
    return data.pin_memory() if hasattr(data, "pin_memory") else data
