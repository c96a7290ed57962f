"""The options that methods of a process group take in PyTorch's older form: objects whose
attributes a program sets. A `timeout` of None is the group's."""

from types import SimpleNamespace

from ._ops import ReduceOp

__all__ = (
    "AllToAllOptions AllreduceCoalescedOptions AllreduceOptions BarrierOptions BroadcastOptions "
    "GatherOptions ProcessGroupGloo ProcessGroupNCCL ReduceOptions ReduceScatterOptions "
    "ScatterOptions"
).split()


class _Options:
    def __init__(self):
        self.timeout, self.asyncOp = None, True


class _Reducing(_Options):
    def __init__(self):
        super().__init__()
        self.reduceOp = ReduceOp.SUM


class _Rooted(_Options):
    def __init__(self):
        super().__init__()
        self.rootRank = 0


class AllreduceOptions(_Reducing):
    """`reduceOp`."""


class AllreduceCoalescedOptions(_Reducing):
    """`reduceOp`."""


class ReduceScatterOptions(_Reducing):
    """`reduceOp`."""


class ReduceOptions(_Reducing):
    """`reduceOp`; `rootRank`, a rank of the group; `rootTensor`, which tensor of the list."""

    def __init__(self):
        super().__init__()
        self.rootRank = self.rootTensor = 0


class BroadcastOptions(_Rooted):
    """`rootRank`, a rank of the group; `rootTensor`, which tensor of the list."""

    def __init__(self):
        super().__init__()
        self.rootTensor = 0


class GatherOptions(_Rooted):
    """`rootRank`, a rank of the group."""


class ScatterOptions(_Rooted):
    """`rootRank`, a rank of the group."""


class AllToAllOptions(_Options):
    """`timeout` only."""


class BarrierOptions(_Options):
    """`device_ids` and `device`, which change nothing: a barrier waits on the host."""

    def __init__(self):
        super().__init__()
        self.device_ids, self.device = [], None


class _Hints:
    """What `pg_options` of a new group may say; it makes a group faster in PyTorch, and changes
    nothing here."""

    def __init__(self, is_high_priority_stream=False):
        self.is_high_priority_stream, self.config = is_high_priority_stream, SimpleNamespace()


class ProcessGroupGloo:
    """No group is one of these: `get_backend` says what moves a group's bytes."""

    Options = _Hints


class ProcessGroupNCCL:
    """No group is one of these: `get_backend` says what moves a group's bytes."""

    Options = _Hints
