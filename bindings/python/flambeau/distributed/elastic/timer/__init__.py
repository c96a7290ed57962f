"""Deadlines of blocks of code: a process says by when a block is to be over, and a server in the
process that started it kills it where it is not."""

from .api import TimerClient, TimerRequest, TimerServer, configure, expires
from .file_based_local_timer import FileTimerClient, FileTimerRequest, FileTimerServer
from .local_timer import LocalTimerClient, LocalTimerServer

__all__ = ["FileTimerClient", "FileTimerRequest", "FileTimerServer", "LocalTimerClient",
           "LocalTimerServer", "TimerClient", "TimerRequest", "TimerServer", "configure",
           "expires"]  # fmt: skip
