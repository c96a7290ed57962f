"""Handlers by which nodes of a program without an agent meet: what each knows then, by a store that
all share, and what is said where they cannot meet or have met."""

import threading
from datetime import timedelta

import pytest

from tests.dist.launching import free_port

KEY = "k" * 64


def handler(backend="c10d", endpoint="localhost:0", nodes=(1, 1), **config):
    from flambeau.distributed.elastic.rendezvous import RendezvousParameters
    from flambeau.distributed.elastic.rendezvous.registry import get_rendezvous_handler

    config = {"join_timeout": 20, "last_call_timeout": 0.2, **config}
    return get_rendezvous_handler(RendezvousParameters(backend, endpoint, "job", *nodes, **config))


def test_one_node():
    from flambeau.distributed.elastic import rendezvous as rdzv

    alone = handler()
    found = alone.next_rendezvous()
    assert (found.rank, found.world_size) == (0, 1) and alone.use_agent_store
    found.store.set("key", "value")
    at = found.bootstrap_store_info
    assert (at.master_addr, type(at.master_port)) == ("localhost", int) and at.master_port
    with pytest.raises(rdzv.RendezvousStateError, match="the nodes of 'job' have met"):
        alone.next_rendezvous()
    assert not alone.is_closed() and alone.shutdown() and alone.is_closed()
    with pytest.raises(rdzv.RendezvousClosedError, match="the rendezvous of 'job' is closed"):
        alone.next_rendezvous()


@pytest.mark.parametrize(
    ("backend", "nodes"), [("static", (2, 2)), ("c10d", (2, 2)), ("c10d", (1, 2))]
)
def test_two_nodes_meet(monkeypatch, backend, nodes):
    monkeypatch.setenv("FLAMBEAU_JOB_KEY", KEY)
    endpoint, found, shut = f"localhost:{free_port()}", [], []

    def node(rank):
        one = handler(backend, endpoint, nodes, rank=rank, last_call_timeout=20)
        about = one.next_rendezvous()
        about.store.set(f"of {about.rank}", "here")
        found.append((about.rank, about.world_size, about.store.get(f"of {1 - about.rank}")))
        shut.append(one.shutdown())

    threads = [threading.Thread(target=node, args=(rank,)) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(found) == [(0, 2, b"here"), (1, 2, b"here")] and shut == [True, True]


@pytest.mark.parametrize("how", ["set_closed", "shutdown"])
@pytest.mark.parametrize("nodes", [(2, 2), (1, 3)])
def test_a_node_that_closes_the_rendezvous_is_heard_by_all(monkeypatch, nodes, how):
    from flambeau.distributed.elastic.rendezvous import RendezvousClosedError

    monkeypatch.setenv("FLAMBEAU_JOB_KEY", KEY)
    endpoint, found = f"localhost:{free_port()}", []
    last = 1 if nodes == (1, 3) else 20

    def node():
        one = handler("c10d", endpoint, nodes, last_call_timeout=last)
        about = one.next_rendezvous()
        before = one.is_closed()
        about.store.barrier("both", 2)
        if about.rank == 1:
            getattr(one, how)()
            about.store.set("closed", "")
        about.store.get("closed")
        after = one.is_closed()
        about.store.barrier("told", 2)
        if about.rank == 0:
            with pytest.raises(RendezvousClosedError, match="was closed by node 1|its 2 nodes"):
                handler("c10d", endpoint, nodes, is_host=False).next_rendezvous()
        one.shutdown()
        found.append((before, after, about.store.timeout))

    threads = [threading.Thread(target=node) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == [(False, True, timedelta(seconds=60))] * 2


def test_calls_of_the_store_take_as_long_as_was_said():
    one = handler(read_timeout=7)
    assert one.next_rendezvous().store.timeout == timedelta(seconds=7)
    assert one.shutdown()
    with pytest.raises(ValueError, match="read timeout must be a positive integer"):
        handler(read_timeout=0).next_rendezvous()


def test_nodes_that_do_not_meet(monkeypatch):
    from flambeau.distributed.elastic.rendezvous import RendezvousTimeoutError

    monkeypatch.delenv("FLAMBEAU_JOB_KEY", raising=False)
    with pytest.raises(ValueError, match="several nodes needs a key that all nodes share"):
        handler(nodes=(2, 2), endpoint="localhost:29577").next_rendezvous()
    monkeypatch.setenv("FLAMBEAU_JOB_KEY", KEY)
    alone = handler(nodes=(2, 2), endpoint=f"localhost:{free_port()}", join_timeout=0.3)
    with pytest.raises(RendezvousTimeoutError, match="1 of 2 nodes have not come: node rank 1"):
        alone.next_rendezvous()
    assert alone.shutdown()


def test_where_ranks_meet_is_told_by_the_store():
    import flambeau.distributed as dist
    from flambeau.distributed.elastic import rendezvous as rdzv

    store = dist.HashStore()
    first = rdzv.RendezvousStoreInfo.build(0, store, "node0", 29511)
    assert first == rdzv.RendezvousStoreInfo("node0", 29511)
    assert rdzv.RendezvousStoreInfo.build(1, store, None) == first
    found = rdzv.RendezvousStoreInfo.build(0, dist.HashStore(), None)
    assert found.master_addr and found.master_port > 0
    info = rdzv.RendezvousInfo(store, 1, 2, first)
    assert (info.store, info.rank, info.world_size) == (store, 1, 2)
    assert info.bootstrap_store_info is first
