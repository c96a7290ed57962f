"""fully_shard on two ranks: twenty steps as one process takes them on the joined batch, on the CPU
and on simulated GPUs; accumulation, dtypes, offload, checkpoints of activations, memory by the
allocator."""

import functools

import pytest

from tests.dist import ranks

STEPS = 20


def message(call, *kinds):
    try:
        call()
    except kinds as error:
        return str(error)
    return "nothing was raised"


def mlp(torch):
    torch.manual_seed(0)
    nn = torch.nn
    return nn.Sequential(nn.Linear(6, 11), nn.ReLU(inplace=True), nn.Linear(11, 11), nn.Tanh(),
                         nn.Linear(11, 3))  # fmt: skip


def block(torch):
    """A small language model with attention, norms and an embedding that is also the head."""
    torch.manual_seed(0)
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(13, 8)
            self.layers = nn.ModuleList(
                nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
                for _ in range(2)
            )
            self.head = nn.Linear(8, 13, bias=False)
            self.head.weight = self.table.weight

        def forward(self, tokens):
            x = self.table(tokens)
            for layer in self.layers:
                x = layer(x)
            return self.head(x)

    return Model()


def sharded(net, **options):
    """Each part that is worth it, then the rest."""
    from flambeau.distributed.fsdp import fully_shard

    for part in net.layers if hasattr(net, "layers") else [net[0], net[2]]:
        fully_shard(part, **options)
    return fully_shard(net, **options)


def data(torch, net, step, device="cpu"):
    torch.manual_seed(100 + step)
    if hasattr(net, "layers"):
        return torch.randint(0, 13, (4, 5)).to(device)
    return torch.randn(4, 6).to(device)


def loss_of(torch, net, x):
    return net(x).float().square().mean()


def apart(net, ref):
    """The largest difference of any element."""
    pairs = zip(net.parameters(), ref.parameters(), strict=True)
    return max((a.full_tensor().cpu() - b).abs().max().item() for a, b in pairs)


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


def mixed(torch, rank, dist):
    """bfloat16 in forward and backward; gradients reduced, and parameters kept, in f32."""
    from flambeau.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    low = torch.bfloat16
    seen = []
    net, ref = mlp(torch), mlp(torch)
    fully_shard(net[0], mp_policy=MixedPrecisionPolicy(low))
    fully_shard(net[2], mp_policy=MixedPrecisionPolicy(low))
    fully_shard(net, mp_policy=MixedPrecisionPolicy(low, output_dtype=torch.float32))
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
            p.grad = q.grad.float()
            dist.all_reduce(p.grad, dist.ReduceOp.AVG)
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


def states(torch, rank):
    """State dicts of parts, and what a module shows between its calls."""
    from flambeau.distributed.tensor import DTensor

    net, other = sharded(mlp(torch)), sharded(mlp(torch))
    x = data(torch, net, 0)
    net(x).sum().backward()
    with torch.no_grad():
        for p in net.parameters():
            p.mul_(2).add_(1)
        same = torch.equal(net(x), net(x))
    state = net.state_dict()
    with torch.no_grad():
        before = net(x)
    other.load_state_dict(state)
    with torch.no_grad():
        after = other(x)
    net(x)  # its graph is dropped; the root's parameters are still whole
    parts = all(isinstance(v, DTensor) for v in net.state_dict().values())
    shapes = [v.shape for v in state.values()] == [p.shape for p in mlp(torch).parameters()]
    wrong = message(lambda: other.load_state_dict(mlp(torch).state_dict()), RuntimeError)
    refused = "mixed torch.Tensor and DTensor" in wrong
    return [parts, shapes, torch.equal(before, after), same, refused]


def handled(torch, rank):
    """unshard and reshard by hand, prefetch, frozen and unused parameters, modules that share."""
    from flambeau.distributed.fsdp import FSDPModule, fully_shard
    from flambeau.distributed.tensor import DTensor

    net = sharded(mlp(torch))
    kinds = [isinstance(net, FSDPModule), isinstance(net[0], torch.nn.Linear)]
    found = {"class": [*kinds, type(net).__name__]}
    handle = net[0].unshard(async_op=True)
    handle.wait()
    whole = [not isinstance(net[0].weight, DTensor), list(net[0].weight.shape)]
    net[0].reshard()
    found["by hand"] = [*whole, isinstance(net[0].weight, DTensor)]
    net[0].bias.requires_grad_(False)
    ahead = []
    net[0].register_forward_hook(lambda *_: ahead.append(bool(net[2]._fsdp_state.group._coming)))
    for _ in range(2):
        net(data(torch, net, 0)).sum().backward()
    net[0].set_modules_to_forward_prefetch([])
    net(data(torch, net, 0)).sum().backward()
    found["ahead"] = ahead
    found["frozen"] = [net[0].bias.grad is None, net[0].weight.grad is not None]
    pair = torch.nn.ModuleDict({"used": torch.nn.Linear(2, 2), "unused": torch.nn.Linear(2, 2)})

    class Half(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.pair = pair

        def forward(self, x):
            return self.pair["used"](x)

    half = fully_shard(Half())
    half(torch.ones(1, 2)).sum().backward()
    found["unused"] = [pair["used"].weight.grad is not None, pair["unused"].weight.grad is None]
    tied = sharded(block(torch))
    found["tied"] = tied.head.weight is tied.table.weight
    one = torch.nn.Linear(1, 1)
    found["refused"] = [
        message(lambda: fully_shard(torch.nn.ModuleList([torch.nn.Linear(1, 1)])), ValueError),
        message(lambda: fully_shard(half), AssertionError),
        message(lambda: fully_shard(one, reshard_after_forward=2), NotImplementedError),
        message(lambda: net[2].forward(torch.ones(1, 11)), TypeError),
        message(lambda: net.set_modules_to_backward_prefetch([one]), ValueError),
    ]
    scalar = torch.nn.Module()
    scalar.x = torch.nn.Parameter(torch.tensor(1.0))
    found["refused"].append(message(lambda: fully_shard(scalar), ValueError))
    return found


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


def after_failures(torch, rank):
    """A forward and a backward that raise leave nothing behind; modules may share a group."""
    from flambeau.distributed.fsdp import fully_shard

    net, ref = mlp(torch), mlp(torch)
    fully_shard([net[0], net[2]])
    fully_shard(net)
    x = data(torch, net, 0)

    def fail(*_):
        raise ValueError("on purpose")

    seen = []
    for place in (3, 2):
        hook = net[place].register_forward_hook(fail)
        seen.append(message(lambda: net(x), ValueError))
        hook.remove()
        hook = net[place].register_full_backward_hook(fail)
        seen.append(message(lambda: net(x).sum().backward(), ValueError))
        hook.remove()
    for m in (net, ref):
        m(x).sum().backward()
    pairs = zip(net.parameters(), ref.parameters(), strict=True)
    worst = max((a.grad.full_tensor() - b.grad).abs().max().item() for a, b in pairs)
    return [worst, set(seen) == {"on purpose"}]


def scaled(torch, rank):
    """A gradient that is not finite on one rank's part skips the step of all."""
    net = sharded(mlp(torch))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    seen = []
    for bad in (False, True):
        before = net[4].weight.full_tensor().clone()
        optimizer.zero_grad()
        scaler.scale(loss_of(torch, net, data(torch, net, 0))).backward()
        if bad and rank == 1:
            net[4].weight.grad.to_local()[0, 0] = float("inf")
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        seen.append([torch.equal(net[4].weight.full_tensor(), before), scaler.get_scale()])
    return seen


def twice(torch, rank):
    """Two backwards of one forward, two forwards of one backward, inputs' gradients, another
    dtype."""
    net, ref = sharded(mlp(torch), reshard_after_forward=True), mlp(torch)
    x, found = data(torch, net, 0), []

    def differs():
        pairs = zip(net.parameters(), ref.parameters(), strict=True)
        found.append(max((a.grad.full_tensor() - b.grad).abs().max().item() for a, b in pairs))
        for m in (net, ref):
            m.zero_grad()

    for m in (net, ref):
        y = m(x)
        y.sum().backward(retain_graph=True)
        y.square().sum().backward()
    differs()
    for m in (net, ref):
        (m(x) * m(x * 2)).sum().backward()
    differs()
    inputs = [x.clone().requires_grad_() for _ in range(2)]
    grads = [torch.autograd.grad(m(t).sum(), t)[0] for m, t in zip((net, ref), inputs)]
    found.append((grads[0] - grads[1]).abs().max().item())
    for m in (net, ref):
        m.double()
        m.zero_grad()
        m(x.double()).sum().backward()
    differs()
    return max(found)


def wrapped(torch, rank, cpu):
    """FullyShardedDataParallel: the same steps, whole state dicts, no_sync, parameters in a
    block."""
    from flambeau.distributed.fsdp import FullyShardedDataParallel as FSDP
    from flambeau.distributed.fsdp import ShardingStrategy, StateDictType
    from flambeau.distributed.fsdp.wrap import ModuleWrapPolicy, size_based_auto_wrap_policy
    from flambeau.distributed.tensor import DTensor

    found = []
    for strategy in (ShardingStrategy.FULL_SHARD, ShardingStrategy.SHARD_GRAD_OP):
        policy = ModuleWrapPolicy({torch.nn.Linear})
        start, ref = mlp(torch), mlp(torch)
        with torch.no_grad():
            start[0].weight.add_(float(rank))
        net = FSDP(start, sharding_strategy=strategy, auto_wrap_policy=policy, device_mesh=cpu,
                   sync_module_states=True)  # fmt: skip
        made = [torch.optim.SGD(m.parameters(), lr=0.1) for m in (net, ref)]
        for step in range(STEPS):
            x = data(torch, ref, step)
            with net.no_sync():
                loss_of(torch, net, x[2 * rank : 2 * rank + 2]).backward()
            loss_of(torch, net, x[2 * rank : 2 * rank + 2]).backward()
            (2 * loss_of(torch, ref, x)).backward()
            whole = torch.nn.utils.clip_grad_norm_(ref.parameters(), 0.05)
            norms = [net.clip_grad_norm_(0.05), whole]
            for optimizer in made:
                optimizer.step()
                optimizer.zero_grad()
        state = net.state_dict()
        found.append(abs((norms[0] - norms[1]).item()) < 1e-5 and norms[1].item() > 0.05)
        found.append(all((state[k] - v).abs().max() < 1e-5 for k, v in ref.state_dict().items()))
        found.append(len(net[0]._states(True)) == 1 and len(net.module._states(True)) == 4)
    with FSDP.state_dict_type(net, StateDictType.SHARDED_STATE_DICT):
        found.append(all(isinstance(v, DTensor) for v in net.state_dict().values()))
    net.load_state_dict(mlp(torch).state_dict())
    with FSDP.summon_full_params(net):
        found.append(torch.equal(net[0].weight, mlp(torch)[0].weight))
        with torch.no_grad():
            net[0].weight.fill_(2.0)
    found.append(net.state_dict()["0.weight"].unique().tolist() == [2.0])
    sized = functools.partial(size_based_auto_wrap_policy, min_num_params=100)
    by_size = FSDP(mlp(torch), auto_wrap_policy=sized, device_mesh=cpu)
    found.append([hasattr(by_size.module[i], "unshard") for i in (0, 2, 4)] == [False, True, False])
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
        "mixed": mixed(torch, rank, dist),
        "states": states(torch, rank),
        "handled": handled(torch, rank),
        "copies": copies(torch, rank),
        "scaled": scaled(torch, rank),
        "after": after_failures(torch, rank),
        "twice": twice(torch, rank),
        "wrapped": wrapped(torch, rank, cpu),
    }
    dist.destroy_process_group()
    return found


@functools.cache
def found():
    return ranks.values(on_each_rank, 2, timeout=120, FLAMBEAU_SIM="devices=2,as=cuda")


@pytest.mark.parametrize("what", "mlp block kept again recomputed gpu offload copies twice".split())
def test_equals_one_process(what):
    for one in found():
        assert one[what] < 1e-5


def test_accumulates_without_reducing():
    for one in found():
        difference, only_reduced = one["accumulated"]
        assert difference < 1e-5 and only_reduced


def test_dtypes():
    for one in found():
        difference, dtypes, low = one["mixed"]
        assert difference < 1e-5 and dtypes == [True, True] and low


def test_one_rank_that_overflows_skips_the_step_of_all():
    for one in found():
        assert one["scaled"] == [[False, 8.0], [True, 4.0]]


def test_goes_on_after_failures():
    for one in found():
        worst, raised = one["after"]
        assert worst < 1e-5 and raised


def test_first_form():
    for one in found():
        assert one["wrapped"] == [True] * 10


def test_states():
    for one in found():
        assert one["states"] == [True] * 5


def test_by_hand():
    for one in found():
        handled = one["handled"]
        assert handled["class"] == [True, True, "FSDPSequential"]
        assert handled["by hand"] == [True, [11, 6], True]
        assert handled["ahead"] == [False, True, False]
        assert handled["frozen"] == handled["unused"] == [True, True] and handled["tied"]
        for text, part in zip(
            handled["refused"],
            ("do not implement forward", "be applied to a module once", "say True or False",
             "mixed torch.Tensor and DTensor", "Expects FSDPModule", "doesn't support scalar"),
            strict=True,
        ):  # fmt: skip
            assert part in text


def test_memory_falls_as_the_arithmetic_says():
    """In layers: parameters, gradients and Adam's two averages, of 8 layers; halved. Within a step
    beside them: the layer that computes, the one that is gathered ahead, a whole gradient, and the
    buffer of the one that is reduced with what comes of it."""
    for one in found():
        (plain, most), (own, within) = one["memory"]
        assert plain == pytest.approx(4 * 8, rel=0.01) and most >= 32
        assert own == pytest.approx(4 * 8 / 2, rel=0.03)
        assert within <= own + 6 and within < most
