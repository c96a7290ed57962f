"""Transfers between two ranks."""

import contextlib

from .._gen import api
from . import _checks
from ._collectives import _given
from ._group import group_of, root_of
from ._place import tell_place


def isend(tensor, dst=None, group=None, tag=0, group_dst=None):
    """Begins to send a tensor, which is not to be changed before the work has ended."""
    _checks.tensor("tensor", tensor)
    g = group_of(group, "isend")
    if g is None:
        return None
    to = _other(g, root_of(g, dst, group_dst), "destination")
    tell_place()
    return _given(g, api.group_send(g._handle, tensor, to, tag), True, (tensor,))


def irecv(tensor, src=None, group=None, tag=0, group_src=None):
    """Begins to receive a tensor of the sent size and dtype; from any rank where none is named."""
    _checks.tensor("tensor", tensor)
    g = group_of(group, "irecv")
    if g is None:
        return None
    anyone = src is None and group_src is None
    source = -1 if anyone else _other(g, root_of(g, src, group_src), "source")
    tell_place()
    return _given(g, api.group_recv(g._handle, tensor, source, tag), True, (tensor,))


def _other(group, rank, role):
    if rank == group._rank:
        raise ValueError(
            f"Invalid {role} rank: {role} rank should not be the same as the rank of the current "
            "process."
        )
    return rank


def send(tensor, dst=None, group=None, tag=0, group_dst=None):
    """Sends a tensor, and returns when it may be changed."""
    work = isend(tensor, dst, group, tag, group_dst)
    if work is not None:
        work.wait()


def recv(tensor, src=None, group=None, tag=0, group_src=None):
    """Receives a tensor; who sent it, as a rank of the job, or -1 outside the group."""
    g = group_of(group, "irecv")
    if g is None:
        return -1
    work = irecv(tensor, src, g, tag, group_src)
    if work is None:  # a block waits for it
        return g._ranks[root_of(g, src, group_src)]
    work.wait()
    return g._ranks[work.source_rank()]


@contextlib.contextmanager
def collected(group):
    """A block whose transfers begin at its end, as one between each two ranks."""
    if group._collected is not None:  # of a block around this one
        yield
        return
    api.group_start_coalescing(group._handle)
    try:
        yield
    finally:
        if group._handle is not None:  # else it was left in the block
            api.group_end_coalescing(group._handle)


class P2POp:
    """One transfer of `batch_isend_irecv`."""

    def __init__(self, op, tensor, peer=None, group=None, tag=0, group_peer=None):
        if op not in (isend, irecv):
            raise ValueError(
                "Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or "
                "``torch.distributed.irecv``."
            )
        _checks.tensor("tensor", tensor)
        self.op, self.tensor, self.group, self.tag = op, tensor, group, tag
        g = group_of(group, "P2POp")
        self.group_peer = None if g is None else root_of(g, peer, group_peer)
        self.peer = None if g is None else peer if peer is not None else g._ranks[group_peer]

    def __repr__(self):
        name = self.op.__name__
        return f"P2POp({name}, peer={self.peer}, tag={self.tag}, {tuple(self.tensor.shape)})"


def batch_isend_irecv(p2p_op_list):
    """Begins several transfers, in any order, and returns their works."""
    if not isinstance(p2p_op_list, (list, tuple)) or not all(
        isinstance(op, P2POp) for op in p2p_op_list
    ):
        raise ValueError(
            "Invalid ``p2p_op_list``. Each op is expected to to be of type "
            "``torch.distributed.P2POp``."
        )
    if not p2p_op_list:
        raise ValueError("Invalid ``p2p_op_list``: it is empty.")
    groups = {id(g): g for op in p2p_op_list if (g := group_of(op.group, "batch_isend_irecv"))}
    works = []
    with contextlib.ExitStack() as ends:
        for g in groups.values():
            ends.enter_context(collected(g))
        for op in p2p_op_list:
            name = "group_dst" if op.op is isend else "group_src"
            works.append(op.op(op.tensor, group=op.group, tag=op.tag, **{name: op.group_peer}))
    return [work for work in works if work is not None]
