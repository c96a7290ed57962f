"""Named ranges as programs for NVIDIA's tools set them: they are ranges of flambeau's profiler, and
those of a thread close in the order in which they were opened."""

import contextlib

from .._gen import api
from .._thread_state import ThreadState

_open = ThreadState(ranges=())


def range_push(msg):
    """Opens a range; returns how many were open before it."""
    _open.ranges += (api.range_begin(msg),)
    return len(_open.ranges) - 1


def range_pop():
    """Closes the latest range; returns how many are open still, -1 where none was."""
    if not _open.ranges:
        return -1
    _open.ranges, last = _open.ranges[:-1], _open.ranges[-1]
    api.range_end(last)
    return len(_open.ranges)


def mark(msg):
    """A range without duration."""
    api.range_end(api.range_begin(msg))


@contextlib.contextmanager
def range(msg, *args, **kwargs):
    """A range for a `with` block or, as a decorator, a function; `msg` may be a format."""
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()
