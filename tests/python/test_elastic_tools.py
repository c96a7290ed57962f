"""Small tools of `torch.distributed.elastic`: events, metrics, what processes tell by a store, and
epochs in a row."""

import datetime
import json
import logging
import threading

import pytest


def test_events_are_json():
    from flambeau.distributed.elastic import events

    one = events.Event("saved", events.EventSource.WORKER, 7, {"step": 3, "loss": None})
    assert json.loads(str(one)) == {
        **{"name": "saved", "source": "WORKER", "timestamp": 7},
        "metadata": {"step": 3, "loss": None},
    }
    assert events.Event.deserialize(str(one)) == one == events.Event.deserialize(one)
    met = events.RdzvEvent("n", "id", "text", "host", 5, events.NodeState.RUNNING, rank=1)
    assert events.RdzvEvent.deserialize(met.serialize()) == met
    with pytest.raises(TypeError, match="expected a str, but got int"):
        events.Event.deserialize(3)


def test_events_go_where_they_are_sent(monkeypatch):
    from flambeau.distributed.elastic import events
    from flambeau.distributed.elastic.events import handlers

    lines = []

    class Kept(logging.Handler):
        def emit(self, record):
            lines.append(json.loads(record.getMessage()))

    monkeypatch.setitem(handlers._log_handlers, "kept", Kept())
    monkeypatch.setattr(events, "_loggers", {})
    events.record(events.Event("a", events.EventSource.AGENT), "kept")
    events.record(events.Event("nowhere", events.EventSource.AGENT))
    with pytest.raises(KeyError, match="no destination of events"):
        events.record(events.Event("a", events.EventSource.AGENT), "absent")
    events.construct_and_record_rdzv_event("id", "nobody hears", events.NodeState.INIT)
    monkeypatch.setitem(handlers._log_handlers, "dynamic_rendezvous", Kept())
    try:
        raise ValueError("lost")
    except ValueError:
        state = events.NodeState.FAILED
        events.construct_and_record_rdzv_event("id", "it failed", state, rank=2)
    assert [line["name"] for line in lines] == [
        "a",
        "test_elastic_tools.py:test_events_go_where_they_are_sent",
    ]
    assert (
        lines[1]["rank"] == 2 and lines[1]["pid"] and "ValueError: lost" in lines[1]["error_trace"]
    )


def test_metrics(monkeypatch, capsys):
    from flambeau.distributed.elastic import metrics

    monkeypatch.setattr(metrics.api, "_handlers", {None: metrics.NullMetricHandler()})
    seen = []

    class Kept(metrics.MetricHandler):
        def emit(self, data):
            seen.append((data.group_name, data.name, data.value))

    metrics.put_metric("nobody", 1)
    metrics.configure(Kept(), "g")
    metrics.put_metric("some", 2, "g")
    metrics.put_metric("nobody", 1)

    @metrics.prof(group="g")
    def works():
        return 5

    class Class:
        @metrics.prof
        def fails(self):
            raise ValueError

    assert works() == 5
    metrics.configure(Kept())
    with pytest.raises(ValueError):
        Class().fails()
    with pytest.warns(FutureWarning, match="put_metric"):
        metrics.publish_metric("g", "old", 3)
    with pytest.warns(FutureWarning, match="@prof"):
        assert metrics.profile("g")(lambda: 4)() == 4
    name = "test_metrics.<locals>."
    assert [(g, n) for g, n, _ in seen[:5]] == [
        ("g", "some"),
        ("g", f"{name}works.success"),
        ("g", f"{name}works.duration.ms"),
        ("torchelastic", f"{name}Class.fails.failure"),
        ("torchelastic", f"{name}Class.fails.duration.ms"),
    ]
    assert seen[5:7] == [("g", "old", 3), ("g", "<lambda>.success", 1)]
    metrics.configure(metrics.ConsoleMetricHandler(), "shown")
    metrics.put_metric("n", 6, "shown")
    assert "][shown]: n=6" in capsys.readouterr().out
    assert metrics.MetricsConfig().params == {} and metrics.initialize_metrics() is None


def in_threads(n, function):
    """What `function(rank)` returns or raises on threads of their own, by rank."""
    found = [None] * n

    def run(rank):
        try:
            found[rank] = function(rank)
        except Exception as error:
            found[rank] = error

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    return found


def test_what_processes_tell_by_a_store():
    import flambeau.distributed as dist
    from flambeau.distributed.elastic.utils import store as told

    stores = [dist.HashStore()]
    stores += [stores[0].clone() for _ in range(2)]
    values = in_threads(3, lambda r: told.synchronize(stores[r], b"%d" % r, r, 3, "data", 20))
    assert values == [[b"0", b"1", b"2"]] * 3
    assert stores[0].timeout == datetime.timedelta(seconds=300)
    assert in_threads(3, lambda r: told.barrier(stores[r], 3, "all", 20)) == [None] * 3
    with pytest.raises(dist.DistStoreError):
        told.barrier(stores[0], 2, "alone", 0.05)
    with pytest.raises(AssertionError, match="rank information"):
        told.barrier(stores[0], 2, "alone", rank_tracing_decoder=str)
    stores[1].set("late1/TRACE", b"")  # as rank 1 says when its time is over, too
    for rank, missing in (0, "host2, host3"), (1, "<check rank 0 (host0) for missing rank info>"):
        with pytest.raises(dist.DistStoreError) as late:
            told.barrier(stores[rank], 4, "late", 0.05, rank, lambda other: f"host{other}", 0.05)
        assert f"missing_ranks=[{missing}]" in str(late.value)
    with pytest.raises(ZeroDivisionError), told.store_timeout(stores[0], 1):
        raise ZeroDivisionError
    assert stores[0].timeout == datetime.timedelta(seconds=300)


def test_epochs_in_a_row():
    from flambeau.distributed.elastic.utils.data import CyclingIterator

    epochs = []

    def items(epoch):
        epochs.append(epoch)
        return iter([] if epoch == 1 else [epoch, epoch + 10])

    assert list(CyclingIterator(4, items)) == [0, 10, 2, 12, 3, 13] and epochs == [0, 1, 2, 3]
    assert list(CyclingIterator(2, items, start_epoch=3)) == [3, 13]


def test_what_a_process_does():
    import os
    import subprocess
    import sys

    from flambeau.distributed.elastic.utils.process_state import (
        is_uninterruptible_state,
        read_proc_state,
    )

    assert read_proc_state(os.getpid()) == "R"
    ended = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
    assert read_proc_state(ended.pid) == "Z"
    ended.wait()
    assert read_proc_state(ended.pid) is None
    assert [is_uninterruptible_state(s) for s in ("D", "D+", "S", None)] == [True] * 2 + [False] * 2


def test_names_of_what_there_is_not():
    import flambeau as torch

    assert not torch.distributed.rpc.is_available()
    assert not torch.distributed.autograd.is_available()
    assert not hasattr(torch.distributed._shard, "is_available")
    from flambeau.distributed._shard.sharded_tensor import ShardedTensor

    assert not isinstance(torch.ones(1), ShardedTensor)
    with pytest.raises(NotImplementedError, match="ShardedTensor is unsupported: .* DTensors"):
        ShardedTensor()
    fsdp = torch.distributed.fsdp
    assert not isinstance(torch.nn.Parameter(torch.ones(1)), fsdp.FlatParameter)
    with pytest.raises(NotImplementedError, match="DTensor"):
        fsdp.FlatParameter(torch.ones(1))
