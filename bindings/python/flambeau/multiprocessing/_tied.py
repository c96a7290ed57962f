"""A process that the kernel kills when the one that started it dies, however that dies."""

import ctypes
import os
import signal
import sys

_SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG
# Looked up here: a child that is about to run another program should call nothing but this.
_prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else None


def tie(parent, number=signal.SIGKILL):
    """In the child: dies by this signal with the thread that started it; at once, where `parent`
    is gone already."""
    if _prctl is None:
        return
    _prctl(_SET_PARENT_DEATH_SIGNAL, int(number), 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), number)
