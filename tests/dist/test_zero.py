"""ZeroRedundancyOptimizer on two ranks: the plain optimizer's bits, half of its memory, its state
dicts both ways, groups, schedules, closures and uneven inputs."""

import functools

import pytest

from tests.dist import ranks

STEPS = 20


def model(torch, device="cpu"):
    torch.manual_seed(0)
    parts = torch.nn.Linear(20, 31), torch.nn.Tanh(), torch.nn.Linear(31, 5)
    return torch.nn.Sequential(*parts).to(device)


def batches(torch, device="cpu"):
    torch.manual_seed(1)
    return [torch.randn(8, 20).to(device) for _ in range(STEPS)]


def train(torch, net, optimizer, schedule=None, closure=False):
    for x in batches(torch):

        def loss(x=x):
            optimizer.zero_grad()
            value = net(x).square().mean()
            value.backward()
            return value

        if closure:
            optimizer.step(loss)
        else:
            loss()
            optimizer.step()
        if schedule:
            schedule.step()


def same(net, other):
    pairs = list(zip(net.parameters(), other.parameters(), strict=True))
    return all((a == b).all().item() for a, b in pairs)


def compared(torch, kind, options, view, closure=False, scheduled=False):
    """Whether the weights are those of the plain optimizer, and the state dicts."""
    from flambeau.distributed.optim import ZeroRedundancyOptimizer

    net, other = model(torch), model(torch)
    plain = kind(other.parameters(), **options)
    made = dict(options, parameters_as_bucket_view=view)
    zero = ZeroRedundancyOptimizer(net.parameters(), kind, **made)
    every = [None, None]
    if scheduled:
        every = [torch.optim.lr_scheduler.StepLR(o, 3, 0.5) for o in (plain, zero)]
    train(torch, other, plain, every[0], closure)
    train(torch, net, zero, every[1], closure)
    return net, other, zero, plain


def alike(torch, a, b):
    if isinstance(a, torch.Tensor):
        return bool((a == b).all().item())
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(alike(torch, a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(functools.partial(alike, torch), a, b))
    return a == b


def states(torch, rank, dist):
    """State dicts: gathered, loaded into the plain optimizer and back, and training goes on
    alike."""
    from flambeau.distributed.optim import ZeroRedundancyOptimizer

    kind, options = torch.optim.AdamW, {"lr": 0.01}
    net, other, zero, plain = compared(torch, kind, options, False, scheduled=True)
    try:
        zero.state_dict()
        refusal = ""
    except RuntimeError as error:
        refusal = str(error)
    zero.consolidate_state_dict(to=1)
    gathered = alike(torch, zero.state_dict(), plain.state_dict()) if rank == 1 else None
    later = ZeroRedundancyOptimizer(net.parameters(), kind, **options)
    later.load_state_dict(plain.state_dict())
    train(torch, other, plain)
    train(torch, net, later)
    return {
        "refusal": refusal,
        "gathered": gathered,
        "goes on": same(net, other),
        "rate": [later.param_groups[0]["lr"], plain.param_groups[0]["lr"]],
    }


def groups(torch):
    """Groups with rates of their own, one added later, and a parameter that is frozen."""
    from flambeau.distributed.optim import ZeroRedundancyOptimizer

    nets = model(torch), model(torch)
    made = []
    for net, wrapped in zip(nets, (False, True)):
        first, last = net[0], net[2]
        given = [{"params": [first.weight], "lr": 0.5}, {"params": [first.bias]}]
        options = {"lr": 0.1, "momentum": 0.9}
        if wrapped:
            made.append(ZeroRedundancyOptimizer(given, torch.optim.SGD, **options))
        else:
            made.append(torch.optim.SGD(given, **options))
        train(torch, net, made[-1])
        made[-1].add_param_group({"params": list(last.parameters()), "lr": 0.2})
        first.bias.requires_grad_(False)
        train(torch, net, made[-1])
    return same(*nets) and not same(nets[0], model(torch))


def joined(torch, rank):
    """Sums of the parameters of a model that rank 0 has two batches for, rank 1 three; and whether
    an optimizer that is joined by itself ends."""
    from flambeau.distributed.algorithms import Join
    from flambeau.distributed.optim import ZeroRedundancyOptimizer

    net = torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.ReLU(), torch.nn.Linear(7, 3))
    with torch.no_grad():
        for i, p in enumerate(net.parameters()):
            p.copy_((torch.arange(p.numel()).float() + i).cos().view_as(p))
    ddp = torch.nn.parallel.DistributedDataParallel(net)
    zero = ZeroRedundancyOptimizer(ddp.parameters(), torch.optim.SGD, lr=0.1)
    x = (torch.arange(15.0).reshape(3, 5) * (rank + 1)).sin()
    with Join([ddp, zero]):
        for _ in range(2 + rank):
            zero.zero_grad()
            ddp(x).sum().backward()
            zero.step()
    sums = [p.detach().sum().item() for p in net.parameters()]
    with Join([zero]):
        for _ in range(1 + rank):
            zero.step()
    return sums


def memory(torch, rank):
    """Bytes of optimizer state on this rank's simulated GPU, without and with sharding."""
    from flambeau.distributed.optim import ZeroRedundancyOptimizer

    device = f"cuda:{rank}"
    torch.cuda.set_device(device)
    found = []
    for wrapped in (False, True):
        torch.manual_seed(0)
        net = torch.nn.Sequential(*(torch.nn.Linear(256, 256, bias=False) for _ in range(4)))
        net.to(device)
        if wrapped:
            optimizer = ZeroRedundancyOptimizer(net.parameters(), torch.optim.Adam, lr=0.1)
        else:
            optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
        net(torch.ones(2, 256, device=device)).sum().backward()
        torch.cuda.synchronize()
        before = torch.cuda.memory_allocated()
        optimizer.step()
        torch.cuda.synchronize()
        found.append(torch.cuda.memory_allocated() - before)
        del net, optimizer
    return found


def on_each_rank(rank, size):
    import flambeau as torch
    import flambeau.distributed as dist
    from flambeau.distributed.optim import ZeroRedundancyOptimizer

    dist.init_process_group()
    equal = []
    for kind, options in (
        (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9}),
        (torch.optim.Adam, {"lr": 0.01}),
        (torch.optim.RMSprop, {"lr": 0.01}),
    ):
        for view in (False, True):
            net, other, zero, _ = compared(torch, kind, options, view, closure=view)
            count = sum(p.numel() for p in net.parameters())
            own = sum(p.numel() for g in zero.optim.param_groups for p in g["params"])
            equal.append([same(net, other), own < count])
    try:
        ZeroRedundancyOptimizer(net.parameters(), kind, overlap_with_ddp=True, lr=1.0)
        refusal = ""
    except NotImplementedError as error:
        refusal = str(error)
    with pytest.raises(TypeError, match="an iterable of Tensors, but got torch.FloatTensor"):
        ZeroRedundancyOptimizer(net[0].weight, kind, lr=1.0)
    found = {
        "equal": equal,
        "states": states(torch, rank, dist),
        "groups": groups(torch),
        "memory": memory(torch, rank),
        "joined": joined(torch, rank),
        "refusal": refusal,
    }
    dist.destroy_process_group()
    return found


@functools.cache
def found():
    return ranks.values(on_each_rank, 2, timeout=90, FLAMBEAU_SIM="devices=2,as=cuda")


def test_equals_the_plain_optimizer():
    for one in found():
        assert one["equal"] == [[True, True]] * 6
        assert one["groups"]


def test_state_dicts():
    zero, one = (r["states"] for r in found())
    assert one["gathered"] and zero["gathered"] is None
    for r, state in enumerate((zero, one)):
        assert f"consolidate_state_dict(to={r})" in state["refusal"]
        assert state["goes on"] and state["rate"][0] == state["rate"][1]


def test_state_takes_half_of_the_memory():
    for one in found():
        plain, sharded = one["memory"]
        assert plain >= 8 * 256 * 256 * 4
        assert sharded == pytest.approx(plain / 2, rel=0.01)


def test_uneven_inputs():
    for one in found():  # what PyTorch 2.15 ends with
        assert one["joined"] == pytest.approx([1.8526, 3.4203, -10.9614, -3.61], abs=1e-4)


def test_overlap_is_refused():
    assert "overlap_with_ddp=True is unsupported" in found()[0]["refusal"]
