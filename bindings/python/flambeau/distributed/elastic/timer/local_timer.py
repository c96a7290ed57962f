"""Timers of the processes that this one has started, over a queue of `multiprocessing`; a process
is known by its pid and ended by SIGKILL."""

import os
import queue
import signal
import time

from .api import RequestQueue, TimerClient, TimerRequest, TimerServer

__all__ = ["LocalTimerClient", "LocalTimerServer", "MultiprocessingRequestQueue"]


class LocalTimerClient(TimerClient):
    """The client of a process that has the queue."""

    def __init__(self, mp_queue):
        self._mp_queue = mp_queue

    def acquire(self, scope_id, expiration_time):
        self._mp_queue.put(TimerRequest(os.getpid(), scope_id, expiration_time))

    def release(self, scope_id):
        self._mp_queue.put(TimerRequest(os.getpid(), scope_id, -1))


class MultiprocessingRequestQueue(RequestQueue):
    """The queue as the server asks it."""

    def __init__(self, mp_queue):
        self._mp_queue = mp_queue

    def size(self):
        return self._mp_queue.qsize()

    def get(self, size, timeout):
        found, deadline = [], time.monotonic() + timeout
        while len(found) < size:
            try:
                found.append(self._mp_queue.get(timeout=max(deadline - time.monotonic(), 0)))
            except queue.Empty:
                break
        return found


class Timers:
    """Those that are set, by process and block."""

    def __init__(self):
        self._set = {}

    def register(self, requests):
        """Sets timers and takes them back."""
        for request in requests:
            key = request.worker_id, request.scope_id
            if request.expiration_time < 0:
                self._set.pop(key, None)
            else:
                self._set[key] = request

    def clear(self, is_gone):
        """Forgets the timers of the processes that are gone."""
        self._set = {key: timer for key, timer in self._set.items() if not is_gone(key[0])}

    def over(self, deadline):
        """Those that are over at that time, by process, the first in front."""
        found = {}
        for timer in sorted(self._set.values(), key=lambda timer: timer.expiration_time):
            if timer.expiration_time <= deadline:
                found.setdefault(timer.worker_id, []).append(timer)
        return found


def end(pid, number):
    """Sends a process the signal; whether it got it or is gone."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass
    except PermissionError:
        return False
    return True


class LocalTimerServer(TimerServer):
    """The server, in the process that made the queue."""

    def __init__(self, mp_queue, max_interval=60, daemon=True):
        super().__init__(MultiprocessingRequestQueue(mp_queue), max_interval, daemon)
        self._timers = Timers()

    def register_timers(self, timer_requests):
        self._timers.register(timer_requests)

    def clear_timers(self, worker_ids):
        self._timers.clear(worker_ids.__contains__)

    def get_expired_timers(self, deadline):
        return self._timers.over(deadline)

    def _reap_worker(self, worker_id):
        return end(worker_id, signal.SIGKILL)
