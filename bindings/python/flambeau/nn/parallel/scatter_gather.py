"""Tensors cut along a dimension over devices and put together again, inside any nest of tuples,
lists and dictionaries. Both directions are recorded: gradients flow back the other way."""

from ..._deprecated import warn
from ..._tensor import Tensor
from ..._torch import cat
from ..._types import device as _device


def as_device(named):
    """A device from a number, a name or a device."""
    return _device("cuda", named) if isinstance(named, int) else _device(named)


def _is_named(value):
    return isinstance(value, tuple) and hasattr(value, "_fields")


def _scattered(value, devices, dim):
    """One entry per device that gets something; what is not a tensor is the same everywhere."""
    if isinstance(value, Tensor):
        parts = value.chunk(len(devices), dim)
        return [part.to(to, non_blocking=True) for part, to in zip(parts, devices)]
    if isinstance(value, (tuple, list)) and value:
        rows = zip(*(_scattered(v, devices, dim) for v in value))
        kind = type(value)
        return [kind(*row) if _is_named(value) else kind(row) for row in rows]
    if isinstance(value, dict) and value:
        rows = zip(*(_scattered(v, devices, dim) for v in value.values()))
        return [type(value)(zip(value, row)) for row in rows]
    return [value] * len(devices)


def scatter(inputs, target_gpus, dim=0):
    """A list with one copy of the nest per device, its tensors cut into chunks along `dim`. Fewer
    entries than devices come back where a tensor has fewer rows."""
    return _scattered(inputs, [as_device(d) for d in target_gpus], dim)


def scatter_kwargs(inputs, kwargs, target_gpus, dim=0):
    """Positional and keyword arguments scattered, and filled up to one length."""
    given = scatter(inputs, target_gpus, dim) if inputs else []
    named = scatter(kwargs, target_gpus, dim) if kwargs else []
    n = max(len(given), len(named))
    given += [() for _ in range(n - len(given))]
    named += [{} for _ in range(n - len(named))]
    return tuple(given), tuple(named)


def gather(outputs, target_device, dim=0):
    """The nest of the replicas' results with each tensor concatenated along `dim` on one device;
    scalars become a vector with one element per replica."""
    first = outputs[0]
    if isinstance(first, Tensor):
        if any(t.dim() == 0 for t in outputs):
            if dim == 0:
                warn(
                    "Was asked to gather along dimension 0, but all input tensors were scalars; "
                    "will instead unsqueeze and return a vector."
                )
            outputs = [t.reshape(1) for t in outputs]
        target = _device("cpu") if target_device == -1 else as_device(target_device)
        return cat([t.to(target, non_blocking=target.type != "cpu") for t in outputs], dim)
    if first is None:
        return None
    if isinstance(first, dict):
        if any(len(first) != len(out) for out in outputs):
            raise ValueError("All dicts must have the same number of keys")
        return type(first)((k, gather([o[k] for o in outputs], target_device, dim)) for k in first)
    if isinstance(first, (tuple, list)):
        merged = [gather(list(row), target_device, dim) for row in zip(*outputs)]
        return type(first)(*merged) if _is_named(first) else type(first)(merged)
    raise TypeError(
        f"gather: the replicas returned {type(first).__name__}; expected tensors, or tuples, lists "
        "and dictionaries of them"
    )
