"""Signals that tell a launcher to end: noted when they come, and acted on where the launcher is
ready for it. An exception in the middle of starting a process would lose that process."""

import contextlib
import os
import signal
import threading
from multiprocessing import connection

from ..multiprocessing.api import SignalException


def numbers(names):
    """The signals of a list as `SIGTERM,SIGINT`."""
    found = []
    for name in filter(None, (n.strip() for n in names.split(","))):
        number = getattr(signal, name, None)
        if not isinstance(number, signal.Signals) or number in (signal.SIGKILL, signal.SIGSTOP):
            raise ValueError(
                f"--signals-to-handle: {name!r} is no signal that a process can handle; give names "
                "as SIGTERM,SIGINT,SIGUSR1"
            )
        found.append(number)
    return found


class Signals:
    """Within the block, what was `received`, in order. On threads other than the main one Python
    lets nobody handle signals, and the program that runs the launcher there has to."""

    def __init__(self, names):
        self._numbers, self._before = numbers(names), {}
        self.received = []
        self.wake, self._woken = os.pipe()
        for end in (self.wake, self._woken):
            os.set_blocking(end, False)

    def __enter__(self):
        if threading.current_thread() is threading.main_thread():
            for number in self._numbers:
                if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup wants SIGHUP
                    self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_):
        for number, handler in self._before.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
        os.close(self.wake)
        os.close(self._woken)

    def _note(self, number, frame):
        self.received.append(signal.Signals(number))
        with contextlib.suppress(BlockingIOError):
            os.write(self._woken, b".")

    def check(self):
        """Raises SignalException where one has come."""
        if self.received:
            number = self.received[0]
            raise SignalException(f"Process {os.getpid()} got signal: {number.name}", number)

    def pause(self, seconds):
        """Waits so long, or until a signal comes, and checks."""
        self.check()
        connection.wait([self.wake], seconds)
        self.check()
