"""Timers of `elastic.timer`: a process that is late is killed, one that is in time is not, over a
queue and over a named pipe; what a client cannot do is said."""

import contextlib
import json
import math
import multiprocessing
import os
import signal
import threading
import time

import pytest

FORK = multiprocessing.get_context("fork")


def _waits(client, seconds, limit):
    from flambeau.distributed.elastic import timer

    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # the test's own process has a handler
    timer.configure(client)
    with timer.expires(after=limit):
        time.sleep(seconds)


@pytest.fixture(params=["queue", "pipe"])
def timers(request, tmp_path):
    """The server that runs, its client, and the list of what it has told."""
    from flambeau.distributed.elastic import timer

    told = []
    if request.param == "queue":
        queue = FORK.Queue()
        server, client = timer.LocalTimerServer(queue, 0.05), timer.LocalTimerClient(queue)
    else:
        path = str(tmp_path / "timers")
        tell = lambda *about: told.append(about)  # noqa: E731
        server = timer.FileTimerServer(path, "run", 0.05, log_event=tell)
        client = timer.FileTimerClient(path, signal=signal.SIGTERM)
    before = signal.signal(signal.SIGTERM, lambda *_: told.append(("signal", None)))
    server.start()
    yield server, client, told
    server.stop()
    signal.signal(signal.SIGTERM, before)


def until(holds, seconds=20):
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        time.sleep(0.02)
    assert holds()


def test_who_is_late_is_killed_and_nobody_else(timers):
    _, client, told = timers
    in_time = FORK.Process(target=_waits, args=(client, 0.6, 30))
    late = FORK.Process(target=_waits, args=(client, 60, 0.3))
    for process in (in_time, late):
        process.start()
    late.join(20)
    in_time.join(20)
    assert in_time.exitcode == 0
    assert late.exitcode == (-signal.SIGTERM if told else -signal.SIGKILL)
    # The pipe's server ends its own process as well, by the same signal.
    names = ["watchdog started", "timer expired", "kill worker process", "signal"]
    until(lambda: [name for name, _ in told] == (names if told else []))


def test_a_timer_that_is_taken_back_ends_nobody(timers):
    server, client, told = timers

    def set_now():
        return [t.scope_id for t in server.get_expired_timers(math.inf).get(os.getpid(), [])]

    # Far away: this is the tests' own process, which a loaded machine must not end.
    client.acquire("a block", time.time() + 600)
    client.acquire("another", time.time() + 900)
    until(lambda: set_now() == ["a block", "another"])
    client.release("a block")
    until(lambda: set_now() == ["another"])
    client.release("another")
    until(lambda: set_now() == [])
    assert [name for name, _ in told if name != "watchdog started"] == []


def test_what_a_client_lacks_is_said(tmp_path):
    from flambeau.distributed.elastic import timer

    client = timer.FileTimerClient(str(tmp_path / "nobody"))
    with pytest.raises(BrokenPipeError, match="FileTimerServer is not available"):
        client.acquire("a block", time.time() + 1)
    with pytest.raises(RuntimeError, match="Configure timer client"), timer.expires(after=1):
        pass
    server = timer.FileTimerServer(str(tmp_path / "long"), "run")
    try:
        client = timer.FileTimerClient(str(tmp_path / "long"))
        with pytest.raises(RuntimeError, match="larger than"):
            client.acquire("x" * 5000, time.time() + 1)
    finally:
        server.stop()
    assert not os.path.exists(tmp_path / "long")


# By field, values of no request. All are due, and of signal 0 but where that is what is wrong.
NO_REQUESTS = {
    "pid": [None, 0, -1, 1 << 40, 1.5, True, "1"],
    "scope_id": [None, 1, ["a"]],
    "expiration_time": [None, "soon", True, math.nan, [0]],
    "signal": [None, "SIGTERM", True, 0.5, 9999],
}


@pytest.mark.parametrize("what", [*NO_REQUESTS, "form"])
def test_a_line_that_is_no_request_ends_nothing_and_costs_no_other(tmp_path, what):
    from flambeau.distributed.elastic import timer

    path, told = str(tmp_path / "pipe"), []
    server = timer.FileTimerServer(path, "run", 0.05, log_event=lambda *about: told.append(about))
    good = {"version": 1, "pid": os.getpid(), "scope_id": "no", "expiration_time": 0, "signal": 0}
    bad = [json.dumps({**good, what: value}) for value in NO_REQUESTS.get(what, ())]
    bad = bad or ["nonsense", "[1]", '{"pid": 1}', "[" * 50000]
    lines = [[line, json.dumps({**good, "scope_id": str(n)})] for n, line in enumerate(bad)]
    server.start()
    try:
        with open(path, "w") as pipe:
            pipe.write("\n".join([*sum(lines, []), ""]))
        until(lambda: len(told) > len(bad))
        assert [timer.scope_id for _, timer in told[1:]] == [str(n) for n in range(len(bad))]
        until(lambda: server.get_expired_timers(math.inf) == {})
    finally:
        server.stop()


def test_a_server_that_is_busy_when_it_stops_closes_its_own_pipe(tmp_path, monkeypatch):
    from flambeau.distributed.elastic import timer
    from flambeau.distributed.elastic.timer import file_based_local_timer as module

    monkeypatch.setattr(module, "_PATIENCE", 0.1, raising=False)
    path, busy, go_on = str(tmp_path / "pipe"), threading.Event(), threading.Event()

    def tell(name, request):
        if name == "timer expired":
            busy.set()
            go_on.wait(60)

    server = timer.FileTimerServer(path, "run", 0.05, log_event=tell)
    pipe = os.fstat(number := server._pipe).st_ino
    server.start()
    thread = server._thread
    timer.FileTimerClient(path, signal=0).acquire("a block", time.time())
    assert busy.wait(20)
    server.stop()
    assert thread.is_alive() and os.fstat(number).st_ino == pipe
    go_on.set()
    thread.join(20)
    with contextlib.suppress(OSError):
        assert os.fstat(number).st_ino != pipe


def test_the_scope_is_where_the_block_begins():
    from flambeau.distributed.elastic import timer

    class Client(timer.TimerClient):
        scopes = []

        def acquire(self, scope_id, expiration_time):
            self.scopes.append(scope_id)

        def release(self, scope_id):
            self.scopes.append(scope_id)

    with pytest.raises(ZeroDivisionError), timer.expires(1, client=Client()):
        raise ZeroDivisionError
    with timer.expires(1, "named", Client()):
        pass
    first, second, *named = Client.scopes
    assert first == second and first.startswith(__file__ + "#") and named == ["named"] * 2
    assert timer.TimerRequest(1, "a", 2.0) == timer.TimerRequest(1, "a", 2.0)
    assert timer.FileTimerRequest(1, "a", 2.0, 9) != timer.FileTimerRequest(1, "a", 2.0, 15)
