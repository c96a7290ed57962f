"""`torch.distributed.checkpoint.utils`: what of a state dict an index of a checkpoint's metadata
means on this rank."""

from ..._types import Size
from ._pieces import held, is_sharded, is_tensor
from .protocol import CheckpointableTensor

__all__ = ["find_state_dict_object", "find_tensor_shard"]


def find_tensor_shard(tensor, index):
    """The tensor that this rank has of one: of a DTensor its part, of a tensor with pieces the one
    at the index's offset, which may be left out where there is one piece."""
    if is_sharded(tensor):
        pieces = held(index.fqn, tensor).pieces  # refuses terms of sums
        return pieces[0].tensor if pieces else tensor.to_local()
    if not isinstance(tensor, CheckpointableTensor):
        if index.offset is not None and index.offset != Size([0] * tensor.dim()):
            raise _not_there(index)
        return tensor
    pieces = held(index.fqn, tensor).pieces
    if index.offset is None and len(pieces) != 1:
        raise ValueError(
            f"{index.fqn} has {len(pieces)} pieces on this rank: the index needs the offset of one"
        )
    for piece in pieces:
        if index.offset is None or Size(piece.offsets) == index.offset:
            return piece.tensor
    raise _not_there(index)


def find_state_dict_object(state_dict, index):
    """The value of a name, or the part of it that `find_tensor_shard` finds."""
    if index.fqn not in state_dict:
        raise ValueError(f"Could not find FQN: '{index.fqn}'")
    value = state_dict[index.fqn]
    if is_tensor(value):
        return find_tensor_shard(value, index)
    if index.offset is not None:
        raise _not_there(index)
    return value


def _not_there(index):
    return ValueError(f"FQN: '{index.fqn}' has no piece at the offset '{index.offset}' here")
