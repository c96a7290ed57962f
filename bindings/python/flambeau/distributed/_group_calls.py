"""The collectives as methods of a process group, in PyTorch's older form: lists of one tensor,
roots that are ranks of the group, options as objects, and always a work. Each is the function of
the package with that group."""

import contextlib

from .._gen import api
from .._tensor import Tensor
from . import _checks
from . import _collectives as c
from ._group import ProcessGroup, seconds, set_timeout
from ._ops import ReduceOp, words_of
from ._options import _Options
from ._pairs import irecv, isend
from ._place import tell_place


def _one(method, given):
    """The tensor of a list that may have no other one."""
    if isinstance(given, Tensor):
        return given
    if not isinstance(given, (list, tuple)) or len(given) != 1:
        count = f"{len(given)} of them" if isinstance(given, (list, tuple)) else repr(given)
        raise ValueError(
            f"ProcessGroup.{method}: expected a tensor or a list of one, but got {count}\n  call "
            "it for each tensor, or allreduce_coalesced for several"
        )
    return given[0]


def _each(method, given):
    """The tensors of a list, which may be in a list of one list."""
    if len(given) == 1 and isinstance(given[0], (list, tuple)):
        return list(given[0])
    if any(isinstance(part, (list, tuple)) for part in given):
        raise ValueError(
            f"ProcessGroup.{method}: expected a list of tensors, or a list of one such"
        )
    return list(given)


def _said(asked, name, default):
    """An option by itself or as an attribute of the options."""
    return getattr(asked, name) if isinstance(asked, _Options) else default


@contextlib.contextmanager
def _within(group, timeout, asked=None):
    """A block whose call has a deadline of its own, where one is said."""
    timeout = _said(asked, "timeout", timeout)
    if timeout is None:
        yield
        return
    api.group_set_timeout(group._handle, seconds(timeout))
    try:
        yield
    finally:
        api.group_set_timeout(group._handle, group._timeout.total_seconds())


def _reduction(asked):
    return _said(asked, "reduceOp", asked)


def _root(asked):
    return _said(asked, "rootRank", asked)


class _Calls:
    """Methods that ProcessGroup gets."""

    def allreduce(self, tensors, op=ReduceOp.SUM, timeout=None):
        tensor = _one("allreduce", tensors)
        with _within(self, timeout, op):
            return c.all_reduce(tensor, _reduction(op), self, True)

    def allreduce_coalesced(self, tensors, opts=None):
        _checks.tensors("tensors", tensors)
        _checks.one_dtype(*tensors)
        word, factor = words_of(_said(opts, "reduceOp", ReduceOp.SUM))
        tell_place()
        with _within(self, None, opts):
            handle = api.group_all_reduce(self._handle, list(tensors), word, factor, True)
            return c._given(self, handle, True, tensors)

    def broadcast(self, tensors, root=0, timeout=None):
        tensor = _one("broadcast", tensors)
        with _within(self, timeout, root):
            return c.broadcast(tensor, None, self, True, _root(root))

    def reduce(self, tensors, root=0, op=ReduceOp.SUM, timeout=None):
        tensor = _one("reduce", tensors)
        op = _said(root, "reduceOp", op)
        with _within(self, timeout, root):
            return c.reduce(tensor, None, op, self, True, _root(root))

    def allgather(self, output_tensors, input_tensors, timeout=None):
        into, tensor = _each("allgather", output_tensors), _one("allgather", input_tensors)
        with _within(self, _limit(timeout), timeout):
            return c.all_gather(into, tensor, self, True)

    def _allgather_base(self, output, input, timeout=None):
        with _within(self, _limit(timeout), timeout):
            return c.all_gather_into_tensor(output, input, self, True)

    def gather(self, output_tensors, input_tensors, root=0, timeout=None):
        into, tensor = _each("gather", output_tensors), _one("gather", input_tensors)
        with _within(self, timeout, root):
            return c.gather(tensor, into, None, self, True, _root(root))

    def scatter(self, output_tensors, input_tensors, root=0, timeout=None):
        tensor, parts = _one("scatter", output_tensors), _each("scatter", input_tensors)
        with _within(self, timeout, root):
            return c.scatter(tensor, parts, None, self, True, _root(root))

    def reduce_scatter(self, output_tensors, input_tensors, op=ReduceOp.SUM, timeout=None):
        tensor = _one("reduce_scatter", output_tensors)
        parts = _each("reduce_scatter", input_tensors)
        with _within(self, timeout, op):
            return c.reduce_scatter(tensor, parts, _reduction(op), self, True)

    def _reduce_scatter_base(self, output, input, op=ReduceOp.SUM, timeout=None):
        with _within(self, timeout, op):
            return c.reduce_scatter_tensor(output, input, _reduction(op), self, True)

    def alltoall(self, output_tensors, input_tensors, opts=None):
        with _within(self, _limit(opts), opts):
            return c.all_to_all(output_tensors, input_tensors, self, True)

    def alltoall_base(self, output, input, output_split_sizes, input_split_sizes, opts=None):
        with _within(self, _limit(opts), opts):
            sizes = output_split_sizes, input_split_sizes
            return c.all_to_all_single(output, input, *sizes, self, True)

    def barrier(self, opts=None, timeout=None):
        limit = timeout if timeout is not None else _limit(opts)
        with _within(self, limit, opts):
            return c.barrier(self, True)

    def monitored_barrier(self, timeout=None, wait_all_ranks=False):
        c.monitored_barrier(self, timeout, wait_all_ranks)

    def set_timeout(self, timeout):
        set_timeout(timeout, self)

    def send(self, tensors, dstRank, tag=0):
        return isend(_one("send", tensors), None, self, tag, dstRank)

    def recv(self, tensors, srcRank, tag=0):
        return irecv(_one("recv", tensors), None, self, tag, srcRank)

    def recv_anysource(self, tensors, tag=0):
        return irecv(_one("recv_anysource", tensors), None, self, tag)


def _limit(asked):
    """A timeout in the place of options."""
    return None if isinstance(asked, _Options) else asked


for _name, _call in vars(_Calls).items():
    if callable(_call) and not _name.startswith("__"):
        setattr(ProcessGroup, _name, _call)
