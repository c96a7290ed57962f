"""DistributedDataParallel by a mesh, and `replicate`, which leaves the module what it is. Two
ranks."""

import functools

from tests.dist import ranks
from tests.dist.sharding import data, loss_of, message, mlp


def worst(net, ref):
    pairs = zip(net.parameters(), ref.parameters(), strict=True)
    return max((a.grad - b.grad).abs().max().item() for a, b in pairs)


def both(torch, rank, net, ref, steps):
    """The gradients of the joined batches of some steps, summed."""
    for step in steps:
        x = data(torch, ref, step)
        loss_of(torch, net, x[2 * rank : 2 * rank + 2]).backward()
        loss_of(torch, ref, x).backward()


def by_mesh(torch, rank, dist):
    """A module whose group a mesh says, and what is refused."""
    from flambeau.distributed.device_mesh import init_device_mesh
    from flambeau.distributed.tensor.parallel import ColwiseParallel, parallelize_module

    ddp = torch.nn.parallel.DistributedDataParallel
    line, square = init_device_mesh("cpu", (2,)), init_device_mesh("cpu", (2, 1))
    net, ref = ddp(mlp(torch), device_mesh=line), mlp(torch)
    both(torch, rank, net, ref, (0,))
    laid = parallelize_module(mlp(torch), line, {"0": ColwiseParallel()})
    return [
        worst(net, ref),
        net.process_group is line.get_group() and net.device_mesh is line,
        message(lambda: ddp(mlp(torch), device_mesh=square), RuntimeError),
        message(
            lambda: ddp(mlp(torch), device_mesh=line, process_group=dist.group.WORLD), RuntimeError
        ),
        message(lambda: ddp(laid), NotImplementedError),
    ]


def in_place(torch, rank, dist):
    """The module's class, names and gradients; without reduction, with a hook, with parts that are
    left alone."""
    import copy

    from flambeau.distributed._composable import fully_shard
    from flambeau.distributed._composable.replicate import replicate
    from flambeau.distributed.algorithms.ddp_comm_hooks import default_hooks

    start, ref = mlp(torch), mlp(torch)
    with torch.no_grad():
        start[0].weight.add_(float(rank))
    net = replicate(start)
    found = [net is start and isinstance(net, torch.nn.Sequential)]
    found.append([*net.state_dict()] == [*ref.state_dict()])
    both(torch, rank, net, ref, (0,))
    found.append(worst(net, ref) < 1e-6)  # of the first rank's weights
    net.set_requires_gradient_sync(False)
    both(torch, rank, net, ref, (1,))
    found.append(worst(net, ref) > 1e-4)
    net.set_requires_gradient_sync(True)
    both(torch, rank, net, ref, (2,))
    found.append(worst(net, ref) < 1e-5)
    hooked, ref = replicate(mlp(torch), bucket_cap_mb=0.0001), mlp(torch)
    calls = []

    def hook(state, bucket):
        calls.append(bucket.index())
        return default_hooks.allreduce_hook(state, bucket)

    hooked.register_comm_hook(None, hook)
    both(torch, rank, hooked, ref, (0,))
    found.append(worst(hooked, ref) < 1e-6 and len(calls) > 1)
    some, ref = mlp(torch), mlp(torch)
    fully_shard(some[2])
    replicate(some, ignored_modules=[some[4]], device_id=torch.device("cpu"))
    both(torch, rank, some, ref, (0,))
    means = [(some[i].weight.grad, ref[i].weight.grad) for i in (0, 4)]
    found.append([torch.allclose(a, b, atol=1e-6) for a, b in means] == [True, False])
    part = some[2].weight.grad.full_tensor()
    found.append(torch.allclose(part, ref[2].weight.grad, atol=1e-6))
    texts = [
        message(lambda: replicate(net), AssertionError),
        message(lambda: replicate(some[2]), RuntimeError),
        message(lambda: copy.deepcopy(net), AssertionError),
        message(lambda: replicate(mlp(torch), device_id="cpu"), RuntimeError),
    ]
    return [found, texts]


def on_each_rank(rank, size):
    import flambeau.distributed as dist
    import flambeau as torch

    dist.init_process_group()
    found = {"mesh": by_mesh(torch, rank, dist), "in place": in_place(torch, rank, dist)}
    dist.destroy_process_group()
    return found


@functools.cache
def found():
    return ranks.values(on_each_rank, 2, timeout=60)


def test_a_mesh_says_the_group():
    for one in found():
        far, same, square, two, laid = one["mesh"]
        assert far < 1e-6 and same
        assert "Only 1D device mesh is supported" in square
        assert "Cannot specify both process_group and device_mesh" in two
        assert "'0.weight' lies over ranks" in laid and "fully_shard(module, mesh=" in laid


def test_replicate():
    for one in found():
        seen, texts = one["in place"]
        assert seen == [True] * 8
        parts = "applied to a module once", "managed by", "deepcopy", "device_id to be"
        for text, part in zip(texts, parts, strict=True):
            assert part in text
