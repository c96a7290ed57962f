"""`breakpoint`: the debugger on one rank, while the others wait for it."""

import datetime
import pdb
import sys

from ._collectives import barrier
from ._group import _groups, get_rank, set_timeout, world

_passed = {}  # how often each call in the program was passed over


class _Debugger(pdb.Pdb):
    """Reads the terminal of the launcher: processes that `multiprocessing` makes have no stdin."""

    def interaction(self, *args, **kwargs):
        own = sys.stdin
        try:
            with open("/dev/stdin") as sys.stdin:
                super().interaction(*args, **kwargs)
        finally:
            sys.stdin = own


def breakpoint(rank=0, skip=0, timeout_s=3600):
    """Stops `rank` in the debugger; all ranks call it and go on when that one does. The first
    `skip` calls of a line do nothing. `timeout_s`: how long calls of all groups may take from now
    on, so that those that wait do not give up; None leaves that as it is."""
    caller = sys._getframe(1)
    place = caller.f_code, caller.f_lineno
    if _passed.get(place, 0) < skip:
        _passed[place] = _passed.get(place, 0) + 1
        return
    if timeout_s is not None:
        for group in (world(), *_groups.others.values()):
            if group is not None:
                set_timeout(datetime.timedelta(seconds=timeout_s), group)
    if get_rank() == rank:
        debugger = _Debugger()
        debugger.message(
            f"\nRank {rank} has stopped, the others wait: `up` goes to the line that called "
            f"dist.breakpoint(rank={rank}), `continue` lets all go on\n"
        )
        debugger.set_trace()
    barrier()
