"""What of a global tensor this rank holds: boxes in it, each with the part of a local tensor that
fills it. A plain tensor is one box, a tensor sharded over a mesh (`to_local`, `placements`,
`device_mesh`) the one that its placements say, and a tensor with the attributes of
`CheckpointableTensor` those that it names."""

import math
from dataclasses import dataclass

from ..._tensor import Tensor
from .protocol import CheckpointableTensor

_SHARDED = "to_local", "placements", "device_mesh"


@dataclass
class Piece:
    """A box of the tensor and the local tensor that is there."""

    offsets: tuple
    sizes: tuple
    tensor: Tensor


@dataclass
class Held:
    """The tensor as a whole, and what of it is here."""

    dtype: object
    shape: tuple
    pieces: list


def is_sharded(value):
    """Whether it lies over the ranks of a mesh."""
    return all(hasattr(value, name) for name in _SHARDED)


def is_tensor(value):
    """Whether it is saved as a tensor."""
    return isinstance(value, Tensor) or is_sharded(value)


def held(name, value):
    """What this rank holds of a tensor of the state dict."""
    if is_sharded(value):
        return _of_mesh(name, value)
    local = value.detach()
    if isinstance(value, CheckpointableTensor):
        return _of_attributes(name, value, local)
    shape = tuple(local.shape)
    return Held(local.dtype, shape, [Piece((0,) * len(shape), shape, local)])


def part(tensor, offsets, sizes):
    """A view of the box."""
    for dim, (start, length) in enumerate(zip(offsets, sizes)):
        tensor = tensor.narrow(dim, start, length)
    return tensor


def _of_attributes(name, value, local):
    shape = tuple(map(int, value.global_shape))
    lists = value.global_offsets, value.local_offsets, value.local_sizes
    if len({len(one) for one in lists}) != 1:
        raise ValueError(
            f"{name}: global_offsets, local_offsets and local_sizes must have an entry for each "
            f"piece, got {[len(one) for one in lists]}"
        )
    pieces = []
    for there, here, sizes in zip(*lists):
        there, here, sizes = (tuple(map(int, v)) for v in (there, here, sizes))
        for offsets, within in ((there, shape), (here, tuple(local.shape))):
            _check_box(name, offsets, sizes, within)
        pieces.append(Piece(there, sizes, part(local, here, sizes)))
    return Held(local.dtype, shape, pieces)


def _check_box(name, offsets, sizes, shape):
    inside = len(offsets) == len(sizes) == len(shape) and all(
        0 <= o and 0 <= s and o + s <= n for o, s, n in zip(offsets, sizes, shape)
    )
    if not inside:
        raise ValueError(
            f"{name}: a piece at {list(offsets)} of sizes {list(sizes)} is not inside of a tensor "
            f"of shape {list(shape)}"
        )


def _of_mesh(name, value):
    local, shape = value.to_local().detach(), tuple(value.shape)
    where = value.device_mesh.get_coordinate()
    if where is None:
        return Held(local.dtype, shape, [])
    offsets, sizes = [0] * len(shape), list(shape)
    # A strided shard was cut after those on the dimensions of the mesh behind it.
    order = sorted(
        range(len(value.placements)), key=lambda i: hasattr(value.placements[i], "split_factor")
    )
    for i in order:
        placement = value.placements[i]
        if placement.is_partial():
            raise ValueError(
                f"{name}: it is a term of a sum over ranks ({placement}); redistribute it first"
            )
        if placement.is_shard():
            dim = placement.dim % len(shape)
            each = math.ceil(sizes[dim] / value.device_mesh.size(i))
            start = min(sizes[dim], where[i] * each)
            offsets[dim], sizes[dim] = offsets[dim] + start, min(each, sizes[dim] - start)
    if tuple(local.shape) != tuple(sizes):
        raise ValueError(
            f"{name}: placements {value.placements} give this rank a part of shape {sizes}, but "
            f"to_local() has {list(local.shape)}"
        )
    return Held(local.dtype, shape, [Piece(tuple(offsets), tuple(sizes), local)])
