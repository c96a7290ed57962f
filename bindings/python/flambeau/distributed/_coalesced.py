"""Collectives over several tensors as one, and blocks that wait for all they began at their end."""

import contextlib

from .._deprecated import warn
from .._gen import api
from . import _checks
from ._collectives import _given, broadcast
from ._group import group_of
from ._ops import ReduceOp, words_of
from ._pairs import collected
from ._place import tell_place
from ._work import Together


def _warn(name):
    warn(
        f"`torch.distributed.{name}` will be deprecated. If you must use it, please revisit our "
        "documentation later at "
        "https://pytorch.org/docs/main/distributed.html#collective-functions",
        FutureWarning,
    )


def all_reduce_coalesced(tensors, op=ReduceOp.SUM, group=None, async_op=False):
    """`all_reduce` of tensors of one dtype, in one go; with `async_op` a future."""
    _warn("all_reduce_coalesced")
    tensors = [tensors] if hasattr(tensors, "_h") else tensors
    _checks.tensors("tensors", tensors)
    _checks.one_dtype(*tensors)
    g = group_of(group, "all_reduce_coalesced")
    if g is None:
        return None
    word, factor = words_of(op)
    tell_place()
    work = _given(
        g, api.group_all_reduce(g._handle, tensors, word, factor, True), async_op, tensors
    )
    return work.get_future() if work else None


def _broadcast_coalesced(process_group, tensors, buffer_size, src=0):
    """The tensors of the group's rank `src`, on all of its ranks; `buffer_size` counts for
    nothing."""
    for tensor in tensors:
        broadcast(tensor, group=process_group, group_src=src)


def all_gather_coalesced(output_tensor_lists, input_tensor_list, group=None, async_op=False):
    """`all_gather` of several tensors: `output_tensor_lists[rank][i]` becomes that rank's
    `input_tensor_list[i]`."""
    _warn("all_gather_coalesced")
    _checks.tensors("input_tensor_list", input_tensor_list)
    g = group_of(group, "all_gather_coalesced")
    if g is None:
        return None
    _checks.one_per_rank("all_gather_coalesced", output_tensor_lists, g._size)
    for outputs in output_tensor_lists:
        _checks.tensors("output_tensor_lists", outputs)
        if len(outputs) != len(input_tensor_list):
            raise RuntimeError(
                f"all_gather_coalesced: expected {len(input_tensor_list)} outputs per rank, got "
                f"{len(outputs)}"
            )
    tell_place()
    work = None
    for i, given in enumerate(input_tensor_list):
        into = [outputs[i] for outputs in output_tensor_lists]
        work = _given(g, api.group_all_gather(g._handle, into, given, True), async_op, into)
    return work.get_future() if work else None  # of the last: they end in their order


@contextlib.contextmanager
def _coalescing_manager(group=None, device=None, async_ops=False):
    """A block whose collectives begin at once and are waited for at its end, or by `wait()` of what
    it yields where `async_ops`."""
    g = group_of(group, "_coalescing_manager")
    together = Together()
    if g is None:
        yield together
        return
    if g._collected is not None:
        raise AssertionError("a coalescing block is in another one of the same group")
    with collected(g):
        g._collected = together
        try:
            yield together
        finally:
            g._collected = None
    if not async_ops:
        together.wait()
