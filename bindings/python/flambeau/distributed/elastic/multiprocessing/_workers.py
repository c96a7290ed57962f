"""The processes of one node, from their start until nothing of them is left.

Each leads a session, hence a process group, of its own: a terminal's interrupt reaches them only
through the launcher, and a signal to the group reaches what they started. A process that has ended
is not reaped before its group was killed, because until then nobody else can have its number."""

import contextlib
import errno
import multiprocessing
import os
import shutil
import signal
import subprocess
import time
from multiprocessing import connection

from ....multiprocessing._tied import command_of, outlives, tie
from .errors import record


class _Command:
    """A program."""

    def __init__(self, command, env, stdout, stderr):
        if shutil.which(command[0], path=env.get("PATH")) is None:
            raise FileNotFoundError(
                errno.ENOENT, "No such file or directory, or no program", command[0]
            )
        self._process = subprocess.Popen(
            command_of(command), env=env, stdout=stdout, stderr=stderr, start_new_session=True
        )
        self.pid = self._process.pid

    def go(self):
        """The keeper knows it. The kernel knew it before."""

    def reap(self):
        """The exit code of a process that has ended."""
        return self._process.wait()

    def ended(self):
        """Whether it has ended; not reaped."""
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _call(fn, args, env, streams, answer, parent):
    """A function's process: runs it, and sends what it returns. It waits until the keeper knows
    it: nothing else ends a fork server's process, which is not the launcher's own."""
    if hasattr(os, "setsid"):
        os.setsid()
    if parent is not None:
        tie(parent)
    try:
        answer.recv()
    except EOFError:
        return
    os.environ.update(env)
    for number, stream in streams.items():
        os.dup2(stream.fileno(), number)
        stream.close()

    def answered():
        answer.send(fn(*args))

    record(answered)()


class _Function:
    """A function in a process of its own, whose value comes back by a pipe."""

    def __init__(self, fn, args, env, stdout, stderr, start_method):
        context = multiprocessing.get_context(start_method)
        self._answers, answer = context.Pipe()
        given = {1: stdout, 2: stderr}
        streams = {
            n: connection.Connection(os.dup(fd), readable=False)
            for n, fd in given.items()
            if fd is not None
        }
        parent = os.getpid() if start_method != "forkserver" and outlives() else None
        own = {k: v for k, v in env.items() if os.environ.get(k) != v}
        self._process = context.Process(
            target=_call, args=(fn, args, own, streams, answer, parent), daemon=False
        )
        with _environment(own):  # what the interpreter reads when it starts
            self._process.start()
        self.pid = self._process.pid
        for end in (answer, *streams.values()):
            end.close()
        self.value, self._open = None, True

    def go(self):
        """The keeper knows it."""
        with contextlib.suppress(OSError):
            self._answers.send(None)

    def ended(self):
        """Whether it has ended; not reaped, where it is ours."""
        self._receive()
        try:
            state = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            return state is not None
        except ChildProcessError:  # reaped elsewhere in this program, or the forkserver's
            return self._process.exitcode is not None

    def _receive(self):
        """A long value must be taken before the process can end."""
        try:
            while self._open and self._answers.poll():
                self.value = self._answers.recv()
                self._open = False
        except (EOFError, OSError):
            self._open = False

    def reap(self):
        """The exit code of a process that has ended."""
        self._process.join()
        self._receive()
        self._answers.close()
        return self._process.exitcode


@contextlib.contextmanager
def _environment(changes):
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


class Workers:
    """The processes of one attempt, by local rank."""

    def __init__(self, keeper):
        self._keeper = keeper
        self._running, self._watched = {}, {}
        self.exit_codes, self.pids, self.values, self.ended_by_us = {}, {}, {}, set()

    def start(self, rank, entrypoint, args, env, stdout, stderr, start_method):
        """Starts a program, or a function, as a local rank. The streams are descriptors, or None
        for this process's own."""
        if isinstance(entrypoint, str):
            worker = _Command([entrypoint, *map(str, args)], env, stdout, stderr)
        else:
            worker = _Function(entrypoint, args, env, stdout, stderr, start_method)
        self._keeper.add(worker.pid)
        worker.go()
        self._running[rank] = worker
        self.pids[rank] = worker.pid
        if hasattr(os, "pidfd_open"):
            with contextlib.suppress(OSError):  # an old kernel; then they are asked by turns
                self._watched[rank] = os.pidfd_open(worker.pid)

    @property
    def running(self):
        """The local ranks that have not ended."""
        return sorted(self._running)

    def wait(self, timeout, *others):
        """Returns when a process ends, one of `others` is readable, or the time is over."""
        connection.wait([*self._watched.values(), *others], timeout)

    def collect(self):
        """The local ranks that ended since the last time, with exit codes from then on."""
        ended = [rank for rank, worker in self._running.items() if worker.ended()]
        for rank in ended:
            worker = self._running[rank]
            self._signal(worker.pid, signal.SIGKILL)  # what it left behind
            self._keeper.remove(worker.pid)
            self.exit_codes[rank] = worker.reap()
            self.values[rank] = getattr(worker, "value", None)
            del self._running[rank]
            if rank in self._watched:
                os.close(self._watched.pop(rank))
        return ended

    def _signal(self, pid, number):
        try:
            os.killpg(pid, number)
        except ProcessLookupError:  # a function's process that is not a leader yet
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
        except PermissionError:  # all that is left of the group are other users' processes
            pass

    def signal(self, number):
        """Hands a signal to all that run."""
        for rank, worker in self._running.items():
            self.ended_by_us.add(rank)
            self._signal(worker.pid, number)

    def stop(self, number, grace, tick=lambda: None, impatient=lambda: False):
        """Ends all by the signal, after `grace` seconds, or once `impatient`, by SIGKILL. The
        local ranks that even this does not end, since they hang in the kernel."""
        self.collect()
        self.signal(number)
        for kill, seconds in ((False, grace), (True, 10.0)):
            if kill and self._running:
                self.signal(signal.SIGKILL)
            end = time.monotonic() + seconds
            while self._running and time.monotonic() < end and (kill or not impatient()):
                self.wait(min(0.1, max(0.0, end - time.monotonic())))
                self.collect()
                tick()
        return self.running
