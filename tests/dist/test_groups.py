"""Groups of some ranks, ranks as they are named in them, what is refused, and how ranks find each
other."""

import copy
import os
import pickle
import socket
import tempfile

import pytest

from tests.dist import ranks


def refused(torch, dist, rank):
    """What every rank says before anything is sent."""
    x, both = torch.ones(2), [torch.zeros(2), torch.zeros(2)]
    cases = [
        (TypeError, "`tensor` of type torch.Tensor", lambda: dist.all_reduce(3)),
        (TypeError, "`tensor_list` of type List", lambda: dist.all_gather(x, x)),
        (TypeError, "ReduceOp.SUM, but got 'sum'", lambda: dist.all_reduce(x, op="sum")),
        (RuntimeError, r"one tensor per rank \(3\), got 2", lambda: dist.all_gather(both, x)),
        (RuntimeError, r"index 2 \(expected \(2,\)", lambda: dist.all_gather([*both, x[:1]], x)),
        (ValueError, "different dtypes", lambda: dist.all_gather([*both, x.int()], x)),
        (RuntimeError, "3 times", lambda: dist.all_gather_into_tensor(torch.ones(5), x)),
        (RuntimeError, "invalid root rank: 9", lambda: dist.broadcast(x, 9)),
        (RuntimeError, "invalid root rank: 9", lambda: dist.broadcast_object_list([1], 9)),
        (ValueError, "both group_rank and", lambda: dist.broadcast(x, 0, group_src=0)),
        (ValueError, "Must specify global_rank", lambda: dist.reduce(x)),
        (ValueError, "should not be the same", lambda: dist.send(x, rank)),
        (RuntimeError, "does not divide equally", lambda: dist.all_to_all_single(x, x)),
        (ValueError, "type ``torch.distributed.isend``", lambda: dist.P2POp(dist.send, x, 0)),
        (ValueError, "torch.distributed.P2POp", lambda: dist.batch_isend_irecv([3])),
        (ValueError, "Rank 9 is out of range", lambda: dist.new_group([9])),
        (ValueError, "duplicate entries", lambda: dist.new_group([0, 0])),
        (ValueError, "less or equal to the world size", lambda: dist.new_group([0, 1, 2, 3])),
        (ValueError, "Process group 3 is not init", lambda: dist.all_reduce(x, group=3)),
        (ValueError, "twice", lambda: dist.init_process_group("gloo")),
        (ValueError, "Invalid process group", lambda: dist.destroy_process_group(3)),
        (ValueError, "at least one tensor", lambda: dist.all_to_all([], [])),
        (ValueError, "not in the group", lambda: dist.split_group(-100, [[0]])),
        (ValueError, "not in the group", lambda: dist.new_subgroups(1, -100)),
        (TypeError, "datetime.timedelta, got 3", lambda: dist.new_group([0, 1, 2], timeout=3)),
    ]
    for kind, text, use in cases:
        with pytest.raises(kind, match=text):
            use()
    with pytest.warns(FutureWarning), pytest.raises(ValueError, match="at least one tensor"):
        dist.all_reduce_coalesced([])
    root = "must be specified on destination rank" if rank == 0 else "NOT be specified"
    with pytest.raises(ValueError, match=root):
        dist.gather(x, None if rank == 0 else both, 0)


def subgroups(torch, dist, rank, size):
    outer, whole = dist.new_group([2, 0]), dist.new_group()
    member = rank != 1
    assert (outer is dist.GroupMember.NON_GROUP_MEMBER) is not member
    assert dist.get_rank(outer) == [0, -1, 1][rank]
    x = torch.tensor([float(rank + 1)])
    if member:
        assert dist.get_process_group_ranks(outer) == [0, 2] and outer.size() == 2
        assert dist.get_group_rank(outer, 2) == 1 and dist.get_global_rank(outer, 1) == 2
        with pytest.raises(ValueError, match="Global rank 1 is not part"):
            dist.broadcast(x, 1, group=outer)
        assert dist.all_reduce(x, group=outer) is None and x.item() == 4
        dist.broadcast(x.fill_(rank), 2, group=outer)
        assert x.item() == 2
        dist.broadcast(x.fill_(rank), group=outer, group_src=0)
        assert x.item() == 0
        found = [None] * 2
        dist.all_gather_object(found, rank, group=outer)
        assert found == [0, 2]
        if rank == 0:
            dist.send(x.fill_(5), 2, group=outer)
        else:
            assert dist.recv(x, group=outer) == 0 and x.item() == 5
    else:
        for use in dist.all_reduce, dist.irecv, dist.barrier:
            given = () if use is dist.barrier else (x,)
            with pytest.warns(UserWarning, match="on global rank 1 which does not belong"):
                assert use(*given, group=outer) is None
    dist.all_reduce(x.fill_(1), group=whole)
    assert x.item() == size
    own = dist.new_group([rank], use_local_synchronization=True)
    dist.all_reduce(x, group=own)
    mine, made = dist.new_subgroups(1)
    assert dist.get_process_group_ranks(mine) == [rank] and made[rank] is mine
    own, _ = dist.new_subgroups_by_enumeration([[0], [2]])
    assert (own is None) is (rank == 1) and (member is (own is not None and own.size() == 1))
    none, last = dist.new_group([(rank + 1) % size], use_local_synchronization=True), made[-1]
    assert none is dist.GroupMember.NON_GROUP_MEMBER
    assert dist.get_process_group_ranks(last) == ([2] if last is not none else [(rank + 1) % size])
    assert (dist.split_group(split_ranks=[[0], [1]]) is none) is (rank == 2)
    again = dist.new_group([2, 0])
    if not member:
        outside(torch, dist, [outer, again, *made[::2]])
    part = dist.split_group(split_ranks=[[1, 0], [2]])
    assert dist.get_process_group_ranks(part) == ([1, 0] if rank < 2 else [2])
    dist.destroy_process_group(whole)
    with pytest.raises(ValueError, match="is not initialized in the world group map"):
        dist.barrier(group=whole)
    assert isinstance(dist.group.WORLD, dist.ProcessGroup) and dist.get_pg_count() >= 3


def outside(torch, dist, groups):
    """What a rank that is in another group than [0, 2] is told of it, and what refuses it there."""
    from flambeau.distributed import pipelining
    from flambeau.distributed.optim import ZeroRedundancyOptimizer

    model, no_member = torch.nn.Linear(1, 1), dist.GroupMember.NON_GROUP_MEMBER
    group = groups[0]
    assert all(one is no_member for one in (*groups, copy.deepcopy({0: group})[0]))
    assert pickle.loads(pickle.dumps(group)) == no_member
    assert dist.get_process_group_ranks(group) == [0, 2]  # of the last
    assert dist.get_global_rank(group, 1) == 2 and dist.get_group_rank(group, 2) == 1
    with pytest.raises(ValueError, match="Global rank 1 is not part of group -100"):
        dist.get_group_rank(group, 1)
    with pytest.raises(ValueError, match="Group rank 2 is not part of group -100"):
        dist.get_global_rank(group, 2)
    for name, use in {
        "DistributedDataParallel": lambda: torch.nn.parallel.DistributedDataParallel(
            model, process_group=group
        ),
        "ZeroRedundancyOptimizer": lambda: ZeroRedundancyOptimizer(
            model.parameters(), torch.optim.SGD, group, lr=1.0
        ),
        "PipelineStage": lambda: pipelining.PipelineStage(model, 0, 2, "cpu", group=group),
        "FullyShardedDataParallel": lambda: dist.fsdp.FullyShardedDataParallel(model, group),
    }.items():
        with pytest.raises(ValueError, match=f"{name}: this rank is not in the group"):
            use()


def objects(torch, dist, rank, size):
    found = [None] * size
    dist.all_gather_object(found, {"rank": rank, "data": "x" * (100 * rank)})
    assert [f["rank"] for f in found] == [0, 1, 2] and len(found[2]["data"]) == 200
    got = [None] * size if rank == 1 else None
    dist.gather_object(torch.ones(2) * rank, got, dst=1)
    assert rank != 1 or [g.tolist() for g in got] == [[0, 0], [1, 1], [2, 2]]
    several = ["a", {3}, None] if rank == 2 else [0, 0, 0]
    dist.broadcast_object_list(several, 2)
    assert several == ["a", {3}, None]
    out = [None]
    dist.scatter_object_list(out, ["zero", (1,), [2] * 50] if rank == 0 else None)
    assert out[0] == ["zero", (1,), [2] * 50][rank]
    if rank == 0:
        dist.send_object_list([1, "two"], 1)
    elif rank == 1:
        pair = [None, None]
        assert dist.recv_object_list(pair, 0) == 0 and pair == [1, "two"]
    sealed_for_one_call(dist, rank)
    with pytest.raises(RuntimeError, match="in a block that waits at its end"):
        with dist.distributed_c10d._coalescing_manager():
            dist.all_gather_object(found, rank)
    with pytest.raises(NotImplementedError, match="weights_only=True is unsupported"):
        dist.all_gather_object(found, rank, weights_only=True)
    # Bytes that rank 1 made with another key are not unpickled by anyone.
    os.environ["FLAMBEAU_JOB_KEY"] = "another" if rank == 1 else "ours"
    before = [None] * size
    with pytest.raises(dist.DistError, match="was not made by it with this job's key"):
        dist.all_gather_object(before, rank)
    assert before == [None] * size
    del os.environ["FLAMBEAU_JOB_KEY"]
    dist.group.WORLD._trusted = False  # as on several machines
    with pytest.raises(dist.DistError, match="set FLAMBEAU_JOB_KEY"):
        dist.all_gather_object(before, rank)


def sealed_for_one_call(dist, rank):
    """What was sent by an earlier call is not taken for what a later one sends."""
    from flambeau.distributed._sealed import opened, sealed

    world = dist.group.WORLD
    call, [data] = sealed(world, "kind", [{"rank": rank}])
    assert opened(world, call, rank, data) == {"rank": rank}
    later, _ = sealed(world, "kind", [None])
    for wrong in later, call.replace("kind", "other"):
        with pytest.raises(dist.DistError, match="is not unpickled"):
            opened(world, wrong, rank, data)


def received_on_a_device(torch):
    """Bytes of a device's tensor stay what they were when its copy's memory is used again."""
    from flambeau.distributed._sealed import as_bytes, as_tensor

    data = bytes(range(256)) * 16
    found = as_bytes(as_tensor(data, "cuda"), len(data))
    others = [torch.zeros(len(data), dtype=torch.uint8) for _ in range(8)]
    assert bytes(found) == data and len(others) == 8


def without_a_directory(dist):
    """A collective's place is told where the working directory has been deleted."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as gone:
        os.chdir(gone)
        os.rmdir(gone)
        try:
            for name in "typed.py", "/typed.py":
                exec(compile("dist.barrier()", name, "exec"), {"dist": dist})
        finally:
            os.chdir(before)
            os.mkdir(gone)


def names(dist, rank):
    assert dist.get_backend() == "gloo" and dist.get_backend_config() == "cpu:gloo,cuda:gloo"
    assert dist.is_gloo_available() and not dist.is_ucc_available()
    assert dist.get_node_local_rank() == rank and dist.Backend("GLOO") == dist.Backend.GLOO
    assert dist.ReduceOp.SUM != dist.ReduceOp.MIN and dist.ReduceOp.RedOpType.MAX.value == 4
    assert dist._make_nccl_premul_sum(2.0) == dist.ReduceOp.PREMUL_SUM
    assert dist.distributed_c10d._get_default_group() is dist.group.WORLD
    with pytest.warns(FutureWarning, match="reduce_op` is deprecated"):
        assert dist.reduce_op.SUM is dist.ReduceOp.SUM


def everything(rank, size):
    import flambeau as torch

    dist = torch.distributed
    dist.init_process_group("gloo")
    refused(torch, dist, rank)
    names(dist, rank)
    without_a_directory(dist)
    subgroups(torch, dist, rank, size)
    objects(torch, dist, rank, size)
    dist.destroy_process_group()
    assert not dist.is_initialized()
    with pytest.raises(ValueError, match="has not been initialized"):
        dist.all_reduce(torch.ones(1))


def test_groups():
    ranks.values(everything, 3)


def by_devices(rank, size):
    """Two kinds of backend, one after the other over the launcher's store."""
    import flambeau as torch

    dist = torch.distributed
    assert dist.is_nccl_available()
    dist.init_process_group("nccl")
    torch.cuda.set_device(rank)
    with pytest.raises(RuntimeError, match="No backend type associated with device type cpu"):
        dist.all_reduce(torch.ones(1))
    found = [None] * size
    dist.all_gather_object(found, rank)
    assert found == [0, 1]
    received_on_a_device(torch)
    dist.destroy_process_group()
    dist.init_process_group(device_id=torch.device("cuda", rank))
    assert dist.get_backend() == "undefined"
    for device in "cpu", "cuda":
        x = torch.ones(1, device=device)
        dist.all_reduce(x)
        assert x.item() == 2
    dist.destroy_process_group()
    dist.init_process_group("cpu:gloo")
    with pytest.raises(RuntimeError, match="No backend type associated with device type cuda"):
        dist.all_reduce(torch.ones(1, device="cuda"))


def test_backends_by_device():
    ranks.values(by_devices, 2, FLAMBEAU_SIM="devices=2,memory=64MiB,as=cuda")


def meets(rank, size, ways):
    import flambeau as torch

    dist = torch.distributed
    for way in ways:
        if way.startswith("store"):
            store = dist.FileStore(way[6:], size)
            dist.init_process_group("gloo", store=store, rank=rank, world_size=size)
        else:
            dist.init_process_group("gloo", init_method=way, rank=rank, world_size=size)
        x = torch.ones(1)
        dist.all_reduce(x)
        assert x.item() == size and dist.group.WORLD._trusted
        dist.barrier()
        dist.destroy_process_group()


def test_ways_to_meet(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    ways = [f"file://{tmp_path}/one", f"store={tmp_path}/two", f"tcp://127.0.0.1:{port}"]
    ranks.values(meets, 2, ways, TORCHELASTIC_USE_AGENT_STORE="False")


@pytest.mark.parametrize(
    ("given", "kinds"),
    [
        ("gloo", "cpu:gloo,cuda:gloo"),
        ("NCCL", "cuda:nccl"),
        ("undefined", "cpu:gloo,cuda:nccl"),
        ("cuda:nccl,CPU:mpi", "cuda:nccl,cpu:mpi"),
    ],
)
def test_backends_by_kind_of_device(given, kinds):
    from flambeau.distributed import Backend, BackendConfig

    found = BackendConfig(Backend(given))
    assert str(found) == kinds
    assert [f"{k}:{b}" for k, b in found.get_device_backend_map().items()] == kinds.split(",")
    assert all(isinstance(b, Backend) for b in found.device_backend_map.values())


def test_backends_that_are_none():
    import flambeau.distributed as dist

    for given in "cpu:", "cpu:gloo,cuda", "cpu:gloo:1":
        with pytest.raises(ValueError, match="string argument is invalid.*as cpu:gloo,cuda:nccl"):
            dist.BackendConfig(given)
    with pytest.raises(ValueError, match="Duplicate device type cpu"):
        dist.BackendConfig("cpu:gloo,cpu:mpi")
    for refused, given in (
        (dist.Backend.register_backend, ("own", print)),
        (dist.shrink_group, ([1],)),
        (dist.record_comm, ("name",)),
        (dist.get_backend_impl, ()),
    ):
        with pytest.raises(NotImplementedError, match=f"{refused.__name__} is unsupported: "):
            refused(*given)
