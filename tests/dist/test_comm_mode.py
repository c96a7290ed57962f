"""How many collectives a block of a program calls, on two ranks: its own, those that DTensors need,
and those of modules whose parameters or gradients ranks share."""

import pytest

from tests.dist import ranks


def counted(rank, size):
    import flambeau as torch
    import flambeau.distributed as dist
    from flambeau._gen import api
    from flambeau.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
    from flambeau.distributed.fsdp import fully_shard
    from flambeau.distributed.tensor import Partial, Replicate, Shard, distribute_tensor
    from flambeau.distributed.tensor.debug import CommDebugMode, visualize_sharding

    dist.init_process_group("gloo")
    mesh, mode, found = dist.init_device_mesh("cpu", (size,)), CommDebugMode(), {}

    def count(name):
        ours = {str(key).rpartition(".")[2]: n for key, n in mode.get_comm_counts().items()}
        assert mode.get_total_counts() == sum(ours.values())
        found[name] = ours

    x, half = torch.ones(4), torch.ones(2)
    with mode:
        dist.all_reduce(x)
        dist.all_reduce(x, async_op=True).wait()
        dist.all_gather_into_tensor(torch.ones(8), x)
        dist.reduce_scatter_tensor(half, x)
        dist.scatter(half, [half, half] if rank == 0 else None)
        dist.barrier()
    assert mode.comm_counts[torch.ops.c10d_functional.all_reduce] == 2
    assert mode.comm_counts[torch.ops.c10d.allreduce_] == 2
    count("program")
    dist.all_reduce(x)
    assert str(mode) == "CommDebugMode(get_total_counts()=5)"
    with mode:
        part = distribute_tensor(torch.ones(4, 4), mesh, [Shard(0)])
    count("distribute")
    with mode:
        (part + 1).redistribute(placements=[Replicate()])
        part.sum().redistribute(placements=[Replicate()])
    count("dtensor")
    ddp = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 2))
    ddp(x).sum().backward()  # the first backward makes buckets anew
    with mode:
        ddp(x).sum().backward()
    count("ddp")
    with mode:
        ddp(x).sum().backward()
        dist.reset_summary()
        ddp(x).sum().backward()
        assert mode.get_total_counts() == 2
        dist.all_reduce(x)
    count("ddp, counted anew inside")
    hooked = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 2))
    hooked.register_comm_hook(None, allreduce_hook)
    hooked(x).sum().backward()
    with mode:
        hooked(x).sum().backward()
        ddp(x).sum().backward()
    count("ddp with a hook, and without")
    before = dict(vars(api))
    with mode:
        dist.all_reduce(x)
        with mode:
            dist.all_reduce(x)
        dist.all_reduce(x)
    assert vars(api) == before
    count("inside of itself")
    shared = fully_shard(torch.nn.Linear(4, 2), mesh=mesh)
    with mode:
        shared(x).sum().backward()
    count("fully_shard")
    try:
        with mode:
            dist.all_reduce(x)
            raise KeyError("of the program")
    except KeyError:
        count("raised")
    with pytest.raises(NotImplementedError, match="generate_json_dump is unsupported"):
        mode.generate_json_dump("nowhere.json")
    with pytest.raises(NotImplementedError, match="placements and device_mesh say it"):
        visualize_sharding(part)
    with pytest.raises(NotImplementedError, match="is a key of CommDebugMode's counts"):
        torch.ops.c10d_functional.all_reduce(x, "sum", "0")
    assert not isinstance(part.placements[0], Partial)
    dist.destroy_process_group()
    return found


def test_collectives_are_counted():
    for found in ranks.values(counted, 2):
        assert found == {
            "program": {
                "all_reduce": 2,
                "all_gather_into_tensor": 1,
                "reduce_scatter_tensor": 1,
                "scatter_": 1,
            },
            "distribute": {"broadcast": 1},
            "dtensor": {"all_gather_into_tensor": 1, "all_reduce": 1},
            "ddp": {"all_reduce": 1},
            "ddp, counted anew inside": {"all_reduce": 3},
            "ddp with a hook, and without": {"all_reduce": 2},
            "inside of itself": {"all_reduce": 2},
            "fully_shard": {"all_gather_into_tensor": 1, "reduce_scatter_tensor": 1},
            "raised": {"all_reduce": 1},
        }
