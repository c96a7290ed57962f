"""How ranks find each other by functions of a program's own, stores that they have then, queues in
stores, and names that programs import and ask."""

import collections
import datetime
import importlib
import threading
import time

import pytest

from tests.dist import ranks


def by_own_way(rank, size):
    """A group over a store that a function of the program found."""
    import flambeau as torch
    import flambeau.distributed as dist
    from flambeau.distributed.distributed_c10d import _get_default_store
    from flambeau.distributed.rendezvous import register_rendezvous_handler, rendezvous

    (store, *numbers), met = next(rendezvous("env://")), []
    assert numbers == [rank, size] and next(dist.rendezvous("env://"))[1:] == (rank, size)

    def here(url, **options):
        assert url.endswith(f"rank={rank}&world_size={size}"), url
        assert options["timeout"] == datetime.timedelta(seconds=50)
        met.append(dist.PrefixStore("here", store))
        yield met[0], rank, size

    register_rendezvous_handler("here", here)
    with pytest.raises(RuntimeError, match="here:// already registered"):
        register_rendezvous_handler("here", here)
    with pytest.raises(RuntimeError, match="tcp:// already registered"):
        register_rendezvous_handler("tcp", here)
    limit = datetime.timedelta(seconds=50)
    with pytest.raises(ValueError, match="has not been initialized"):
        _get_default_store()
    dist.init_process_group("gloo", "here://", limit, rank=rank, world_size=size)
    x = torch.full((2,), float(rank + 1))
    dist.all_reduce(x)
    shared = _get_default_store()
    assert met[0].timeout == limit  # the handler gave it none
    shared.set(str(rank), str(rank))
    seen = [shared.get(str(r)).decode() for r in range(size)]
    options = dist.ProcessGroupNCCL.Options(is_high_priority_stream=True)
    options.config.max_ctas = 8
    same = dist.new_group(backend="gloo", pg_options=options)
    assert same.size() == size and not isinstance(same, dist.ProcessGroupNCCL)
    shared.queue_push("work", str(rank))
    taken = shared.clone().queue_pop("work").decode()
    dist.destroy_process_group()
    return x.tolist(), seen, taken


def test_a_way_of_the_program():
    found = ranks.values(by_own_way, 2)
    assert [one[:2] for one in found] == [[[3.0, 3.0], ["0", "1"]]] * 2
    assert sorted(taken for *_, taken in found) == ["0", "1"]


def test_a_restarted_job_meets_anew(launch):
    """Rank 1 of the first start ends when rank 0 has left its keys in the launcher's store."""
    job = launch(
        """
from datetime import timedelta
import flambeau as torch
import flambeau.distributed as dist
store, rank, size = next(dist.rendezvous("env://"))
if attempt == 0 and rank == 1:
    store.wait(["here/0"])
    sys.exit(3)
say("left", store.check([f"here/{rank}"]))
store.set(f"here/{rank}", "")
dist.init_process_group("gloo", store=store, rank=rank, world_size=size,
                        timeout=timedelta(seconds=15))
x = torch.ones(1)
dist.all_reduce(x)
say("sum", x.item())
dist.destroy_process_group()
""",
        *("--nproc-per-node", "2", "--max-restarts", "1"),
    )
    job.done(0)
    assert job.said("left", 3) == [False] * 3 and job.said("sum", 2) == [2.0] * 2


@pytest.mark.parametrize(
    "url, more, kind, text",
    [
        (3, {}, RuntimeError, "`url` must be a string"),
        ("env://", {"rank": "1"}, RuntimeError, "`rank` must be an integer. 1"),
        ("there://", {}, RuntimeError, "No rendezvous handler for there://"),
        ("tcp://a:1?rank=0", {"rank": 1}, AssertionError, "node-specific arguments"),
        ("tcp://a:1?rank=0", {}, ValueError, "tcp:// rendezvous: world size parameter missing"),
        ("tcp://a?rank=0&world_size=1", {}, ValueError, "port number missing"),
        ("file://?rank=0&world_size=1", {}, ValueError, "path missing"),
        ("env://?rank=0&world_size=1", {}, ValueError, "variable MASTER_ADDR expected"),
    ],
)
def test_wrong_urls(monkeypatch, url, more, kind, text):
    import flambeau.distributed as dist
    from flambeau.distributed.rendezvous import rendezvous

    for name in "RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT":
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(kind, match=text):
        next(rendezvous(url, **more))
    if url == "there://":
        with pytest.raises(kind, match=text):
            dist.init_process_group("gloo", url)


def test_the_first_rank_keeps_the_store(tmp_path):
    from flambeau.distributed.rendezvous import rendezvous
    from tests.dist.launching import free_port

    way = rendezvous(f"tcp://127.0.0.1:{free_port()}", 0, 1)
    store, rank, size = next(way)
    store.set("a", "b")
    assert (rank, size, store.get("a")) == (0, 1, b"b")
    with pytest.raises(RuntimeError, match="Unable to perform re-rendezvous using tcp://"):
        next(way)
    found = [next(rendezvous(f"file://{tmp_path}/store", r, 2))[0] for r in range(2)]
    found[0].set("c", "d")
    assert found[1].get("c") == b"d"


def store_of(kind, tmp_path):
    import flambeau.distributed as dist

    if kind == "tcp":
        return dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    return dist.FileStore(f"{tmp_path}/store") if kind == "file" else dist.HashStore()


@pytest.mark.parametrize("kind", ["hash", "tcp", "file"])
def test_queues(kind, tmp_path):
    import flambeau.distributed as dist

    store = store_of(kind, tmp_path)
    assert store.queue_len("q") == 0
    for n in range(40):
        store.queue_push("q", str(n))
    assert store.queue_len("q") == 40 and dist.PrefixStore("other", store).queue_len("q") == 0
    taken, others = [], [store.clone() for _ in range(4)]

    def take(own):
        taken.extend(own.queue_pop("q") for _ in range(10))

    threads = [threading.Thread(target=take, args=(own,)) for own in others]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(map(int, taken)) == list(range(40))  # each once
    with pytest.raises(dist.QueueEmptyError, match="queue is empty"):
        store.queue_pop("q", block=False)
    store.set_timeout(datetime.timedelta(seconds=0.2))
    with pytest.raises(dist.DistStoreError, match="200ms"):
        store.queue_pop("q")
    store.set_timeout(datetime.timedelta(seconds=30))
    late = threading.Timer(0.3, lambda: others[0].queue_push("q", b"late"))
    late.start()
    assert store.queue_pop("q") == b"late" and store.queue_len("q") == 0
    store.set("other", b"")
    assert "other" in store.list_keys() and len(store.list_keys()) >= 2
    part = dist.PrefixStore("part", store)
    assert part.list_keys() == []
    part.set("\u00e4", b"")
    part.set("b", b"")
    assert part.list_keys() == ["b", "\u00e4"]
    from flambeau._call import _blocking

    assert not _blocking.flam_store_set(part._store._h, b"c\xff", b"", 0)  # as a C program may
    assert part.list_keys() == ["b", "c\\xff", "\u00e4"]


def test_barriers_of_a_store():
    import flambeau.distributed as dist

    store = dist.HashStore()
    store.barrier("alone", 1)
    passed = []
    late = threading.Thread(target=lambda: (store.barrier("two", 2), passed.append(1)))
    late.start()
    with pytest.raises(dist.DistStoreError, match="50ms"):
        store.barrier("other", 2, datetime.timedelta(milliseconds=50))
    assert not passed
    store.barrier("two", 2)
    late.join(30)
    assert passed
    with pytest.raises(ValueError, match="world_size"):
        store.barrier("none", 0)


@pytest.mark.parametrize("block", [True, False])
def test_a_queue_whose_entry_another_takes_meanwhile_is_not_empty(monkeypatch, block):
    import flambeau.distributed as dist

    store = dist.HashStore()
    other, look = store.clone(), store._last_taken
    for value in "ab":
        store.queue_push("q", value)

    def slowly(key):
        found = look(key)
        monkeypatch.undo()
        assert other.queue_pop("q") == b"a"
        return found

    monkeypatch.setattr(store, "_last_taken", slowly, raising=False)
    began = time.monotonic()
    assert store.queue_pop("q", block) == b"b" and time.monotonic() - began < 0.4


def test_takers_that_do_not_wait_leave_nothing(tmp_path):
    import flambeau.distributed as dist

    store, left, taken = store_of("tcp", tmp_path), [], []
    for n in range(200):
        store.queue_push("q", str(n))

    def take(own):
        try:
            while True:
                taken.append(own.queue_pop("q", block=False))
        except dist.QueueEmptyError:
            left.append(own.queue_len("q"))

    threads = [threading.Thread(target=take, args=(store.clone(),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert left == [0] * 4 and sorted(map(int, taken)) == list(range(200))


def test_a_push_that_does_not_end_is_passed_over(monkeypatch):
    import flambeau.distributed as dist

    monkeypatch.setattr("flambeau.distributed._queues._LATE", 0.2)
    store = dist.HashStore()
    store.add("q/queue/pushed", 1)  # a process died here
    store.queue_push("q", b"behind")
    assert store.queue_len("q") == 2 and store.queue_pop("q", block=False) == b"behind"
    stopped, number = store.clone(), store.add

    def late(key, amount):  # a process that was stopped for longer
        found = number(key, amount)
        monkeypatch.undo()
        monkeypatch.setattr("flambeau.distributed._queues._LATE", 0.2)
        with pytest.raises(dist.QueueEmptyError):
            store.queue_pop("q", block=False)
        return found

    monkeypatch.setattr(stopped, "add", late, raising=False)
    stopped.queue_push("q", "late")
    assert store.queue_pop("q") == b"late" and store.queue_len("q") == 0
    with pytest.raises(TypeError, match="queue_push: expected the value as a str or bytes"):
        store.queue_push("q", 5)


def test_levels(monkeypatch):
    import flambeau.distributed as dist

    dist.set_debug_level(dist.DebugLevel.DETAIL)
    assert dist.get_debug_level() is dist.DebugLevel.DETAIL
    assert str(dist.get_debug_level()) == "DebugLevel.DETAIL" and int(dist.get_debug_level()) == 2
    monkeypatch.setenv("TORCH_DISTRIBUTED_DEBUG", "info")
    dist.set_debug_level_from_env()
    assert dist.get_debug_level() is dist.DebugLevel.INFO
    monkeypatch.setenv("TORCH_DISTRIBUTED_DEBUG", "much")
    with pytest.raises(ValueError, match="must be OFF, INFO, or DETAIL"):
        dist.set_debug_level_from_env()
    monkeypatch.delenv("TORCH_DISTRIBUTED_DEBUG")
    dist.set_debug_level_from_env()
    assert dist.get_debug_level() is dist.DebugLevel.OFF


def test_a_store_at_a_port_that_is_free():
    from flambeau.distributed.elastic.utils.distributed import create_c10d_store

    store = create_c10d_store(True, "localhost", timeout=5)
    other = create_c10d_store(False, "localhost", store.port, 2, wait_for_workers=False)
    other.set("key", "value")
    assert store.get("key") == b"value" and store.timeout.total_seconds() == 5
    with pytest.raises(ValueError, match="server_port must be specified when world_size > 1"):
        create_c10d_store(True, "localhost", world_size=2)


def test_helpers():
    import flambeau as torch
    from flambeau.distributed import utils

    pair = collections.namedtuple("pair", "a b")
    given = {"x": [torch.ones(2), 3], "y": pair(torch.ones(1), ("z",))}
    found = utils._apply_to_tensors(lambda t: t.shape[0], given)
    assert found == {"x": [2, 3], "y": pair(1, ("z",))} and given["x"][1] == 3
    args, kwargs = utils._cast_forward_inputs(torch.float16, torch.ones(1), n=torch.tensor(1))
    assert args[0].dtype is torch.float16 and kwargs["n"].dtype is torch.int64
    state = {"a.b": 1, "c": 2}
    utils._replace_by_prefix(state, "a.", "d.a.")
    assert state == {"c": 2, "d.a.b": 1}
    outer = torch.nn.Sequential(torch.nn.Linear(1, 1))
    assert utils._get_root_modules([outer[0], outer]) == [outer]
    with pytest.raises(AssertionError, match="so it is"):
        utils._p_assert(False, "so it is")


@pytest.mark.parametrize(
    "module, name",
    [
        ("checkpoint.optimizer", "load_sharded_optimizer_state_dict"),
        ("checkpoint.planner", "LoadPlan"),
        ("checkpoint.storage", "StorageWriter"),
        ("checkpoint.staging", "BlockingAsyncStager"),
        ("checkpoint", "FsspecWriter"),
        ("checkpoint.default_planner", "create_default_local_load_plan"),
        ("checkpoint.filesystem", "FileSystemBase"),
        ("checkpoint.state_dict_saver", "AsyncSaveResponse"),
        ("algorithms.ddp_comm_hooks.ddp_zero_hook", "hook_with_zero_step"),
        ("elastic.agent.server", "WorkerGroup"),
    ],
)
def test_names_that_are_refused(module, name):
    found = getattr(importlib.import_module(f"flambeau.distributed.{module}"), name)
    with pytest.raises(NotImplementedError, match=f"{name} is unsupported: .+"):
        found()
