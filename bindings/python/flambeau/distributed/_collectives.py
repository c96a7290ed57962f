"""torch.distributed's collectives: names, arguments and checks are torch's, the rest is one call of
the library's each. A rank outside the group gets a warning and None."""

import datetime

from .._gen import api
from .._tensor import Tensor
from . import _checks
from ._group import group_of, root_of, seconds
from ._ops import ReduceOp, words_of
from ._place import tell_place
from ._work import Work

_SUM = ReduceOp.SUM


def _given(group, handle, async_op, results):
    """What a collective returns for the work that it began, which it waits for where the program
    does not."""
    if group._collected is not None:
        group._collected.append(Work(handle, group, results))
        return None
    if async_op:
        return Work(handle, group, results)
    api.work_wait(handle)
    return None


def check_root(what, group, root):
    """Refuses ranks that are not in the group, where something is done before the library's
    call."""
    if not 0 <= root < group._size:
        raise RuntimeError(f"{what}: invalid root rank: {root}; the group has {group._size} ranks")


def all_reduce(tensor, op=_SUM, group=None, async_op=False):
    """Leaves the reduction over all ranks in `tensor`, on each the same bits."""
    if not isinstance(tensor, Tensor):
        _checks.tensor("tensor", tensor)
    g = group_of(group, "all_reduce")
    if g is None:
        return None
    word, factor = words_of(op)
    tell_place()
    handle = api.group_all_reduce(g._handle, (tensor,), word, factor, True)
    return _given(g, handle, async_op, (tensor,))


def broadcast(tensor, src=None, group=None, async_op=False, group_src=None):
    """Leaves rank `src`'s tensor in `tensor`."""
    _checks.tensor("tensor", tensor)
    g = group_of(group, "broadcast")
    if g is None:
        return None
    root = root_of(g, src, group_src)
    tell_place()
    return _given(g, api.group_broadcast(g._handle, (tensor,), root, True), async_op, (tensor,))


def reduce(tensor, dst=None, op=_SUM, group=None, async_op=False, group_dst=None):
    """Leaves the reduction in rank `dst`'s `tensor`."""
    _checks.tensor("tensor", tensor)
    g = group_of(group, "reduce")
    if g is None:
        return None
    root, (word, factor) = root_of(g, dst, group_dst), words_of(op)
    tell_place()
    return _given(
        g, api.group_reduce(g._handle, tensor, root, word, factor, True), async_op, (tensor,)
    )


def all_gather(tensor_list, tensor, group=None, async_op=False):
    """Fills `tensor_list` with every rank's tensor, all of one shape."""
    _checks.tensors("tensor_list", tensor_list)
    _checks.tensor("tensor", tensor)
    _checks.one_dtype(tensor, *tensor_list)
    g = group_of(group, "all_gather")
    if g is None:
        return None
    _checks.one_per_rank("all_gather", tensor_list, g._size)
    _checks.one_shape("all_gather", tensor_list, tensor)
    tell_place()
    return _given(
        g, api.group_all_gather(g._handle, tensor_list, tensor, True), async_op, tensor_list
    )


def all_gather_into_tensor(output_tensor, input_tensor, group=None, async_op=False):
    """Every rank's tensor, one after the other or stacked, in `output_tensor`."""
    _checks.tensor("input_tensor", input_tensor)
    _checks.tensor("output_tensor", output_tensor)
    g = group_of(group, "all_gather_into_tensor")
    if g is None:
        return None
    tell_place()
    into = (output_tensor,)
    return _given(g, api.group_all_gather(g._handle, into, input_tensor, True), async_op, into)


def _rooted(what, name, role, tensor, values, group, root, group_root):
    """The group, its root, and the list with one tensor per rank that the root has, and no other
    rank; no group outside of it."""
    _checks.tensor("tensor", tensor)
    if values:
        _checks.tensors(name, values)
        _checks.one_dtype(tensor, *values)
    g = group_of(group, what)
    if g is None:
        return None, None, ()
    root = root_of(g, root, group_root, default=0)
    if g._rank == root:
        if not values:
            raise ValueError(f"Argument ``{name}`` must be specified on {role} rank.")
        _checks.one_per_rank(name, values, g._size)
        _checks.one_shape(name, values, tensor)
    elif values:
        raise ValueError(f"Argument ``{name}`` must NOT be specified on non-{role} ranks.")
    return g, root, values or ()


def gather(tensor, gather_list=None, dst=None, group=None, async_op=False, group_dst=None):
    """Fills `gather_list` on rank `dst` (default 0) with every rank's tensor."""
    given = tensor, gather_list, group, dst, group_dst
    g, root, into = _rooted("gather", "gather_list", "destination", *given)
    if g is None:
        return None
    tell_place()
    return _given(g, api.group_gather(g._handle, into, tensor, root, True), async_op, into)


def gather_single(tensor, gather_tensor=None, dst=None, group=None, async_op=False,
                  group_dst=None):  # fmt: skip
    """`gather` into parts of one tensor."""
    _checks.tensor("tensor", tensor)
    g = group_of(group, "gather_single")
    if g is None:
        return None
    root = root_of(g, dst, group_dst, default=0)
    if (g._rank == root) is (gather_tensor is None):
        wanted = "on the destination rank" if g._rank == root else "on no other rank"
        raise ValueError(f"Argument ``gather_tensor`` must be specified {wanted}.")
    tell_place()
    into = () if gather_tensor is None else (gather_tensor,)
    return _given(g, api.group_gather(g._handle, into, tensor, root, True), async_op, into)


def scatter(tensor, scatter_list=None, src=None, group=None, async_op=False, group_src=None):
    """Gives each rank its entry of rank `src`'s (default 0) `scatter_list`."""
    given = tensor, scatter_list, group, src, group_src
    g, root, parts = _rooted("scatter", "scatter_list", "source", *given)
    if g is None:
        return None
    tell_place()
    return _given(g, api.group_scatter(g._handle, tensor, parts, root, True), async_op, (tensor,))


def reduce_scatter(output, input_list, op=_SUM, group=None, async_op=False):
    """Gives each rank the reduction of its entry of the ranks' lists."""
    _checks.tensor("output", output)
    _checks.tensors("input_list", input_list)
    _checks.one_dtype(output, *input_list)
    g = group_of(group, "reduce_scatter")
    if g is None:
        return None
    _checks.one_per_rank("reduce_scatter", input_list, g._size)
    _checks.one_shape("reduce_scatter", input_list, output)
    word, factor = words_of(op)
    tell_place()
    handle = api.group_reduce_scatter(g._handle, output, input_list, word, factor, True)
    return _given(g, handle, async_op, (output,))


def reduce_scatter_tensor(output, input, op=_SUM, group=None, async_op=False):
    """Gives each rank the reduction of its part of the ranks' tensors."""
    _checks.tensor("output", output)
    _checks.tensor("input", input)
    g = group_of(group, "reduce_scatter_tensor")
    if g is None:
        return None
    word, factor = words_of(op)
    tell_place()
    handle = api.group_reduce_scatter(g._handle, output, (input,), word, factor, True)
    return _given(g, handle, async_op, (output,))


def all_to_all(output_tensor_list, input_tensor_list, group=None, async_op=False):
    """Gives rank j what rank i has at j, for all of them."""
    _checks.tensors("output_tensor_list", output_tensor_list)
    _checks.tensors("input_tensor_list", input_tensor_list)
    _checks.one_dtype(*output_tensor_list, *input_tensor_list)
    g = group_of(group, "all_to_all")
    if g is None:
        return None
    _checks.one_per_rank("all_to_all", output_tensor_list, g._size)
    _checks.one_per_rank("all_to_all", input_tensor_list, g._size)
    tell_place()
    lists = output_tensor_list, input_tensor_list
    handle = api.group_all_to_all(g._handle, *lists, None, None, True)
    return _given(g, handle, async_op, output_tensor_list)


def all_to_all_single(
    output, input, output_split_sizes=None, input_split_sizes=None, group=None, async_op=False
):
    """`all_to_all` over rows of one tensor: alike many for each rank, or as the sizes say."""
    _checks.tensor("output", output)
    _checks.tensor("input", input)
    _checks.one_dtype(output, input)
    g = group_of(group, "all_to_all_single")
    if g is None:
        return None
    splits = [[int(n) for n in sizes] if sizes else None
              for sizes in (output_split_sizes, input_split_sizes)]  # fmt: skip
    tell_place()
    handle = api.group_all_to_all(g._handle, (output,), (input,), *splits, True)
    return _given(g, handle, async_op, (output,))


def barrier(group=None, async_op=False, device_ids=None, timeout=None):
    """Waits until all ranks have come, at most `timeout`, or as long as the group's calls may
    take."""
    g = group_of(group, "barrier")
    if g is None:
        return None
    tell_place()
    if timeout is not None:
        return _barrier_within(g, seconds(timeout), async_op)
    return _given(g, api.group_barrier(g._handle, True), async_op, ())


def _barrier_within(group, limit, async_op=False):
    """With a deadline of its own, so that its failure names who is missing."""
    api.group_set_timeout(group._handle, limit)
    try:
        return _given(group, api.group_barrier(group._handle, True), async_op, ())
    finally:
        api.group_set_timeout(group._handle, group._timeout.total_seconds())


def monitored_barrier(group=None, timeout=None, wait_all_ranks=False):
    """Waits until all ranks have come; the error names all that have not."""
    g = group_of(group, "monitored_barrier")
    if g is None:
        return
    if isinstance(timeout, (int, float)):
        timeout = datetime.timedelta(seconds=timeout)
    tell_place()
    _barrier_within(g, (g._timeout if timeout is None else timeout).total_seconds())


all_gather_single = _all_gather_base = all_gather_into_tensor
gather_into_tensor = gather_single
reduce_scatter_single = _reduce_scatter_base = reduce_scatter_tensor
