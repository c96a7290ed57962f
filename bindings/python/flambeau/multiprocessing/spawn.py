"""`spawn`: one function in several processes, whose first failure ends the others and is raised
here with its traceback.

A process sends its traceback through a pipe that is read while the processes are waited for: a long
one would keep the process from ending otherwise."""

import multiprocessing
import os
import signal
import sys
import time
import traceback
import warnings
from multiprocessing import connection

from . import _job
from ._tied import outlives, tie

__all__ = ["ProcessContext", "ProcessException", "ProcessExitedException",
           "ProcessRaisedException", "SpawnContext", "spawn", "start_processes"]  # fmt: skip


class ProcessException(Exception):
    """What the failures of a process share."""

    def __init__(self, msg, error_index, error_pid):
        super().__init__(msg)
        self.msg, self.error_index, self.error_pid = msg, error_index, error_pid
        self.pid = error_pid  # its older name

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.error_pid)


class ProcessRaisedException(ProcessException):
    """A process failed by an exception."""


class ProcessExitedException(ProcessException):
    """A process ended by a signal or with an exit code."""

    def __init__(self, msg, error_index, error_pid, exit_code, signal_name=None):
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self):
        about = self.msg, self.error_index, self.error_pid, self.exit_code, self.signal_name
        return type(self), about


def _run(fn, i, args, failed, key, parent):
    """A process: `parent` is whose death ends it, if anyone's."""
    if parent is not None:
        tie(parent, signal.SIGINT)
    _job.take(key)
    above = os.getppid()
    try:
        fn(i, *args)
    except KeyboardInterrupt:
        if os.getppid() != above:  # whose parent is gone tells nobody
            return
        failed.send(traceback.format_exc())
        sys.exit(128 + signal.SIGINT)
    except Exception:
        failed.send(traceback.format_exc())
        sys.exit(1)


class ProcessContext:
    """The running processes; `join` waits for them."""

    def __init__(self, processes, failures):
        self.processes, self._failures = processes, failures
        self._texts = {}
        self.sentinels = {process.sentinel: i for i, process in enumerate(processes)}

    def pids(self):
        """Their process ids."""
        return [int(process.pid) for process in self.processes]

    def _read(self, index):
        try:
            if index not in self._texts and self._failures[index].poll():
                self._texts[index] = self._failures[index].recv()
        except (EOFError, OSError):  # it ended without a word, or in the middle of one
            pass

    def _unread(self):
        """Pipes that may bring a traceback, by descriptor."""
        running = self.sentinels.values()
        return {self._failures[i].fileno(): i for i in running if i not in self._texts}

    def _failed(self, timeout):
        """The process that failed within that time, None where none did."""
        end = None if timeout is None else time.monotonic() + max(timeout, 0.0)
        while True:
            pipes = self._unread()
            left = None if end is None else max(0.0, end - time.monotonic())
            ready = connection.wait([*self.sentinels, *pipes], left)
            for fd in ready:
                if fd in pipes:
                    self._read(pipes[fd])
            ended = [fd for fd in ready if fd in self.sentinels]
            for sentinel in ended:
                index = self.sentinels.pop(sentinel)
                self.processes[index].join()
                self._read(index)
                if self.processes[index].exitcode != 0:
                    return index
            if ended or not ready:
                return None

    def _wait_all(self, timeout):
        end = time.monotonic() + timeout
        for process in self.processes:
            process.join(max(0.0, end - time.monotonic()))

    def join(self, timeout=None, grace_period=None):
        """Waits for processes to end: True once all have, False where `timeout` seconds passed or
        one ended well. Raises the first failure, after it ended the others: by themselves within
        `grace_period` seconds if that is given, by SIGTERM, and after as long again, or 30 s, by
        SIGKILL."""
        if not self.sentinels:
            return True
        bad = self._failed(timeout)
        if bad is None:
            return not self.sentinels
        if grace_period is not None:
            self._wait_all(grace_period)
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        self._wait_all(30 if grace_period is None else grace_period)
        for process in self.processes:
            if process.is_alive():
                process.kill()
            process.join()
        self.sentinels.clear()
        self._raise(bad)

    def _raise(self, index):
        process, text = self.processes[index], self._texts.get(index)
        if text is not None:
            text = f"\n\n-- Process {index} terminated with the following error:\n{text}"
            raise ProcessRaisedException(text, index, process.pid)
        code, name = process.exitcode, None
        if code < 0:
            try:
                name = signal.Signals(-code).name
            except ValueError:
                name = f"<Unknown signal {-code}>"
        how = f"exit code {code}" if name is None else f"signal {name}"
        text = f"process {index} terminated with {how}"
        raise ProcessExitedException(text, index, process.pid, code, name)


class SpawnContext(ProcessContext):
    """An old name."""

    def __init__(self, processes, failures):
        warnings.warn("SpawnContext is renamed to ProcessContext since 1.4 release.", stacklevel=2)
        super().__init__(processes, failures)


def start_processes(
    fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn", numa_options=None
):
    """Starts `fn(i, *args)` in `nprocs` processes; with `join` waits until all have ended. Where
    one cannot be started, those before it are ended."""
    if numa_options is not None:
        raise NotImplementedError("start_processes: numa_options are not supported")
    context = multiprocessing.get_context(start_method)
    # Processes of a fork server are not this one's children.
    parent = os.getpid() if start_method != "forkserver" and outlives() else None
    key, failures, processes = _job.job_key(), [], []
    try:
        for i in range(nprocs):
            reading, writing = context.Pipe(duplex=False)
            failures.append(reading)
            with writing:
                about = fn, i, args, writing, key, parent
                process = context.Process(target=_run, args=about, daemon=daemon)
                process.start()
            processes.append(process)
    except BaseException:
        for process in processes:
            process.kill()
            process.join()
        raise
    found = ProcessContext(processes, failures)
    if not join:
        return found
    while not found.join():
        pass


def spawn(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """Starts `fn(i, *args)` in `nprocs` new interpreters; with `join` waits until all have ended,
    and raises where one failed."""
    if start_method != "spawn":
        warnings.warn(
            f"This method only supports start_method=spawn (got: {start_method}).\n"
            "To use a different start_method use:\n\t\t torch.multiprocessing.start_processes(...)",
            FutureWarning,
            stacklevel=2,
        )
    return start_processes(fn, args, nprocs, join, daemon, start_method="spawn")
