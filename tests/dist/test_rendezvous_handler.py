"""Handlers by which nodes of a program without an agent meet: what each knows then, by a store that
all share, and what is said where they cannot meet or have met."""

import threading

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
