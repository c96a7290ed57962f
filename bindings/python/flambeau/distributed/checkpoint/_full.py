"""State dicts of whole tensors: gathered from what ranks hold, and taken apart into it."""

from ... import distributed as dist
from ..._tensor import Tensor
from ..._torch import empty, empty_like
from .._group import world
from .._sealed import carrier
from ._flatten import leaves, nested
from ._pieces import held, is_sharded, is_tensor, part


def given(state, options):
    """The state dict as `options` want it."""
    if not (options.full_state_dict or options.cpu_offload):
        return state
    many = dist.is_initialized() and dist.get_world_size() > 1
    dropped = options.full_state_dict and options.cpu_offload and many and dist.get_rank() > 0

    def changed(value):
        if not is_tensor(value):
            return value
        if is_sharded(value) and options.full_state_dict:
            value = value.full_tensor()  # all ranks take part
        if dropped:
            return None
        return value.cpu() if options.cpu_offload else value

    found = _mapped(state, changed)
    return {} if dropped else found


def _mapped(value, change):
    if isinstance(value, dict):
        return {k: _mapped(v, change) for k, v in value.items()}
    if isinstance(value, list):
        return [_mapped(v, change) for v in value]
    return change(value)


def taken(state, own, options):
    """What of a full state dict goes where the values of `own` are: the part of a sharded tensor is
    written to it, of one on meta to a new one, and other values are returned as they are. With
    `broadcast_from_rank0` only rank 0 has the full one."""
    mine = {name: _with_elements(leaf.value) for name, leaf in leaves(own).items()}
    whole = leaves(state) if state else {}
    if options.broadcast_from_rank0 and dist.is_initialized() and dist.get_world_size() > 1:
        pairs = _broadcast(whole, mine)
    else:
        pairs = ((name, leaf.path, leaf.value) for name, leaf in whole.items())
    found = []
    for name, path, value in pairs:
        target = mine.get(name)
        if is_sharded(target) and isinstance(value, Tensor) and not is_sharded(value):
            one = held(name, target)
            if tuple(value.shape) != one.shape:
                raise ValueError(
                    f"{name}: a tensor of shape {list(value.shape)} was given, and the parameter's "
                    f"is {list(one.shape)}"
                )
            for piece in one.pieces:
                piece.tensor.copy_(part(value, piece.offsets, piece.sizes))
            value = target
        found.append((path, value))
    return nested(found)


def _with_elements(value):
    """The tensor; of one on meta that lies over ranks a like one on the device of its mesh."""
    if not getattr(value, "is_meta", False) or not is_sharded(value):
        return value
    return empty_like(value, device=value.device_mesh.device_type)


def _broadcast(whole, mine):
    """(name, path, value) of rank 0's leaves, one tensor after the other."""
    rank = dist.get_rank()
    told = [{name: _told(leaf) for name, leaf in whole.items()} if rank == 0 else None]
    dist.broadcast_object_list(told, src=0)
    for name, (path, kind, value) in told[0].items():
        if kind is not None:
            value = _sent(whole[name].value if rank == 0 else None, *kind, mine.get(name))
        yield name, path, value


def _told(leaf):
    if is_tensor(leaf.value):
        return leaf.path, (leaf.value.shape, leaf.value.dtype), None
    return leaf.path, None, leaf.value


def _sent(value, shape, dtype, target):
    device = target.device if is_tensor(target) else "cpu"
    if getattr(target, "is_meta", False):
        device = carrier(world())
    value = empty(shape, dtype=dtype, device=device) if value is None else value.to(device)
    value = value.detach().contiguous()
    dist.broadcast(value, src=0)
    return value
