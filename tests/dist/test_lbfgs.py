"""LBFGS of parameters that lie over ranks: steps as one process takes them, by either search, from
a state that was saved, and with another part of the batch on each rank."""

from tests.dist import ranks

SEARCHES = None, "strong_wolfe"


def closure_of(torch, optimizer, loss):
    def closure():
        optimizer.zero_grad()
        found = loss()
        found.backward()
        return found

    return closure


def apart(parts, whole):
    pairs = zip(parts, whole)
    return max((a.full_tensor() - b).abs().max().item() for a, b in pairs)


def laid_out(torch, mesh, search):
    """Of a valley that is long and bent; half way the state goes to a new optimizer."""
    from flambeau.distributed.tensor import Replicate, Shard, distribute_tensor

    torch.manual_seed(0)
    whole = [torch.nn.Parameter(torch.randn(n, 3)) for n in (5, 2)]
    ways = [Shard(0)], [Replicate()]
    laid = [distribute_tensor(p.detach(), mesh, way) for p, way in zip(whole, ways)]
    parts = [torch.nn.Parameter(one) for one in laid]
    options = {"max_iter": 5, "history_size": 4, "line_search_fn": search}
    first = []
    for params in (whole, parts):
        optimizer = torch.optim.LBFGS(params, lr=0.5, **options)

        def loss(params=params):
            a, b = (p.full_tensor() if hasattr(p, "full_tensor") else p for p in params)
            return (1 - a).square().sum() + 10 * (b.sum() - a.square().sum()).square()

        for turn in range(4):
            found = optimizer.step(closure_of(torch, optimizer, loss))
            if turn == 1:
                state = optimizer.state_dict()
                optimizer = torch.optim.LBFGS(params, lr=0.5, **options)
                optimizer.load_state_dict(state)
            if not turn:
                first.append(found.item())
    last = loss().item()
    return [apart(parts, whole), abs(first[0] - first[1]), last < first[0]]


def sharded(torch, rank, size, search):
    """fully_shard, with other rows of the batch on each rank."""
    from flambeau.distributed.fsdp import fully_shard

    def model():
        torch.manual_seed(1)
        return torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Tanh(), torch.nn.Linear(6, 2))

    torch.manual_seed(2)
    x, y = torch.randn(6 * size, 4), torch.randn(6 * size, 2)
    rows = slice(6 * rank, 6 * rank + 6)
    net, ref = fully_shard(model()), model()
    for module, a, b in ((net, x[rows], y[rows]), (ref, x, y)):
        optimizer = torch.optim.LBFGS(module.parameters(), max_iter=4, line_search_fn=search)

        def loss(module=module, a=a, b=b):
            return torch.nn.functional.mse_loss(module(a), b)

        for _ in range(3):
            optimizer.step(closure_of(torch, optimizer, loss))
    return apart(net.parameters(), ref.parameters())


def trained(rank, size):
    import flambeau as torch
    import flambeau.distributed as dist
    from flambeau.distributed.device_mesh import init_device_mesh

    mesh = init_device_mesh("cpu", (size,))
    found = [laid_out(torch, mesh, search) for search in SEARCHES]
    found.append([sharded(torch, rank, size, search) for search in SEARCHES])
    dist.destroy_process_group()
    return found


def test_steps_are_those_of_one_process():
    first, second = ranks.values(trained, 2)
    assert first == second
    *laid, parts = first
    for difference, of_losses, falls in laid:
        assert difference < 1e-5 and of_losses < 1e-5 and falls, laid
    assert max(parts) < 1e-4, parts
