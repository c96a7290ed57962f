"""A process of which ranks are forks. It has imported what the tests' modules import, which takes a
rank longer than most tests; but not the package, whose library reads the environment that a rank is
given. It has one thread and no state of any test. Ranks are killed when who asked for them closes
the connection, and all of it ends with the tests' process."""

import atexit
import contextlib
import functools
import gc
import importlib
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

MESSAGE = 1 << 12  # more than any has


class Server:
    """What the process does: forks, and says how each fork has ended."""

    def __init__(self, control):
        self._control, self._events = control, selectors.DefaultSelector()
        self._living = {}  # connection -> {number: (process, its handle)}
        self._events.register(control, selectors.EVENT_READ, self._asked)

    def serve(self):
        """In each fork the task that it has; in the server None, when nobody is left to ask."""
        while self._events.get_map():
            for key, _ in self._events.select():
                if (task := key.data()) is not None:
                    return task
        return None

    def _asked(self):
        data, handles, _, _ = socket.recv_fds(self._control, MESSAGE, 1)
        if not data:
            self._events.unregister(self._control)
            return None
        connection = socket.socket(fileno=handles[0])
        self._living[connection] = {}
        self._events.register(connection, selectors.EVENT_READ, lambda: self._kill(connection))
        for number, task in enumerate(json.loads(Path(data.decode()).read_text())):
            if not (process := os.fork()):
                self._let_go()
                return task
            handle = os.pidfd_open(process)
            self._living[connection][number] = process, handle
            end = functools.partial(self._ended, connection, number)
            self._events.register(handle, selectors.EVENT_READ, end)
        return None

    def _ended(self, connection, number):
        process, handle = self._living[connection].pop(number)
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        self._events.unregister(handle)
        os.close(handle)
        with contextlib.suppress(OSError):  # nobody listens any more
            connection.send(json.dumps([number, code, time.monotonic()]).encode())
        if not self._living[connection]:
            self._kill(connection)
            del self._living[connection]
            connection.close()

    def _kill(self, connection):
        if connection not in self._living or connection not in self._events.get_map():
            return
        self._events.unregister(connection)
        for process, _ in self._living[connection].values():
            os.kill(process, signal.SIGKILL)

    def _let_go(self):
        self._events.close()
        for connection, living in self._living.items():
            connection.close()
            for _, handle in living.values():
                os.close(handle)
        self._control.close()


def become(task):
    """A fork as a process of its own would begin."""
    signal.alarm(120)  # where the test itself was killed
    os.environ.clear()
    os.environ.update(task["env"])
    nothing = os.open(os.devnull, os.O_RDONLY)
    output = os.open(task["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    for stream, handle in enumerate((nothing, output, output)):
        os.dup2(handle, stream)
    os.close(nothing)
    os.close(output)


_servers, _starting = {}, threading.Lock()


def _control_of(environment):
    """The way to a server: one for each path of libraries, which is read when a process starts."""
    path = environment.get("LD_LIBRARY_PATH", "")
    with _starting:
        if path not in _servers:
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            own = {"LD_LIBRARY_PATH": path, "OPENBLAS_NUM_THREADS": "1"}
            with theirs:
                server = subprocess.Popen(
                    [sys.executable, "-u", str(Path(__file__).with_name("ranks.py"))],
                    env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)} | own,
                    stdin=theirs,
                    start_new_session=True,
                )
            atexit.register(_end, server, ours)
            _servers[path] = ours
        return _servers[path]


def _end(server, control):
    control.close()
    try:
        server.wait(10)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


def run(tasks, folder, timeout, without=()):
    """Forks one process for each task, all with one environment's path of libraries. How and when
    each ended, by its number: those that had not by the deadline, and those of `without`, which are
    not waited for, are killed and not named."""
    Path(folder, "tasks.json").write_text(json.dumps(tasks))
    deadline, ended = time.monotonic() + timeout, {}
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours:
        with theirs:
            control = _control_of(tasks[0]["env"])
            socket.send_fds(control, [f"{folder}/tasks.json".encode()], [theirs.fileno()])
        try:
            while not all(n in ended or n in without for n in range(len(tasks))):
                ours.settimeout(max(deadline - time.monotonic(), 1e-3))
                number, code, at = json.loads(ours.recv(MESSAGE) or b"[null, null, null]")
                if number is None:
                    raise RuntimeError("the server of ranks has ended")
                ended[number] = code, at
        except TimeoutError:
            pass
        finally:
            ours.shutdown(socket.SHUT_WR)
            ours.settimeout(30)
            while ours.recv(MESSAGE):  # until the last has ended
                pass
    return ended


def main(call, *modules):
    """The whole life of the server, and of each of its forks, which ends as a program does."""
    control = socket.socket(fileno=os.dup(0))
    for name in modules:
        importlib.import_module(name)
    gc.freeze()
    task = Server(control).serve()
    if task is not None:
        become(task)
        call(*task["call"])
