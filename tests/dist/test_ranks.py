"""What jobs of tests rest on: a server of ranks that has ended is named and replaced, and jobs that
wait begin for the tests that run alone."""

import os
import signal
import types

import pytest

from tests.dist import conftest, ranks

OWN = {"FLAMBEAU_SIM": "devices=1,memory=48MiB"}  # of no other test: a server for these alone


def server_of(rank, size, killed):
    server = os.getppid()
    if killed:
        os.kill(server, signal.SIGKILL)
    return server


@pytest.mark.parametrize("busy", [False, True])
def test_a_server_that_has_ended_is_named_and_replaced(busy):
    [first] = ranks.values(server_of, 1, False, **OWN)
    assert ranks.values(server_of, 2, False, **OWN) == [first, first]
    if not busy:
        os.kill(first, signal.SIGKILL)
    with pytest.raises(RuntimeError, match="the server of ranks has ended with -9; the next"):
        ranks.run(server_of, 1, busy, **OWN)
    [second] = ranks.values(server_of, 1, False, **OWN)
    assert second != first


def test_jobs_begin_for_the_tests_that_run(monkeypatch):
    begun = []
    monkeypatch.setattr(ranks, "run", lambda *job, **options: begun.append(job) or job)
    jobs = ranks.Waiting()
    marks = {name: jobs.add(name, name, 2) for name in ("one", "two", "three", "four")}
    items = [
        types.SimpleNamespace(iter_markers=lambda kind, name=name: [marks[name].mark])
        for name in ("one", "three")
    ]
    conftest.pytest_collection_finish(types.SimpleNamespace(items=items))
    assert jobs.run("three") == ("three", 2) and jobs.run("one") == ("one", 2)
    assert sorted(begun) == [("one", 2), ("three", 2)]
    assert jobs.run("four") == ("four", 2) and len(begun) == 3
