"""Which tensors of a module DistributedDataParallel keeps alike on all ranks, and what its ranks
agree on beside gradients when some have run out of data."""

import dataclasses

from ... import distributed as dist
from ..._gen import api
from ..._tensor import Tensor
from ..._torch import tensor


def named(pairs):
    """Tensors with their names, as the library takes them."""
    state = api.state_new()
    for name, value in pairs:
        api.state_set(state, name, value)
    return state


def modules_with_buffers(module, ignored):
    """(module, names of its buffers that are kept alike)."""
    found = []
    for path, part in module.named_modules():
        names = [
            name
            for name, value in part._buffers.items()
            if value is not None and (f"{path}.{name}" if path else name) not in ignored
        ]
        if names:
            found.append((part, names))
    return found


def buffers_of(found):
    """The buffers that the modules have now: programs put others in their place."""
    values = [part._buffers.get(name) for part, names in found for name in names]
    return [value for value in values if value is not None]


def tensors_in(value):
    """The tensors of what a forward returned, however nested."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, dict):
        value = value.values()
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = [getattr(value, field.name) for field in dataclasses.fields(value)]
    elif not isinstance(value, (list, tuple)):
        return []
    return [found for part in value for found in tensors_in(part)]


def last_rank(module, here):
    """The highest rank of the group for which `here` is true; -1 where there is none."""
    group = module.process_group
    one = tensor([dist.get_rank(group) if here else -1], device=module.device)
    dist.all_reduce(one, op=dist.ReduceOp.MAX, group=group)
    return int(one.item())


def count_ranks(module, here):
    """For how many ranks `here` is true."""
    one = tensor([1.0 if here else 0.0], device=module.device)
    dist.all_reduce(one, group=module.process_group)
    return int(one.item())
