"""What communication has cost this process so far, counted by the library: a table that prints
itself, with its figures."""

import contextlib
import dataclasses
import json

from .._gen import api
from .._thread_state import ThreadState


@dataclasses.dataclass(frozen=True)
class CollectiveStats:
    """The calls of one collective in one group. `ddp`: by DistributedDataParallel, for gradients.
    Seconds are this rank's; `hidden_seconds` of them passed while it computed gradients. Bandwidths
    are nccl-tests', in bytes per second."""

    collective: str
    ddp: bool
    group: str
    backend: str
    ranks: tuple
    calls: int
    bytes: int
    seconds: float
    hidden_seconds: float
    hidden_share: float
    algorithm_bandwidth: float
    bus_bandwidth: float


def _row(row):
    whole = {name: int(row[name]) for name in ("calls", "bytes")}
    return CollectiveStats(**row | whole | {"ranks": tuple(row["ranks"])})


class Summary:
    """Figures of all groups as they were when `summary()` was called; `print` shows the table."""

    def __init__(self, rows, text):
        self.rows, self._text = rows, text

    def __str__(self):
        return self._text

    def __iter__(self):
        return iter(self.rows)

    def __len__(self):
        return len(self.rows)

    def _sum(self, name, ddp):
        return sum(getattr(row, name) for row in self.rows if row.ddp or not ddp)

    seconds = property(lambda self: self._sum("seconds", False))
    hidden_seconds = property(lambda self: self._sum("hidden_seconds", False))

    def _share(self, ddp):
        return self._sum("hidden_seconds", ddp) / (self._sum("seconds", ddp) or 1.0)

    @property
    def hidden_share(self):
        """Of all communication, how much backward hid: from 0 to 1."""
        return self._share(False)

    @property
    def ddp_hidden_share(self):
        """Of the reductions of DistributedDataParallel's gradients, how much backward hid."""
        return self._share(True)


_state = ThreadState(in_hook=False)


@contextlib.contextmanager
def in_hook():
    """A block of a communication hook, whose collectives are counted as DDP's."""
    before, _state.in_hook = _state.in_hook, True
    try:
        yield
    finally:
        _state.in_hook = before


def is_in_hook():
    """Whether the calling thread is in such a block."""
    return _state.in_hook


def summary():
    """What the collectives and transfers of this process have cost so far, in all its groups, those
    that have ended among them. Those of NCCL are not counted."""
    rows = json.loads(api.communication_stats())
    return Summary([_row(row) for row in rows], api.communication_summary())


def reset_summary():
    """Counts from zero again, as after steps that warm up."""
    api.communication_reset()
