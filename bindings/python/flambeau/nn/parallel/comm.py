"""Tensors copied to, cut over and summed up from several GPUs; gradients flow back through each."""

from ..._torch import cat
from .scatter_gather import as_device

__all__ = ["broadcast", "broadcast_coalesced", "gather", "reduce_add", "reduce_add_coalesced",
           "scatter"]  # fmt: skip


def _only_one(out, devices):
    if (out is None) == (devices is None):
        raise RuntimeError("Exactly one of 'devices' and 'out' must be specified")


def broadcast(tensor, devices=None, *, out=None):
    """A tuple with a copy per device, or `out` filled with copies."""
    _only_one(out, devices)
    if out is not None:
        return tuple(o.copy_(tensor, non_blocking=True) for o in out)
    return tuple(tensor.to(as_device(d), non_blocking=True) for d in devices)


def broadcast_coalesced(tensors, devices, buffer_size=10485760):
    """Per device the list of copies of all tensors."""
    return tuple([t.to(as_device(d), non_blocking=True) for t in tensors] for d in devices)


def reduce_add(inputs, destination=None):
    """The sum of tensors of different devices, on one of them (the current one)."""
    to = as_device("cuda" if destination is None else destination)
    total = inputs[0].to(to, non_blocking=True)
    for other in inputs[1:]:
        if other.shape != total.shape:
            raise ValueError(
                f"input shapes must match: got {tuple(other.shape)} and {tuple(total.shape)}"
            )
        total = total + other.to(to, non_blocking=True)
    return total


def reduce_add_coalesced(inputs, destination=None, buffer_size=10485760):
    """The sums of several tensors: `inputs` has a list of them for each device."""
    return tuple(reduce_add(list(each), destination) for each in zip(*inputs))


def scatter(tensor, devices=None, chunk_sizes=None, dim=0, streams=None, *, out=None):
    """Pieces of a tensor along `dim`, one per device, as even as they can be or of
    `chunk_sizes`."""
    _only_one(out, devices)
    if out is not None:
        parts = tensor.split([o.shape[dim] for o in out], dim)
        return tuple(o.copy_(part, non_blocking=True) for o, part in zip(out, parts))
    parts = (
        tensor.chunk(len(devices), dim) if chunk_sizes is None else tensor.split(chunk_sizes, dim)
    )
    return tuple(part.to(as_device(d), non_blocking=True) for part, d in zip(parts, devices))


def gather(tensors, dim=0, destination=None, *, out=None):
    """The pieces put together on one device (the current one), or in `out`."""
    if out is not None:
        return out.copy_(cat([t.to(out.device) for t in tensors], dim))
    to = as_device("cuda" if destination is None else destination)
    return cat([t.to(to, non_blocking=True) for t in tensors], dim)
