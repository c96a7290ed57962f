"""Signals that tell a program to end, while it has processes: on the main thread they raise
SignalException, so that it can hand them down and its processes have time to save.

An exception in the middle of starting or collecting a process would lose that process: there
signals are noted, and raised afterwards. A forked child is no launcher and has its handlers
back."""

import contextlib
import os
import signal
import threading
import weakref

from .api import SignalException

DEFAULT = "SIGTERM,SIGINT,SIGHUP,SIGQUIT"
_taken = weakref.WeakSet()  # of this process


def numbers(names, option="--signals-to-handle"):
    """The signals of a list as `SIGTERM,SIGINT`."""
    found = []
    for name in filter(None, (n.strip() for n in names.split(","))):
        number = getattr(signal, name, None)
        if not isinstance(number, signal.Signals) or number in (signal.SIGKILL, signal.SIGSTOP):
            raise ValueError(
                f"{option}: {name!r} is no signal that a process can handle; give names as "
                "SIGTERM,SIGINT,SIGUSR1"
            )
        found.append(number)
    return found


class Handlers:
    """Handlers of signals, between `take` and `give_back`. On threads other than the main one
    Python lets nobody handle signals, and the program that runs a launcher there has to."""

    def __init__(self, signals, handler):
        self._signals, self._handler, self._before = signals, handler, {}

    def take(self):
        """Handles them from now on, but those that are ignored, as nohup wants SIGHUP."""
        if threading.current_thread() is threading.main_thread():
            _taken.add(self)
            for number in self._signals:
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._before.setdefault(number, signal.signal(number, self._handle))

    def give_back(self):
        """Who handled them before does so again; of a handler that another has taken over, or on
        another thread, when the next signal comes."""
        self._handler = None
        if threading.current_thread() is threading.main_thread():
            _taken.discard(self)
            for number in self._before:
                if signal.getsignal(number) == self._handle:
                    self._restore(number)

    def _restore(self, number):
        before = self._before[number]
        signal.signal(number, before if before is not None else signal.SIG_DFL)

    def _handle(self, number, frame):
        if self._handler is not None:
            self._handler(signal.Signals(number), frame)
            return
        before = self._before[number]
        if callable(before):
            before(number, frame)
        elif before is not signal.SIG_IGN:
            self._restore(number)
            os.kill(os.getpid(), number)


class Raising:
    """Between `take` and `give_back`, signals raise SignalException, but not in blocks of
    `held`."""

    def __init__(self):
        names = os.environ.get("TORCHELASTIC_SIGNALS_TO_HANDLE", DEFAULT)
        self._handlers = Handlers(numbers(names, "TORCHELASTIC_SIGNALS_TO_HANDLE"), self._handle)
        self._held, self._noted = 0, None
        self.take, self.give_back = self._handlers.take, self._handlers.give_back

    def _handle(self, number, frame):
        if self._held:
            self._noted = self._noted or number
        else:
            raise SignalException(f"Process {os.getpid()} got signal: {number.name}", number)

    @contextlib.contextmanager
    def held(self):
        """Within the block, a signal is noted."""
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1
            if self._noted and not self._held:
                number, self._noted = self._noted, None
                self._handle(number, None)


def _in_forked_child():
    for handlers in list(_taken):
        handlers.give_back()


os.register_at_fork(after_in_child=_in_forked_child)
