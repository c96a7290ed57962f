"""What a process asks of the server of its timers, and how the server answers: it takes requests
by turns, and ends the processes of timers that are over. A deadline is a time of `time.time()`; a
negative one takes the timer back."""

import abc
import contextlib
import sys
import threading
import time

from ..utils.logging import get_logger

__all__ = ["RequestQueue", "TimerClient", "TimerRequest", "TimerServer", "configure", "expires"]

_logger = get_logger(__name__)


class TimerRequest:
    """A process sets a timer for a block (`scope_id`), or takes it back."""

    __slots__ = ("worker_id", "scope_id", "expiration_time")

    def __init__(self, worker_id, scope_id, expiration_time):
        self.worker_id, self.scope_id = worker_id, scope_id
        self.expiration_time = expiration_time

    def __eq__(self, other):
        return isinstance(other, TimerRequest) and self._key() == other._key()

    def __hash__(self):
        return hash(self._key())

    def _key(self):
        return self.worker_id, self.scope_id, self.expiration_time

    def __repr__(self):
        return f"{type(self).__name__}{self._key()}"


class TimerClient(abc.ABC):
    """A process' side."""

    @abc.abstractmethod
    def acquire(self, scope_id, expiration_time):
        """Sets a timer."""

    @abc.abstractmethod
    def release(self, scope_id):
        """Takes it back."""


class RequestQueue(abc.ABC):
    """Requests on their way."""

    @abc.abstractmethod
    def size(self):
        """How many have come."""

    @abc.abstractmethod
    def get(self, size, timeout):
        """Up to `size` of them, waited for `timeout` seconds."""


class TimerServer(abc.ABC):
    """The side that ends processes. It looks at its timers when requests come and at least every
    `max_interval` seconds, in a thread of its own."""

    def __init__(self, request_queue, max_interval, daemon=True):
        self._request_queue, self._max_interval = request_queue, max_interval
        self._daemon, self._watchdog_thread = daemon, None
        self._stopped = threading.Event()

    @abc.abstractmethod
    def register_timers(self, timer_requests):
        """Sets timers and takes them back."""

    @abc.abstractmethod
    def clear_timers(self, worker_ids):
        """Forgets all timers of these processes."""

    @abc.abstractmethod
    def get_expired_timers(self, deadline):
        """The timers that are over at that time, by process."""

    @abc.abstractmethod
    def _reap_worker(self, worker_id):
        """Ends a process; whether it is ended."""

    def _reap(self, worker_id):
        try:
            return self._reap_worker(worker_id)
        except Exception:
            _logger.exception("the end of worker %s failed; it counts as ended", worker_id)
            return True

    def _watchdog_loop(self):
        while not self._stopped.is_set():
            try:
                self._run_watchdog()
            except Exception:
                _logger.exception("a turn of the timers failed")

    def _run_watchdog(self):
        count = max(1, self._request_queue.size())
        self.register_timers(self._request_queue.get(count, self._max_interval))
        over = self.get_expired_timers(time.time())
        for worker_id, timers in over.items():
            _logger.info("worker %s is late in %s", worker_id, [t.scope_id for t in timers])
        self.clear_timers({worker_id for worker_id in over if self._reap(worker_id)})

    def start(self):
        """Begins to look."""
        self._watchdog_thread = threading.Thread(target=self._watchdog_loop, daemon=self._daemon)
        self._watchdog_thread.start()

    def stop(self):
        """Ends it, after the turn that goes on."""
        self._stopped.set()
        if self._watchdog_thread is not None:
            self._watchdog_thread.join(self._max_interval)
            self._watchdog_thread = None


_configured = []


def configure(timer_client):
    """The client that `expires` takes where it is given none."""
    _configured[:] = [timer_client]


@contextlib.contextmanager
def expires(after, scope=None, client=None):
    """A timer of `after` seconds for a block, under its file and line where no name is given."""
    if client is None:
        if not _configured:
            raise RuntimeError("Configure timer client before using countdown timers.")
        client = _configured[0]
    if scope is None:
        caller = sys._getframe(2)  # above contextlib
        scope = f"{caller.f_code.co_filename}#{caller.f_lineno}"
    client.acquire(scope, time.time() + after)
    try:
        yield
    finally:
        client.release(scope)
