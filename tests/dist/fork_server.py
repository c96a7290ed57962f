"""Processes of which ranks are forks. The first has imported what the tests' modules import, which
takes longer than most tests; each of its own forks has imported the package as well, under the
variables that the package and its library read, so that no rank does. None has more than one
thread, or a state of any test. Ranks are killed when who asked for them closes the connection, and
all of it ends with the tests' process."""

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
PACKAGE = [
    *("flambeau", "flambeau.optim", "flambeau.nn.parallel", "flambeau.distributed.checkpoint"),
    *(f"flambeau.distributed.{name}" for name in ("distributed_c10d", "fsdp", "tensor.parallel")),
]


class Server:
    """What such a process does: forks, and says how each fork has ended."""

    def __init__(self, control):
        self._control, self._events = control, selectors.DefaultSelector()
        self._living = {}  # connection -> {number: (process, its handle)}
        self._others = {}  # a server that was forked here: its handle -> the way to it
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
        asked, other = json.loads(data), socket.socket(fileno=handles[0])
        if "package" in asked:
            return self._another(asked["package"], other)
        self._living[other] = {}
        self._events.register(other, selectors.EVENT_READ, lambda: self._kill(other))
        for number, task in enumerate(json.loads(Path(asked["tasks"]).read_text())):
            if not (process := os.fork()):
                self._let_go()
                return task
            handle = os.pidfd_open(process)
            self._living[other][number] = process, handle
            end = functools.partial(self._ended, other, number)
            self._events.register(handle, selectors.EVENT_READ, end)
        return None

    def _another(self, variables, control):
        """A fork that is a server, too, of ranks that have the package."""
        if process := os.fork():
            handle = os.pidfd_open(process)
            self._others[handle] = control

            def reap():
                code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
                self._events.unregister(handle)
                os.close(handle)
                with contextlib.suppress(OSError):  # nobody asks any more
                    control.send(json.dumps(code).encode())
                self._others.pop(handle).close()

            self._events.register(handle, selectors.EVENT_READ, reap)
            return None
        self._let_go()
        os.environ.update(variables)
        for name in PACKAGE:
            importlib.import_module(name)
        threads = len(os.listdir("/proc/self/task"))
        if threads != 1:
            raise RuntimeError(f"{threads} threads after the import: forks would have one of them")
        gc.freeze()
        if (task := Server(control).serve()) is None:
            sys.exit()
        return task

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
        for handle, control in self._others.items():
            control.close()
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


_servers, _starting = {}, threading.Lock()  # the ways to them


def _key_of(environment):
    """By which the server of ranks with this environment is known, which there is then."""
    path = environment.get("LD_LIBRARY_PATH", "")
    with _starting:
        if (path,) not in _servers:
            _servers[path,] = _first(path)
        read = {k: v for k, v in environment.items() if _is_read(k)}
        key = path, *sorted(read.items())
        if key not in _servers:
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with theirs:
                _ask((path,), {"package": read}, theirs)
            atexit.register(ours.close)
            _servers[key] = ours
        return key


def _ask(key, what, connection):
    """Asks a server, and gives it its end of a connection."""
    try:
        way = _servers[key]
        socket.send_fds(way, [json.dumps(what).encode()], [connection.fileno()])
    except (KeyError, BrokenPipeError, ConnectionResetError):
        raise _ended(key) from None


def _ended(key):
    """The error of a server that has ended, which says how. The next job has another one."""
    way, code = _servers.pop(key, None), None
    if way is not None:
        way.settimeout(10)
        for _ in range(2):  # the first only says that what was asked last has not been read
            with contextlib.suppress(OSError, ValueError):  # who knew it has ended, too
                code = json.loads(way.recv(MESSAGE))
                break
        way.close()
    how = "by itself or with the one before it" if code is None else f"with {code}"
    return RuntimeError(f"the server of ranks has ended {how}; the next job has another")


def _is_read(name):
    """Whether the package or its library may read a variable before a rank does anything."""
    begins = name.startswith("FLAMBEAU_") and name != "FLAMBEAU_JOB_KEY"
    return begins or name == "TORCHELASTIC_RUN_ID"


def _first(path):
    """The way to a server without the package: one for each path of libraries, which is read when
    a process starts."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    more = {"LD_LIBRARY_PATH": path, "OPENBLAS_NUM_THREADS": "1"}
    more["PYTHONPATH"] = os.pathsep.join(sys.path)
    with theirs:
        server = subprocess.Popen(
            [sys.executable, "-u", str(Path(__file__).with_name("ranks.py"))],
            env={k: v for k, v in os.environ.items() if not _is_read(k)} | more,
            stdin=theirs,
            start_new_session=True,
        )
    atexit.register(_end, server, ours)
    return ours


def _end(server, control):
    control.close()
    try:
        server.wait(10)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


def run(tasks, folder, timeout, without=()):
    """Forks one process for each task; what the package reads of their environments is alike. How
    and when each ended, by its number: those that had not by the deadline, and those of `without`,
    which are not waited for, are killed and not named."""
    Path(folder, "tasks.json").write_text(json.dumps(tasks))
    deadline, ended = time.monotonic() + timeout, {}
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours:
        with theirs:
            key = _key_of(tasks[0]["env"])
            _ask(key, {"tasks": f"{folder}/tasks.json"}, theirs)
        try:
            while not all(n in ended or n in without for n in range(len(tasks))):
                ours.settimeout(max(deadline - time.monotonic(), 1e-3))
                number, code, at = json.loads(ours.recv(MESSAGE) or b"[null, null, null]")
                if number is None:
                    raise _ended(key)
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
