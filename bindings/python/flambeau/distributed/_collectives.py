"""Collectives over a group of one process: each checks its arguments as it would with more ranks,
and what it gives is what this rank put in."""

import copy
import enum

from .._tensor import Tensor
from ..autograd import no_grad
from ._group import check_rank, member


class ReduceOp(enum.Enum):
    """How the ranks' tensors become one."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7


class Work:
    """What `async_op=True` returns: the operation is done already."""

    def wait(self, timeout=None):
        return True

    def is_completed(self):
        return True

    def is_success(self):
        return True


def _tensor(name, value):
    if not isinstance(value, Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor\n"
            f"             but got {type(value)} instead."
        )


def _one(what, tensors):
    """The only entry of a list with one tensor per rank."""
    if tensors is None or len(tensors) != 1:
        n = "None" if tensors is None else len(tensors)
        raise RuntimeError(f"{what}: expected a list with one tensor per rank (1), got {n}")
    _tensor(what, tensors[0])
    return tensors[0]


def _copy(what, to, source):
    if to.numel() != source.numel():
        raise RuntimeError(
            f"{what}: the output of shape {list(to.shape)} does not hold the input of shape "
            f"{list(source.shape)}"
        )
    with no_grad():
        to.copy_(source.reshape(to.shape))


def _done(what, group, async_op, root=None, **tensors):
    """What every collective does: looks at the group and at the rank that has a part of its own,
    and copies `source`, a tensor or a list with one per rank, which with one rank is all, `to`
    another."""
    member(group)
    check_rank(what, root)
    if tensors:
        to, source = (
            tensors[name] if isinstance(tensors[name], Tensor) else _one(what, tensors[name])
            for name in ("to", "source")
        )
        _copy(what, to, source)
    return Work() if async_op else None


def all_reduce(tensor, op=ReduceOp.SUM, group=None, async_op=False):
    """Leaves the reduction over all ranks in `tensor`."""
    _tensor("tensor", tensor)
    return _done("all_reduce", group, async_op)


def broadcast(tensor, src=None, group=None, async_op=False, group_src=None):
    """Leaves rank `src`'s tensor in `tensor`."""
    _tensor("tensor", tensor)
    return _done("broadcast", group, async_op, group_src if src is None else src)


def reduce(tensor, dst=None, op=ReduceOp.SUM, group=None, async_op=False, group_dst=None):
    """Leaves the reduction in rank `dst`'s `tensor`."""
    _tensor("tensor", tensor)
    return _done("reduce", group, async_op, group_dst if dst is None else dst)


def all_gather(tensor_list, tensor, group=None, async_op=False):
    """Fills `tensor_list` with every rank's tensor."""
    _tensor("tensor", tensor)
    return _done("all_gather", group, async_op, to=tensor_list, source=tensor)


def all_gather_into_tensor(output_tensor, input_tensor, group=None, async_op=False):
    """Every rank's tensor, one after the other, in `output_tensor`."""
    what = "all_gather_into_tensor"
    return _done(what, group, async_op, to=output_tensor, source=input_tensor)


def gather(tensor, gather_list=None, dst=None, group=None, async_op=False, group_dst=None):
    """Fills `gather_list` on rank `dst` with every rank's tensor."""
    _tensor("tensor", tensor)
    root = group_dst if dst is None else dst
    return _done("gather", group, async_op, root, to=gather_list, source=tensor)


def scatter(tensor, scatter_list=None, src=None, group=None, async_op=False, group_src=None):
    """Gives each rank its entry of rank `src`'s `scatter_list`."""
    _tensor("tensor", tensor)
    root = group_src if src is None else src
    return _done("scatter", group, async_op, root, to=tensor, source=scatter_list)


def reduce_scatter(output, input_list, op=ReduceOp.SUM, group=None, async_op=False):
    """Gives each rank the reduction of its entry of the ranks' lists."""
    return _done("reduce_scatter", group, async_op, to=output, source=input_list)


def reduce_scatter_tensor(output, input, op=ReduceOp.SUM, group=None, async_op=False):
    """Gives each rank the reduction of its part of the ranks' tensors."""
    return _done("reduce_scatter_tensor", group, async_op, to=output, source=input)


def all_to_all(output_tensor_list, input_tensor_list, group=None, async_op=False):
    """Gives rank j what rank i has at j, for all of them."""
    lists = {"to": output_tensor_list, "source": input_tensor_list}
    return _done("all_to_all", group, async_op, **lists)


def all_to_all_single(
    output, input, output_split_sizes=None, input_split_sizes=None, group=None, async_op=False
):
    """`all_to_all` over parts of one tensor."""
    return _done("all_to_all_single", group, async_op, to=output, source=input)


def barrier(group=None, async_op=False, device_ids=None, timeout=None):
    """Waits for all ranks."""
    return _done("barrier", group, async_op)


def monitored_barrier(group=None, timeout=None, wait_all_ranks=False):
    """Waits for all ranks."""
    member(group)


def _place(objects, value):
    if len(objects) != 1:
        raise RuntimeError(f"expected a list with one object per rank (1), got {len(objects)}")
    objects[0] = copy.deepcopy(value)


def all_gather_object(object_list, obj, group=None, weights_only=False):
    """Fills `object_list` with every rank's object."""
    member(group)
    _place(object_list, obj)


def gather_object(obj, object_gather_list=None, dst=None, group=None, group_dst=None, **_):
    """Fills `object_gather_list` on rank `dst`."""
    member(group)
    check_rank("gather_object", group_dst if dst is None else dst)
    _place([] if object_gather_list is None else object_gather_list, obj)


def broadcast_object_list(object_list, src=None, group=None, device=None, group_src=None, **_):
    """Leaves rank `src`'s objects in `object_list`."""
    member(group)
    check_rank("broadcast_object_list", group_src if src is None else src)


def scatter_object_list(scatter_object_output_list, scatter_object_input_list=None, src=None,
                        group=None, group_src=None, **_):  # fmt: skip
    """Gives each rank its entry of rank `src`'s list."""
    member(group)
    check_rank("scatter_object_list", group_src if src is None else src)
    given = scatter_object_input_list or []
    if len(given) != 1:
        raise RuntimeError(f"expected a list with one object per rank (1), got {len(given)}")
    _place(scatter_object_output_list, given[0])
