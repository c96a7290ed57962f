"""Ctrl-C ends waits for other ranks: Python sees a signal on its main thread only, and only when it
runs there. The library, while it waits on that thread, now and then calls a function of Python's,
which does nothing: a signal that has come is raised in it, and ends the call that waits."""

import atexit
import threading

from .._call import _NULL, _fast, _raise
from .._callbacks import guarded, table


@guarded("flam_py_interrupt_callback_check")
def _check(user):
    pass


def hear():
    """From now on, where this is the main thread."""
    if threading.current_thread() is not threading.main_thread():
        return
    if _fast.flam_set_interrupt_callback(table("flam_interrupt_callback", None, check=_check)):
        _raise()
    atexit.unregister(_end)
    atexit.register(_end)


def _end():
    """The program may go on without Python."""
    _fast.flam_set_interrupt_callback(_NULL)
