"""Timers of `elastic.timer`: a process that is late is killed, one that is in time is not, over a
queue and over a named pipe; what a client cannot do is said."""

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
    """The server that runs, and its client; what it killed is in `told`."""
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
    yield client, told
    server.stop()
    signal.signal(signal.SIGTERM, before)


def test_who_is_late_is_killed_and_nobody_else(timers):
    client, told = timers
    in_time = FORK.Process(target=_waits, args=(client, 0.6, 30))
    late = FORK.Process(target=_waits, args=(client, 60, 0.3))
    for process in (in_time, late):
        process.start()
    late.join(20)
    in_time.join(20)
    assert in_time.exitcode == 0
    assert late.exitcode == (-signal.SIGTERM if told else -signal.SIGKILL)
    # The pipe's server ends its own process as well, by the same signal.
    names = [name for name, _ in told]
    assert names in ([], ["watchdog started", "timer expired", "kill worker process", "signal"])


def test_a_timer_that_is_taken_back_ends_nobody(timers):
    client, told = timers
    client.acquire("a block", time.time() + 0.2)
    client.acquire("another", time.time() + 0.2)
    client.release("a block")
    client.release("another")
    time.sleep(0.5)
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


def test_lines_that_are_no_requests_end_nothing(tmp_path):
    from flambeau.distributed.elastic import timer

    server = timer.FileTimerServer(str(tmp_path / "pipe"), "run", 0.05)
    server.start()
    try:
        with open(tmp_path / "pipe", "wb") as pipe:
            pipe.write(b'nonsense\n[1]\n{"pid": 1}\n')
        seen = threading.Event()
        server._log_event = lambda name, request: seen.set()
        timer.FileTimerClient(str(tmp_path / "pipe"), signal=0).acquire("a block", time.time())
        assert seen.wait(10)  # the next request is still read
    finally:
        server.stop()


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
