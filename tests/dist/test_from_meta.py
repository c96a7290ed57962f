"""Models that are described on the meta device, laid over ranks there, and only then get memory: a
part on each rank, with the values that one process would draw. Two ranks."""

from tests.dist import ranks
from tests.dist.sharding import message, mlp, sharded


def on_meta(torch):
    with torch.device("meta"):
        return sharded(mlp(torch))


def reset(net):
    for part in net:
        if hasattr(part, "reset_parameters"):
            part.reset_parameters()


def writers(torch):
    init = torch.nn.init
    return init.normal_, init.xavier_uniform_, lambda t: t.uniform_(2, 3)


def described(torch, rank):
    """Refused before it has memory; then what a process draws that has it all."""
    net, x = on_meta(torch), torch.ones(4, 6)
    early = message(lambda: net(x), RuntimeError)
    net.to_empty(device="cpu")
    torch.manual_seed(7)
    reset(net)
    torch.manual_seed(7)
    alone = mlp(torch)
    torch.manual_seed(7)
    reset(alone)
    equal = [a.full_tensor().equal(b) for a, b in zip(net.parameters(), alone.parameters())]
    state = torch.get_rng_state()
    net(x).sum().backward()
    alone(x).sum().backward()
    near = [
        torch.allclose(a.grad.full_tensor(), b.grad)
        for a, b in zip(net.parameters(), alone.parameters())
    ]
    loaded = on_meta(torch)
    loaded.load_state_dict(net.state_dict(), assign=True)
    same = loaded(x).equal(net(x))
    return early, all(equal), all(near), same, state.tolist()


def drawn(torch, rank):
    """Ranks whose generators differ draw as the first one does."""
    from flambeau.distributed.device_mesh import init_device_mesh
    from flambeau.distributed.tensor import Replicate, Shard, distribute_tensor

    mesh, found = init_device_mesh("cpu", (2,)), []
    torch.manual_seed(rank)
    for placement in Shard(0), Shard(1), Replicate():
        t = distribute_tensor(torch.zeros(5, 3), mesh, [placement])
        for write in writers(torch):
            found.append(write(t).full_tensor().tolist())
    torch.nn.init.ones_(t)
    return found, t.to_local().sum().item(), torch.get_rng_state().tolist()


def alone(torch):
    torch.manual_seed(0)
    t, found = torch.zeros(5, 3), []
    for _ in range(3):
        for write in writers(torch):
            found.append(write(t).tolist())
    return found, 15.0, torch.get_rng_state().tolist()


def loaded(torch, rank):
    """A full state dict of the first rank goes where the mesh is; what had memory stays."""
    from flambeau.distributed.checkpoint.state_dict import StateDictOptions, set_model_state_dict
    from flambeau.distributed.fsdp import fully_shard

    torch.manual_seed(5)
    alone = mlp(torch)
    full = alone.state_dict() if rank == 0 else {}
    with torch.device("meta"):
        net = mlp(torch)
    net[4] = torch.nn.Linear(11, 3)
    fully_shard(net[0])
    fully_shard(net)
    net[0].bias.requires_grad_(False)
    kept = net[4].weight
    options = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
    set_model_state_dict(net, full, options=options)
    kinds = {p.device.type for p in net.parameters()}
    same = [a.full_tensor().cpu().equal(b) for a, b in zip(net.parameters(), alone.parameters())]
    wants = [p.requires_grad for p in net.parameters()]
    whole = set_into_whole(torch, full, options)
    return sorted(kinds), same, wants, net[4].weight is kept, whole


def set_into_whole(torch, full, options):
    """The same of a model that is not laid over ranks."""
    from flambeau.distributed.checkpoint.state_dict import set_model_state_dict

    with torch.device("meta"):
        net = mlp(torch)
    set_model_state_dict(net, full, options=options)
    return [net[0].weight.is_meta, net[0].weight.requires_grad, float(net[4].bias.sum()) != 0]


def laid(torch, rank):
    """Tensors on meta lie over ranks, as their initialisers then write them; what they refuse."""
    from flambeau.distributed.device_mesh import init_device_mesh
    from flambeau.distributed.tensor import Shard, distribute_tensor, parallel

    mesh = init_device_mesh("cpu", (2,))
    with torch.device("meta"):
        net = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Embedding(6, 4, padding_idx=2))
    plan = {"0": parallel.ColwiseParallel(), "1": parallel.RowwiseParallel()}
    parallel.parallelize_module(net, mesh, plan)
    shapes = [list(p.to_local().shape) for p in net.parameters()]
    net.to_empty(device="cpu")
    for part in net:
        part.reset_parameters()
    padded = net[1].weight.full_tensor()
    zeros = [bool((row == 0).all()) for row in padded]
    x = distribute_tensor(torch.full((4,), 0.5), mesh, [Shard(0)]).requires_grad_()
    refused = [
        message(lambda: x.detach().bernoulli_(x.detach()), NotImplementedError),
        message(lambda: x.uniform_(), RuntimeError),
        message(lambda: (x * 1).uniform_(), NotImplementedError),
    ]
    return shapes, zeros, refused, x.full_tensor().tolist()


def joined(rank, size, name):
    import flambeau as torch
    from flambeau import distributed as dist

    dist.init_process_group()
    found = globals()[name](torch, rank)
    dist.destroy_process_group()
    return found


def outcomes(name, **more):
    ended = ranks.run(joined, 2, name, **more)
    assert [e.code for e in ended] == [0, 0], [e.output for e in ended]
    return [e.value for e in ended]


def test_a_model_gets_memory_after_it_is_sharded():
    first, second = outcomes("described")
    for early, *held, _ in first, second:
        assert "should be materialized from meta device" in early and "Linear.weight" in early
        assert held == [True] * 3
    assert first == second


def test_initialisers_draw_as_one_process_does():
    import flambeau as torch

    first, second = outcomes("drawn")
    assert first == second
    for found, wanted in zip(first, alone(torch)):
        assert found == wanted


def test_a_full_state_dict_gives_memory():
    for more in {}, {"FLAMBEAU_SIM": "devices=2,memory=64MiB,as=cuda"}:
        for kinds, same, wants, kept, whole in outcomes("loaded", **more):
            assert kinds == ["cuda" if more else "cpu"] and same == [True] * 6
            assert wants == [True, False] + [True] * 4 and kept and whole == [False, True, True]


def test_tensors_on_meta_lie_over_ranks():
    for shapes, zeros, (by_another, leaf, passed), kept in outcomes("laid"):
        assert shapes == [[3, 4], [3], [3, 4]] and zeros == [False, False, True] + [False] * 3
        assert "bernoulli_ by another" in by_another and "a leaf Variable" in leaf
        assert "uniform_ that backward passes" in passed and kept == [0.5] * 4
