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


def joined(rank, size, name):
    import flambeau as torch
    from flambeau import distributed as dist

    dist.init_process_group("gloo")
    found = globals()[name](torch, rank)
    dist.destroy_process_group()
    return found


def outcomes(name):
    ended = ranks.run(joined, 2, name)
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
