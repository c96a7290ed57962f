"""`torch.multiprocessing`: the standard library's, with tensors that processes share.

A cpu tensor that goes through a queue or a pipe, or to a new process, moves into shared memory
first: both sides then see each other's writes. Tensors elsewhere travel by value."""

import multiprocessing as _standard
from multiprocessing import *  # noqa: F403

from . import reductions
from .spawn import (
    ProcessContext,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    spawn,
    start_processes,
)

__all__ = (
    _standard.__all__
    + (
        "ProcessContext ProcessExitedException ProcessRaisedException SpawnContext "
        "get_all_sharing_strategies get_sharing_strategy set_sharing_strategy spawn start_processes"
    ).split()
)

reductions.register()


def get_all_sharing_strategies():
    """How memory is shared: by file descriptor, the only way here."""
    return {"file_descriptor"}


def get_sharing_strategy():
    """How memory is shared."""
    return "file_descriptor"


def set_sharing_strategy(new_strategy):
    """Accepts torch's names; memory is shared by file descriptor, which leaves no file behind."""
    if new_strategy not in ("file_descriptor", "file_system"):
        raise AssertionError(
            f"invalid sharing strategy {new_strategy!r}, expected one of "
            "['file_descriptor', 'file_system']"
        )
