"""Collectives as functions: they return a new tensor and leave their operands, with gradients. What
torch returns may still be under way; here it is there."""

from .. import _refused
from .._torch import cat
from ._group import ProcessGroup, _groups, get_process_group_ranks, group_of, world
from ._ops import ReduceOp
from .nn.functional import (
    _AllGatherBase,
    _AllReduce,
    _AllToAllSingle,
    _Broadcast,
    _ReduceScatter,
)

globals().update(
    _refused.names(
        "torch.distributed._functional_collectives",
        "AsyncCollectiveTensor",
        "collectives return when their results are there",
    )
)


def _group(given):
    """A group as torch's functional forms take it: itself, its name, or the ranks of one."""
    if given is None or isinstance(given, ProcessGroup):
        return group_of(given, "a functional collective")
    if isinstance(given, str):
        for found in (world(), *_groups.others.values()):
            if found.group_name == given:
                return found
    if isinstance(given, (list, tuple)) and all(isinstance(rank, int) for rank in given):
        for found in (world(), *_groups.others.values()):
            if get_process_group_ranks(found) == list(given):
                return found
    raise ValueError(
        f"expected a ProcessGroup, the name of one, or its ranks, but got {given!r}; new_group "
        "makes a group of ranks"
    )


def _op(word):
    return word if not isinstance(word, str) else ReduceOp[word.upper()]


def wait_tensor(tensor):
    """The tensor itself: results are there when a collective returns."""
    return tensor


def wait_tensors(tensors):
    """The same of several."""
    return tensors


def broadcast(self, src, group, tag=""):
    """Rank `src`'s tensor."""
    return _Broadcast.apply(src, _group(group), self)


def all_reduce(self, reduceOp, group, tag=""):
    """The reduction over all ranks, by a word such as "sum"."""
    return _AllReduce.apply(_op(reduceOp), _group(group), self)


def all_gather_tensor(self, gather_dim, group, tag=""):
    """Every rank's tensor, joined along a dimension."""
    g = _group(group)
    self = self.contiguous()
    output = self.new_empty(g._size * self.shape[0], *self.shape[1:])
    joined = _AllGatherBase.apply(output, self, g)
    return joined if gather_dim == 0 else cat(joined.chunk(g._size), gather_dim)


def reduce_scatter_tensor(self, reduceOp, scatter_dim, group, tag=""):
    """This rank's part, along a dimension, of the reduction over all ranks."""
    g = _group(group)
    if self.shape[scatter_dim] % g._size:
        raise AssertionError(
            f"input dimension {scatter_dim} ({self.shape[scatter_dim]}) must be a multiple of "
            f"group size {g._size}"
        )
    parts = [part.contiguous() for part in self.chunk(g._size, scatter_dim)]
    return _ReduceScatter.apply(_op(reduceOp), g, parts[0], *parts)


def all_to_all_single(self, output_split_sizes, input_split_sizes, group, tag=""):
    """The rows that each rank has for this one."""
    g = _group(group)
    rows = self.shape[0] if output_split_sizes is None else sum(output_split_sizes)
    output = self.new_empty(rows, *self.shape[1:])
    return _AllToAllSingle.apply(g, output, output_split_sizes, input_split_sizes, self)


def permute_tensor(self, src_dst, group, tag=""):
    """What rank i has goes to rank `src_dst[i]`; each is named once."""
    g = _group(group)
    if sorted(src_dst) != list(range(g._size)):
        raise ValueError(f"permute_tensor: {src_dst} is no permutation of {g._size} ranks")
    rows = self.shape[0]
    to, source = src_dst[g._rank], src_dst.index(g._rank)
    came = [rows if rank == source else 0 for rank in range(g._size)]
    went = [rows if rank == to else 0 for rank in range(g._size)]
    return all_to_all_single(self, came, went, g)


def all_reduce_coalesced(self, reduceOp, group, tag=""):
    """`all_reduce` of several."""
    return [all_reduce(tensor, reduceOp, group) for tensor in self]


def all_gather_into_tensor_coalesced(self, group, tag=""):
    """`all_gather_tensor` of several."""
    return [all_gather_tensor(tensor, 0, group) for tensor in self]


def reduce_scatter_tensor_coalesced(inputs, reduceOp, scatter_dim, group, tag=""):
    """`reduce_scatter_tensor` of several, each along its dimension."""
    return [reduce_scatter_tensor(t, reduceOp, d, group) for t, d in zip(inputs, scatter_dim)]


all_gather_single = all_gather_single_autograd = all_gather_tensor_autograd = all_gather_tensor
reduce_scatter_single = reduce_scatter_single_autograd = reduce_scatter_tensor
reduce_scatter_tensor_autograd = reduce_scatter_tensor
all_to_all_single_autograd = all_to_all_single
all_gather_single_coalesced = all_gather_into_tensor_coalesced
reduce_scatter_single_coalesced = reduce_scatter_tensor_coalesced
