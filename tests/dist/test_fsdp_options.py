"""What fully_shard and its modules are told beside the usual, on four ranks: other dimensions,
groups of ranks that keep parameters until backward, how gradients are reduced."""

import functools

import pytest

from tests.dist import ranks
from tests.dist.sharding import apart, message

STEPS = 5


def mlp(torch):
    torch.manual_seed(0)
    nn = torch.nn
    return nn.Sequential(nn.Linear(8, 12), nn.Tanh(), nn.Linear(12, 4))


def batch(torch, step):
    torch.manual_seed(100 + step)
    return torch.randn(4, 8)


def by_columns(p):
    from flambeau.distributed.tensor import Shard

    return Shard(-1) if p.dim() > 1 else None


def sharded(net, **options):
    from flambeau.distributed.fsdp import fully_shard

    for part in net[0], net[2]:
        fully_shard(part, **options)
    return fully_shard(net, **options)


def trained(torch, rank, **options):
    """The difference to one process after some steps."""
    net, ref = sharded(mlp(torch), **options), mlp(torch)
    made = [torch.optim.Adam(m.parameters(), lr=0.05) for m in (net, ref)]
    for step in range(STEPS):
        x = batch(torch, step)
        for m, optimizer, given in zip((net, ref), made, (x[rank : rank + 1], x)):
            optimizer.zero_grad()
            m(given).square().mean().backward()
            optimizer.step()
    assert apart(sharded(mlp(torch)), ref) > 0.05
    return apart(net, ref)


def near(torch, rank):
    """Pairs of ranks keep what backward needs, and no longer."""
    net = sharded(mlp(torch), reshard_after_forward=2)
    group, x = net[0]._fsdp_state.group, batch(torch, 0)
    sizes = []
    for _ in range(2):
        y = net(x)
        sizes.append([own.numel() for own, _ in group._kept])
    y.sum().backward()
    sizes.append([own.numel() for own, _ in group._kept])
    with torch.no_grad():
        net(x)
        sizes.append([own.numel() for own, _ in group._kept])
    net(x)
    with torch.no_grad():
        for p in net.parameters():
            p.zero_()
        stale = net(x).abs().max().item()
    return [sizes, group._near.size(), stale]


def gradients(net):
    return [p.grad.full_tensor() for p in net.parameters()]


def reduced(torch, rank, **options):
    """How the gradients differ from their mean by what a module was told."""
    x, found = batch(torch, 0)[rank : rank + 1], {}

    def after(tell):
        net = sharded(mlp(torch), **options)
        for part in net[0], net[2], net:
            tell(part)
        net(x).square().mean().backward()
        return gradients(net)

    mean = after(lambda m: None)

    def share(tell):
        return [round((g / m).median().item(), 4) for g, m in zip(after(tell), mean)]

    found["factor"] = share(lambda m: m.set_gradient_divide_factor(1.0))
    found["sums"] = share(lambda m: m.set_force_sum_reduction_for_comms(True))
    found["hook"] = share(lambda m: m.set_all_reduce_hook(lambda rows: rows.mul_(3)))
    found["buffers"] = share(lambda m: m.set_reduce_scatter_max_input_buffers(2))
    return found


def unused(torch, rank):
    """Ranks that use different parameters reduce all of them; an embedding needs no parameters in
    backward."""
    from flambeau.distributed.fsdp import fully_shard

    class Either(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = torch.nn.ParameterList(torch.nn.Parameter(torch.ones(4)) for _ in range(2))

        def forward(self, x):
            return (self.parts[rank % 2] * x).sum()

    net = fully_shard(Either())
    net.set_reduce_scatter_unused_params(True)
    for _ in range(2):
        net.zero_grad()
        net(torch.tensor(2.0)).backward()
    halves = [g.tolist() for g in gradients(net)]
    table, ref = torch.nn.Embedding(8, 4), torch.nn.Embedding(8, 4)
    fully_shard(table).set_unshard_in_backward(False)
    tokens = torch.tensor([1, 1, 3])
    table(tokens).sum().backward()
    whole = table._fsdp_state.group.is_whole
    ref(tokens).sum().backward()
    return [halves, whole, (table.weight.grad.full_tensor() - ref.weight.grad).abs().max().item()]


def told(torch, rank):
    """Hints that change no number, and what is refused."""
    from flambeau.distributed.device_mesh import init_device_mesh
    from flambeau.distributed.fsdp import fully_shard, share_comm_ctx
    from flambeau.distributed.tensor import Replicate, Shard

    waited = []

    class Event:
        def wait(self):
            waited.append(1)

    net = sharded(mlp(torch))
    net.set_post_optim_event(Event())
    for _ in range(2):
        net(batch(torch, 0))
    share_comm_ctx([net, net[0]])
    linear = torch.nn.Linear(8, 8)
    copies = fully_shard(torch.nn.Linear(8, 8), mesh=init_device_mesh("cpu", (2, 2)))
    placed = [lambda p: Shard(1), lambda p: Replicate(), lambda p: Shard(3)]
    return [
        len(waited),
        message(lambda: fully_shard(linear, reshard_after_forward=3), ValueError),
        message(lambda: fully_shard(linear, reshard_after_forward="no"), ValueError),
        message(lambda: fully_shard(linear, shard_placement_fn=placed[0]), IndexError, ValueError),
        message(lambda: fully_shard(linear, shard_placement_fn=placed[1]), ValueError),
        message(lambda: fully_shard(linear, shard_placement_fn=placed[2]), ValueError),
        message(
            lambda: fully_shard(torch.nn.Linear(6, 8), shard_placement_fn=by_columns),
            NotImplementedError,
        ),
        message(lambda: copies.set_all_reduce_hook(print, stream=object()), ValueError),
        message(lambda: net.set_reduce_scatter_max_input_buffers(0), ValueError),
        message(lambda: net.set_reduce_scatter_max_input_buffers(True), TypeError),
        message(lambda: net.set_reshard_after_forward(2), ValueError),
        message(lambda: net.set_custom_all_gather(None), NotImplementedError),
        message(lambda: net.finalize_backward(), NotImplementedError),
        message(lambda: share_comm_ctx([linear]), ValueError),
    ]


def on_each_rank(rank, size):
    import flambeau.distributed as dist
    import flambeau as torch
    from flambeau.distributed.device_mesh import init_device_mesh

    dist.init_process_group()
    columns = {"shard_placement_fn": by_columns}
    copied = {"mesh": init_device_mesh("cpu", (2, 2))}
    parts = [list(p.to_local().shape) for p in sharded(mlp(torch), **columns).parameters()]
    found = {
        "trained": [
            trained(torch, rank, reshard_after_forward=2),
            trained(torch, rank, reshard_after_forward=4, **columns),
            trained(torch, rank, reshard_after_forward=2, **columns, **copied),
        ],
        "parts": parts,
        "near": near(torch, rank),
        "reduced": [reduced(torch, rank), reduced(torch, rank, **copied)],
        "unused": unused(torch, rank),
        "told": told(torch, rank),
    }
    dist.destroy_process_group()
    return found


@functools.cache
def found():
    return ranks.values(on_each_rank, 4, timeout=90)


def test_equals_one_process():
    for one in found():
        assert max(one["trained"]) < 1e-5
        assert one["parts"] == [[12, 2], [3], [4, 3], [1]]


def test_ranks_near_each_other_keep_parameters_until_backward():
    for one in found():
        sizes, size, stale = one["near"]
        assert sizes == [[54], [54], [], []] and size == 2 and stale == 0.0


def test_how_gradients_are_reduced():
    for one in found():
        for shares in one["reduced"]:
            assert shares["factor"] == pytest.approx([4.0] * 4)
            assert shares["hook"] == pytest.approx([3.0] * 4)
            assert shares["sums"] == shares["buffers"] == pytest.approx([1.0] * 4)


def test_unused_and_unneeded_parameters():
    for one in found():
        halves, whole, worst = one["unused"]
        assert halves == [[1.0] * 4] * 2 and not whole and worst == 0.0


def test_what_is_said():
    for one in found():
        waited, *texts = one["told"]
        parts = (
            "a factor of 4, not 3", "a bool or an int", "out of range", "Invalid shard_placement",
            "out of range", "uneven sharding on dim 1", "when using native HSDP", "a positive int",
            "must be an int", "should be a bool", "set_custom_all_gather is unsupported",
            "every backward finishes", "Expects list of FSDPModules",
        )  # fmt: skip
        assert waited == 1
        for text, part in zip(texts, parts, strict=True):
            assert part in text
