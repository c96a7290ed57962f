"""Timers over a named pipe, for processes that share no queue with the server but know its path.
Each request is a line of JSON that fits into what a pipe takes at once, so that no two mix."""

import json
import os
import select
import signal
import threading
import time

from ..utils.logging import get_logger
from .api import TimerClient, TimerRequest
from .local_timer import Timers, end

__all__ = ["FileTimerClient", "FileTimerRequest", "FileTimerServer"]

_logger = get_logger(__name__)
_TRIES, _PAUSE = 10, 0.1  # of a client whose server is about to start
_POLL = 0.1
_PATIENCE = 5.0  # with the turn that goes on when it is to stop
_LARGEST_PID = (1 << 31) - 1


class FileTimerRequest(TimerRequest):
    """A request that says by which signal its process is to end; 0: by none."""

    __slots__ = ("version", "signal")

    def __init__(self, worker_pid, scope_id, expiration_time, signal=0):
        super().__init__(worker_pid, scope_id, expiration_time)
        self.version, self.signal = 1, signal

    worker_pid = property(lambda self: self.worker_id)

    def _key(self):
        return (*super()._key(), self.version, self.signal)

    def to_json(self):
        """Its line."""
        return json.dumps(
            {
                "version": self.version,
                "pid": self.worker_id,
                "scope_id": self.scope_id,
                "expiration_time": self.expiration_time,
                "signal": int(self.signal),
            }
        )


class FileTimerClient(TimerClient):
    """The client of the server at `file_path`."""

    def __init__(self, file_path, signal=signal.SIGKILL):
        self._file_path, self.signal = file_path, signal

    def _open(self):
        for turn in range(_TRIES):
            try:
                return os.open(self._file_path, os.O_WRONLY | os.O_NONBLOCK)
            except OSError as problem:
                if turn == _TRIES - 1:
                    raise BrokenPipeError(
                        "Could not send the FileTimerRequest because FileTimerServer is not "
                        f"available: {problem}"
                    ) from None
                time.sleep(_PAUSE)

    def _send(self, *about):
        line = (FileTimerRequest(os.getpid(), *about).to_json() + "\n").encode()
        if len(line) > select.PIPE_BUF:
            raise RuntimeError(
                f"FileTimerRequest larger than {select.PIPE_BUF} bytes is not supported; give a "
                "shorter scope"
            )
        pipe = self._open()
        try:
            os.write(pipe, line)
        finally:
            os.close(pipe)

    def acquire(self, scope_id, expiration_time):
        self._send(scope_id, expiration_time, self.signal)

    def release(self, scope_id):
        self._send(scope_id, -1)


class FileTimerServer:
    """Makes the pipe `file_path` and looks at its timers at least every `max_interval` seconds. A
    process that is late gets the signal that its client has named, and so does this one then: what
    started it starts both again. `log_event(name, request)` is told of it."""

    def __init__(self, file_path, run_id, max_interval=10, daemon=True, log_event=None):
        self._path, self._run_id, self._max_interval = file_path, run_id, max_interval
        self._daemon, self._thread, self._timers = daemon, None, Timers()
        self._log_event = log_event or (lambda name, request: None)
        self._stopped, self._last, self._rest = threading.Event(), int(time.time()), b""
        if os.path.exists(file_path):
            os.remove(file_path)
        os.mkfifo(file_path)
        # Open for both, so that it never ends while clients come and go.
        self._pipe = os.open(file_path, os.O_RDWR | os.O_NONBLOCK)

    def start(self):
        """Begins to look."""
        self._thread = threading.Thread(target=self._run, daemon=self._daemon)
        self._thread.start()
        self._log_event("watchdog started", None)

    def stop(self):
        """Ends it, and removes the pipe."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join(self._max_interval + _PATIENCE)
            self._thread = None
        else:
            self._close()
        if os.path.exists(self._path):
            os.remove(self._path)
        self._log_event("watchdog stopped", None)

    def get_last_progress_time(self):
        """When it has looked last."""
        return self._last

    @staticmethod
    def is_process_running(pid):
        """Whether there is such a process."""
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass
        return True

    def register_timers(self, timer_requests):
        """Sets timers and takes them back."""
        self._timers.register(timer_requests)

    def clear_timers(self, worker_pids):
        """Forgets the timers of these processes and of those that are no more."""
        self._timers.clear(lambda pid: pid in worker_pids or not self.is_process_running(pid))

    def get_expired_timers(self, deadline):
        """The timers that are over at that time, by process."""
        return self._timers.over(deadline)

    def _close(self):
        if self._pipe is not None:
            os.close(self._pipe)
            self._pipe = None

    def _run(self):
        while not self._stopped.is_set():
            try:
                self.register_timers(self._requests(min(self._max_interval, _POLL)))
                self._end_those_that_are_late()
                self._last = int(time.time())
            except Exception:
                _logger.exception("a turn of the timers failed")
        # Here, where it is read: after a stop() that waited in vain the number is not another's.
        self._close()

    def _requests(self, seconds):
        ready, _, _ = select.select([self._pipe], [], [], seconds)
        *lines, self._rest = (self._rest + (os.read(self._pipe, 1 << 16) if ready else b"")).split(
            b"\n"
        )
        return [found for line in lines if (found := _parsed(line)) is not None]

    def _end_those_that_are_late(self):
        late = self.get_expired_timers(time.time())
        if not late:
            return
        ended = set()
        for pid, timers in late.items():
            for timer in timers:
                self._log_event("timer expired", timer)
            named = next((timer for timer in timers if timer.signal > 0), None)
            if named is not None and end(pid, named.signal):
                self._log_event("kill worker process", named)
                ended.add(named.signal)
        self.clear_timers(set(late))
        for number in ended:
            end(os.getpid(), number)


def _parsed(line):
    """The request of a line; None for one that is none."""
    try:
        about = json.loads(line)
        given = [about[key] for key in ("pid", "scope_id", "expiration_time", "signal")]
    except (ValueError, KeyError, TypeError, RecursionError):
        given = None
    if given is None or not _can_be(*given):
        _logger.warning("a line of a timer's pipe is no request: %r", line[:200])
        return None
    return FileTimerRequest(*given)


def _can_be(pid, scope_id, expiration_time, number):
    """Whether these are of a request. 0 and negative pids would be groups or all processes."""
    return (
        (type(pid) is int and 0 < pid <= _LARGEST_PID)
        and isinstance(scope_id, str)
        and (type(expiration_time) in (int, float) and expiration_time == expiration_time)
        and (type(number) is int and (number == 0 or number in signal.valid_signals()))
    )
