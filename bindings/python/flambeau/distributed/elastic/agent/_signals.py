"""Signals that tell a launcher to end: noted when they come, and acted on where the launcher is
ready for it. An exception in the middle of starting a process would lose that process."""

import contextlib
import os
from multiprocessing import connection

from ..multiprocessing._signals import Handlers, numbers
from ..multiprocessing.api import SignalException


class Signals:
    """Within the block, what was `received`, in order."""

    def __init__(self, names):
        self._handlers = Handlers(numbers(names), self._note)
        self.received = []
        self.wake, self._woken = os.pipe()
        for end in (self.wake, self._woken):
            os.set_blocking(end, False)

    def __enter__(self):
        self._handlers.take()
        return self

    def __exit__(self, *_):
        self._handlers.give_back()
        os.close(self.wake)
        os.close(self._woken)

    def _note(self, number, frame):
        self.received.append(number)
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
