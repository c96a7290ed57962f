"""fully_shard on two ranks: twenty steps as one process takes them on the joined batch, on the CPU
and on simulated GPUs; accumulation, dtypes, offload, checkpoints of activations, memory by the
allocator."""

import functools
import gc

import pytest

from tests.dist import ranks
from tests.dist.sharding import STEPS, apart, block, data, loss_of, mlp, sharded


def trained(torch, rank, make, device="cpu", clip=False, **options):
    """The difference to one process after twenty steps."""
    net, ref = sharded(make(torch), **options), make(torch)
    first = torch.cat([p.detach().reshape(-1) for p in ref.parameters()])
    # Of attention, the bias of keys has no gradient but what rounding leaves, which Adam would
    # scale.
    kind, rate = (torch.optim.SGD, 0.1) if hasattr(ref, "layers") else (torch.optim.AdamW, 0.01)
    made = [kind(m.parameters(), lr=rate) for m in (net, ref)]
    for step in range(STEPS):
        x = data(torch, net, step)
        own = x[2 * rank : 2 * rank + 2].to(device)
        for m, optimizer, given in zip((net, ref), made, (own, x)):
            optimizer.zero_grad()
            loss_of(torch, m, given).backward()
            if clip:
                torch.nn.utils.clip_grad_norm_(m.parameters(), 0.05)
            optimizer.step()
    last = torch.cat([p.detach().reshape(-1) for p in ref.parameters()])
    assert (last - first).abs().max().item() > 0.05
    return apart(net, ref)


def accumulated(torch, rank):
    """Two batches a step, reduced with the second."""
    net, ref = sharded(mlp(torch)), mlp(torch)
    made = [torch.optim.SGD(m.parameters(), lr=0.1) for m in (net, ref)]
    gradients = []
    for step in range(STEPS):
        for part in range(2):
            x = data(torch, net, 2 * step + part)
            net.set_requires_gradient_sync(part == 1)
            loss_of(torch, net, x[2 * rank : 2 * rank + 2]).backward()
            loss_of(torch, ref, x).backward()
            gradients.append(net[0].weight.grad is None)
        for optimizer in made:
            optimizer.step()
            optimizer.zero_grad()
    return [apart(net, ref), gradients == [True, False] * STEPS]


def accumulated_copies(torch, rank):
    """Two batches a step of parts with copies, which are averaged with the second; a parameter that
    only the first one uses."""
    from flambeau.distributed.device_mesh import init_device_mesh

    mesh = init_device_mesh("cpu", (2, 1), mesh_dim_names=("replicate", "shard"))
    net, ref = sharded(mlp(torch), mesh=mesh), mlp(torch)
    made = [torch.optim.SGD(m.parameters(), lr=0.1) for m in (net, ref)]
    gradients = []
    for step in range(STEPS):
        for part in range(2):
            x = data(torch, net, 2 * step + part)
            net.set_requires_all_reduce(part == 1)
            for m, given in ((net, x[2 * rank : 2 * rank + 2]), (ref, x)):
                m[2].bias.requires_grad_(part == 0)
                loss_of(torch, m, given).backward()
            gradients.append(net[0].weight.grad is None)
        for optimizer in made:
            optimizer.step()
            optimizer.zero_grad()
    assert (ref[2].bias - mlp(torch)[2].bias).abs().max().item() > 0.01
    return [apart(net, ref), gradients == [True, False] * STEPS]


def mixed(torch, rank, dist, wide):
    """bfloat16 in forward and backward; gradients reduced in it, or `wide` in f32 as parameters are
    kept."""
    from flambeau.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    low = torch.bfloat16
    seen = []
    net, ref = mlp(torch), mlp(torch)
    reduced = torch.float32 if wide else None
    fully_shard(net[0], mp_policy=MixedPrecisionPolicy(low, reduced))
    fully_shard(net[2], mp_policy=MixedPrecisionPolicy(low, reduced))
    fully_shard(net, mp_policy=MixedPrecisionPolicy(low, reduced, torch.float32))
    net[2].register_forward_pre_hook(lambda m, given: seen.append((given[0].dtype, m.weight.dtype)))
    made = [torch.optim.SGD(m.parameters(), lr=0.1) for m in (net, ref)]
    for step in range(STEPS):
        own = data(torch, net, step)[2 * rank : 2 * rank + 2]
        found = net(own)
        found.square().mean().backward()
        copy = mlp(torch).to(low)
        with torch.no_grad():
            for p, q in zip(copy.parameters(), ref.parameters()):
                p.copy_(q)
        copy(own.to(low)).float().square().mean().backward()
        for p, q in zip(ref.parameters(), copy.parameters()):
            grad = q.grad.float() if wide else q.grad
            dist.all_reduce(grad, dist.ReduceOp.AVG)
            p.grad = grad.float()
        for optimizer in made:
            optimizer.step()
            optimizer.zero_grad()
    dtypes = [found.dtype is torch.float32, net[0].weight.dtype is torch.float32]
    return [apart(net, ref), dtypes, set(seen) == {(low, low)}]


def recomputed(torch, rank):
    """Activations are computed anew in backward."""
    from flambeau.utils.checkpoint import checkpoint

    found = []
    for reentrant in (False, True):

        def make(t, reentrant=reentrant):
            net = block(t)
            for layer in net.layers:
                run = layer.forward

                def forward(x, run=run):
                    if not x.requires_grad:
                        return run(x)
                    return checkpoint(run, x, use_reentrant=reentrant)

                layer.forward = forward
            return net

        found.append(trained(torch, rank, make))
    return max(found)


def memory(torch, rank):
    """Bytes on this rank's simulated GPU of eight layers under Adam: between steps, and the most
    within one."""
    from flambeau.distributed.fsdp import fully_shard

    device, n, layers = f"cuda:{rank}", 256, 8
    found = []
    for wrapped in (False, True):
        torch.manual_seed(0)
        torch.cuda.synchronize()
        start = torch.cuda.memory_allocated()
        net = torch.nn.Sequential(*(torch.nn.Linear(n, n, bias=False) for _ in range(layers)))
        net.to(device)
        if wrapped:
            for i in range(layers):
                fully_shard(net[i])
            fully_shard(net)
        optimizer = torch.optim.Adam(net.parameters())
        x = torch.ones(2, n, device=device)
        for step in range(3):
            torch.cuda.synchronize()
            if step == 2:
                torch.cuda.reset_peak_memory_stats()
            net(x).sum().backward()
            torch.cuda.synchronize()
            within = torch.cuda.max_memory_allocated() - start
            optimizer.step()
        torch.cuda.synchronize()
        found.append([(torch.cuda.memory_allocated() - start) / (4 * n * n), within / (4 * n * n)])
        del net, optimizer
    return found


def between(torch, rank):
    """Bytes between forward and backward, in those of a layer of a transformer, of four: with and
    without whole parameters."""
    from flambeau.distributed.fsdp import fully_shard

    found, device = [], f"cuda:{rank}"
    for frees in (False, True):
        torch.cuda.synchronize()
        start, nn = torch.cuda.memory_allocated(), torch.nn
        layers = [nn.TransformerEncoderLayer(256, 4, 512, 0.0, batch_first=True) for _ in range(4)]
        net = nn.Sequential(*layers).to(device)
        one = 4 * sum(p.numel() for p in layers[0].parameters())
        for layer in (*layers, net):
            fully_shard(layer, reshard_after_forward=frees)
        y = net(torch.ones(1, 2, 256, device=device)).sum()
        torch.cuda.synchronize()
        found.append((torch.cuda.memory_allocated() - start) / one)
        y.backward()
        del net, layers, layer, y
        gc.collect()
    return found


def copies(torch, rank):
    """Meshes of two dimensions, of which one has a single rank."""
    from flambeau.distributed.device_mesh import init_device_mesh

    found = []
    for shape in ((2, 1), (1, 2)):
        mesh = init_device_mesh("cpu", shape, mesh_dim_names=("replicate", "shard"))
        found.append(trained(torch, rank, mlp, mesh=mesh))
    return max(found)


def on_each_rank(rank, size):
    import flambeau as torch
    import flambeau.distributed as dist
    from flambeau.distributed.device_mesh import init_device_mesh
    from flambeau.distributed import fsdp

    dist.init_process_group()
    torch.cuda.set_device(rank)
    gpus, cpu = init_device_mesh("cuda", (size,)), init_device_mesh("cpu", (size,))
    device, on_host = f"cuda:{rank}", fsdp.CPUOffloadPolicy()
    found = {
        "memory": memory(torch, rank),
        "between": between(torch, rank),
        "gpu": trained(torch, rank, mlp, device, mesh=gpus),
        "offload": trained(torch, rank, mlp, device, True, mesh=gpus, offload_policy=on_host),
    }
    fsdp.fully_shard = functools.partial(fsdp.fully_shard, mesh=cpu)  # the default is the GPU
    found |= {
        "mlp": trained(torch, rank, mlp, clip=True),
        "block": trained(torch, rank, block),
        "kept": trained(torch, rank, block, reshard_after_forward=False),
        "again": trained(torch, rank, mlp, reshard_after_forward=True),
        "recomputed": recomputed(torch, rank),
        "accumulated": accumulated(torch, rank),
        "accumulated copies": accumulated_copies(torch, rank),
        "mixed": [mixed(torch, rank, dist, wide) for wide in (False, True)],
        "copies": copies(torch, rank),
    }
    dist.destroy_process_group()
    return found


@functools.cache
def found():
    return ranks.values(on_each_rank, 2, timeout=120, FLAMBEAU_SIM="devices=2,as=cuda")


@pytest.mark.parametrize("what", "mlp block kept again recomputed gpu offload copies".split())
def test_equals_one_process(what):
    for one in found():
        assert one[what] < 1e-5


def test_accumulates_without_reducing():
    for one in found():
        for what in ("accumulated", "accumulated copies"):
            difference, only_reduced = one[what]
            assert difference < 1e-5 and only_reduced


def test_dtypes():
    for one in found():
        for difference, dtypes, low in one["mixed"]:
            assert difference < 1e-5 and dtypes == [True, True] and low


def test_memory_falls_as_the_arithmetic_says():
    """In layers: parameters, gradients and Adam's two averages, of 8 layers; halved. Within a step
    beside them: the layer that computes, the one that is gathered ahead, a whole gradient, and the
    buffer of the one that is reduced with what comes of it."""
    for one in found():
        (plain, most), (own, within) = one["memory"]
        assert plain == pytest.approx(4 * 8, rel=0.01) and most >= 32
        assert own == pytest.approx(4 * 8 / 2, rel=0.03)
        assert within <= own + 6 and within < most


def test_parameters_are_parts_between_forward_and_backward():
    for one in found():
        whole, parts = one["between"]
        assert whole == pytest.approx(4 / 2 + 4, rel=0.05)
        assert parts == pytest.approx(4 / 2, rel=0.05)
