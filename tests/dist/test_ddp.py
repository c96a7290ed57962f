"""DistributedDataParallel on two and three processes: equal to one process on the joined batch, the
same bits from run to run, whatever of the model is used, in whatever buckets, with what hooks and
with however many batches each rank has."""

import hashlib

import numpy as np
import pytest

from tests.dist import ranks

DEVICES = ["cpu", "cuda"]
SIMULATED = {"FLAMBEAU_SIM": "devices=1,as=cuda"}


def _more(device):
    return SIMULATED if device == "cuda" else {}


def _begin():
    import flambeau as torch
    import flambeau.distributed as dist

    dist.init_process_group("gloo")
    return torch, dist


def _model(torch, device="cpu"):
    torch.manual_seed(0)
    nn = torch.nn
    layers = nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 24), nn.Tanh(), nn.Linear(24, 4)
    return nn.Sequential(*layers).to(device)


def _data(torch, rows):
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(50, rows, 16, generator=generator)
    return x, torch.randint(0, 4, (50, rows), generator=generator)


def _fit(torch, model, batches, device="cpu"):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for x, y in batches:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x.to(device)), y.to(device)).backward()
        optimizer.step()
    return torch.cat([p.detach().cpu().reshape(-1) for p in model.parameters()])


def _digest(values):
    return hashlib.sha256(values.numpy().tobytes()).hexdigest()


WAYS = {
    "plain": {},
    "small buckets": {"bucket_cap_mb": 0.001},
    "views": {"gradient_as_bucket_view": True, "bucket_cap_mb": 0.001},
    "static": {"static_graph": True},
    "unused": {"find_unused_parameters": True},
}


def train(rank, size, device):
    torch, dist = _begin()
    x, y = _data(torch, 12 * size)
    mine = slice(rank * 12, (rank + 1) * 12)
    found = {}
    for way, options in WAYS.items():
        ddp = torch.nn.parallel.DistributedDataParallel(_model(torch, device), **options)
        weights = _fit(torch, ddp, [(a[mine], b[mine]) for a, b in zip(x, y)], device)
        found[way] = _digest(weights), weights.tolist()
    dist.destroy_process_group()
    return found


@pytest.mark.parametrize("size, device", [(2, "cpu"), (3, "cpu"), (2, "cuda")])
def test_equals_one_process_on_the_joined_batch_and_itself(size, device):
    import flambeau as torch

    first, *others = ranks.values(train, size, device, **_more(device))
    again = ranks.values(train, size, device, **_more(device)) if size == 2 else []
    x, y = _data(torch, 12 * size)
    alone = _fit(torch, _model(torch), zip(x, y)).numpy().astype(np.float64)
    for way, (digest, weights) in first.items():
        assert all(other[way][0] == digest for other in others), way
        assert all(other[way][0] == digest for other in again), way
        error = np.linalg.norm(np.array(weights) - alone) / np.linalg.norm(alone)
        assert error < 1e-6, (way, error)


def _halves(torch):
    """Two layers, of which a step uses what it is told to."""

    class Halves(torch.nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.a, self.b = torch.nn.Linear(3, 1), torch.nn.Linear(3, 1)

        def forward(self, x, use="ab"):
            return {"out": [sum(getattr(self, name)(x) for name in use)]}

    return Halves()


def _backward(torch, ddp, rank, use="ab"):
    ddp(torch.ones(2, 3) * (rank + 1), use)["out"][0].sum().backward()


def _grads(ddp):
    return [
        None if p.grad is None else p.grad.reshape(-1)[0].item() for p in ddp.module.parameters()
    ]


def unused(rank, size):
    torch, dist = _begin()
    wrap = torch.nn.parallel.DistributedDataParallel
    found = {}
    ddp = wrap(_halves(torch), find_unused_parameters=True)
    _backward(torch, ddp, rank, "ab" if rank else "a")
    found["on one rank"] = _grads(ddp)
    ddp.zero_grad()
    _backward(torch, ddp, rank, "a")
    found["on none"] = _grads(ddp)
    ddp = wrap(_halves(torch), static_graph=True)
    for _ in range(3):
        ddp.zero_grad()
        _backward(torch, ddp, rank, "a")
    found["static"] = _grads(ddp)
    ddp = wrap(_halves(torch))
    _backward(torch, ddp, rank, "a")
    try:
        _backward(torch, ddp, rank, "a")
    except RuntimeError as error:
        found["error"] = str(error)
    ddp = wrap(_halves(torch))
    failing = ddp.module.a.weight.register_hook(lambda grad: _raise())
    with pytest.raises(ZeroDivisionError):
        _backward(torch, ddp, rank)
    failing.remove()
    with pytest.raises(RuntimeError) as caught:
        _backward(torch, ddp, rank)
    found["failed"] = str(caught.value)
    ddp = wrap(_halves(torch), find_unused_parameters=True)
    _backward(torch, ddp, rank, "a")
    with pytest.raises((RuntimeError, ValueError), match="should be called before training loop"):
        ddp._set_static_graph()
    ddp = wrap(_halves(torch))
    with ddp.no_sync():
        _backward(torch, ddp, rank)
        found["no_sync"] = _grads(ddp)
    _backward(torch, ddp, rank)
    found["after no_sync"] = _grads(ddp)
    x = torch.ones(2, 3) * (rank + 1)
    ddp = wrap(_halves(torch), find_unused_parameters=True)
    ddp.require_backward_grad_sync = False  # programs that begin a backward by themselves
    out = ddp(x, "a")
    ddp.require_backward_grad_sync = True
    ddp.reducer._rebuild_buckets()
    ddp.reducer.prepare_for_backward(torch.nn.parallel.distributed._find_tensors(out))
    out["out"][0].sum().backward()
    found["by itself"] = _grads(ddp)
    said = ddp._get_ddp_logging_data()
    names = "world_size", "module_name", "num_parameter_tensors", "total_parameter_size_bytes"
    found["said"] = [said[name] for name in names]
    ddp = wrap(_halves(torch))
    losses = [ddp(x)["out"][0].sum() for _ in range(2)]
    for loss in losses:
        loss.backward()
    found["two forwards"] = _grads(ddp)
    dist.destroy_process_group()
    return found


def test_unused_parameters_and_accumulation():
    for rank, found in enumerate(ranks.values(unused, 2)):
        own = 2.0 * (rank + 1)
        assert found["on one rank"] == [3, 2, 2, 1]  # b on rank 1 alone: (0 + 4) / 2
        assert found["on none"] == [3, 2, None, None]
        assert found["static"] == [3, 2, None, None]
        assert f"did not receive grad for rank {rank}: b.weight, b.bias" in found["error"]
        assert "Expected to have finished reduction in the prior iteration" in found["error"]
        assert "the last pass ended by an error" in found["failed"]
        assert "were not used" not in found["failed"]
        assert found["no_sync"] == [own, 2, own, 2]
        assert found["after no_sync"] == [6, 4, 6, 4]
        assert found["by itself"] == [3, 2, None, None]
        assert found["said"] == [2, "Halves", 4, 32]
        assert found["two forwards"] == [3 + own, 4, 3 + own, 4]  # as torch: one forward, one mean


def within(rank, size):
    """Backward passes inside of others, copies, and gradients that stay views of the buckets."""
    import copy

    torch, dist = _begin()
    from flambeau.utils.checkpoint import checkpoint

    wrap, found = torch.nn.parallel.DistributedDataParallel, {}
    x = (torch.ones(2, 3) * (rank + 1)).requires_grad_()

    class Checkpointed(torch.nn.Module):
        def __init__(self, times):
            super().__init__()
            torch.manual_seed(0)
            self.times, self.a, self.b = times, torch.nn.Linear(3, 3), torch.nn.Linear(3, 1)

        def forward(self, x):
            for _ in range(self.times):
                x = checkpoint(self.a, x, use_reentrant=True)
            return self.b(x)

    for times, options in (1, {}), (2, {"static_graph": True}):
        model = Checkpointed(times)
        ddp = wrap(copy.deepcopy(model), bucket_cap_mb=1e-5, **options)
        for _ in range(3):
            ddp.zero_grad()
            ddp(x).sum().backward()
        for r in range(size):
            part = (torch.ones(2, 3) * (r + 1)).requires_grad_()
            (model(part).sum() / size).backward()
        pairs = zip(model.parameters(), ddp.parameters())
        found[f"{times} times"] = max((a.grad - b.grad).abs().max().item() for a, b in pairs)
    try:
        ddp = wrap(Checkpointed(2))
        ddp(x).sum().backward()
    except RuntimeError as error:
        found["twice"] = str(error)
    ddp = copy.deepcopy(wrap(_halves(torch)))
    _backward(torch, ddp, rank)
    found["copy"] = _grads(ddp)
    ddp = wrap(_halves(torch), gradient_as_bucket_view=True)
    for _ in range(3):
        ddp.zero_grad(set_to_none=False)
        with ddp.no_sync():
            _backward(torch, ddp, rank)
        _backward(torch, ddp, rank)
    found["views"] = _grads(ddp)
    a, b = (p.grad.untyped_storage().data_ptr() for p in list(ddp.parameters())[:2])
    found["shared"] = a == b
    dist.destroy_process_group()
    return found


def test_passes_inside_of_others_copies_and_views():
    for found in ranks.values(within, 2):
        assert found["1 times"] < 1e-5 and found["2 times"] < 1e-5
        assert "Expected to mark a variable ready only once" in found["twice"]
        assert "(a." in found["twice"] and "static_graph=True" in found["twice"]
        assert found["copy"] == [3, 2, 3, 2]
        assert found["views"] == [6, 4, 6, 4]
        assert found["shared"]


def lost(rank, size):
    import os
    import time

    torch, dist = _begin()
    ddp = torch.nn.parallel.DistributedDataParallel(_halves(torch), bucket_cap_mb=1e-5)
    loss = ddp(torch.ones(2, 3))["out"][0].sum()
    if rank == 1:
        os._exit(9)
    found, begun = [], time.monotonic()
    for again in (loss.backward, lambda: _backward(torch, ddp, rank)):
        try:
            again()
        except RuntimeError as error:
            found.append(str(error))
    return found, time.monotonic() - begun


def test_a_rank_that_dies_in_backward_is_named():
    zero, one = ranks.run(lost, 2)
    assert (zero.code, one.code) == (0, 9), zero.output
    (first, second), seconds = zero.value
    assert "rank 1" in first and "all_reduce" in first
    assert "rank 1" in second
    assert seconds < 10


def differs(rank, size):
    torch, dist = _begin()
    found = []
    for name, kind in ("bucket_cap", TypeError), ("bucket_cap_mb_list", NotImplementedError):
        with pytest.raises(kind, match=name):
            torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 1), **{name: 1})
    for width, bias in (1 + (rank == 1), True), (1, rank == 0):
        try:
            torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, width, bias=bias))
        except (RuntimeError, ValueError) as error:
            found.append(str(error))
        dist.barrier()
    ddp = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2).requires_grad_(True))
    torch.nn.init.constant_(ddp.module.weight, rank)
    again = torch.nn.parallel.DistributedDataParallel(ddp.module, batched_grad_copy=True)
    found.append(again.module.weight.sum().item())
    dist.destroy_process_group()
    return found


def test_ranks_with_other_models_are_named():
    for shape, count, begun in ranks.values(differs, 3):
        assert "params[0]" in shape
        assert "f32[1, 3] weight on ranks 0, 2; f32[2, 3] weight on rank 1" in shape
        assert "f32[1] bias on rank 0; no such parameter on ranks 1, 2" in count
        assert begun == 0  # rank 0's values


def buffers(rank, size):
    torch, dist = _begin()
    nn = torch.nn
    ddp = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)))
    norm, found = ddp.module[1], []
    torch.manual_seed(rank)
    for _ in range(2):
        ddp(torch.randn(8, 4)).sum().backward()
        found.append(norm.running_mean.tolist())
        norm.running_mean = norm.running_mean.clone()  # programs may put another in its place
    with torch.no_grad():
        ddp.eval()
        norm.running_mean.fill_(rank)
        ddp(torch.randn(8, 4))
    found.append(norm.running_mean.tolist())
    off = nn.parallel.DistributedDataParallel(ddp.module.train(), broadcast_buffers=False)
    norm.running_mean.fill_(rank)
    off(torch.randn(8, 4))
    found.append(norm.num_batches_tracked.item())
    dist.destroy_process_group()
    return found


def test_buffers_are_those_of_rank_zero_before_each_forward():
    zero, one = ranks.values(buffers, 2)
    assert zero[0] != one[0], "after the forward each has its own"
    assert zero[2] == one[2] == [0, 0, 0, 0]
    assert zero[3] == one[3] == 3


def uneven(rank, size):
    torch, dist = _begin()
    found = {}
    for name, options, more in (
        ("mean over all", {}, {}),
        ("mean over those that are left", {"divide_by_initial_world_size": False}, {}),
        ("unused", {}, {"find_unused_parameters": True}),
        ("static", {}, {"static_graph": True, "bucket_cap_mb": 1e-5}),
    ):
        torch.manual_seed(0)
        norm = torch.nn.BatchNorm1d(1, affine=False)
        layer = torch.nn.Sequential(torch.nn.Linear(1, 1, bias=False), norm)
        norm.eval()
        ddp = torch.nn.parallel.DistributedDataParallel(layer, **more)
        torch.nn.init.constant_(layer[0].weight, 1.0)
        optimizer = torch.optim.SGD(ddp.parameters(), lr=1.0)
        with ddp.join(**options):
            for _ in range(2 + 3 * rank):
                with torch.no_grad():
                    ddp(torch.ones(1, 1))  # as who validates; ranks that have joined reduce nothing
                optimizer.zero_grad()
                ddp(torch.ones(1, 1)).sum().backward()
                optimizer.step()
        found[name] = layer[0].weight.item()
    try:
        with ddp.join(throw_on_early_termination=True):
            for _ in range(2 + rank):
                ddp(torch.ones(1, 1)).sum().backward()
    except RuntimeError as error:
        found["early"] = str(error)
    dist.destroy_process_group()
    return found


def test_ranks_join_that_have_no_batches_left():
    found = ranks.values(uneven, 2)
    scale = 1 / np.sqrt(1 + 1e-5)
    for one in found:
        assert one["mean over all"] == pytest.approx(1 - scale * (2 + 3 * 0.5), abs=1e-5)
        assert one["mean over those that are left"] == pytest.approx(1 - scale * 5, abs=1e-5)
        assert one["unused"] == one["static"] == one["mean over all"]
    assert found[0]["early"] == "Rank 0 exhausted all inputs."
    assert found[1]["early"].startswith("Detected at least one rank that exhausted inputs")


def hooks(rank, size):
    torch, dist = _begin()
    from flambeau.distributed.algorithms.ddp_comm_hooks import (
        default_hooks,
        powerSGD_hook,
        quantization_hooks,
    )

    wrap, found, seen = torch.nn.parallel.DistributedDataParallel, {}, []

    def own(state, bucket):
        same = all(g.shape == p.shape for g, p in zip(bucket.gradients(), bucket.parameters()))
        seen.append([state, bucket.index(), bucket.is_last(), same, bucket.buffer().dim()])
        return default_hooks.allreduce_hook(None, bucket)

    def state():
        return powerSGD_hook.PowerSGDState(None, 1, start_powerSGD_iter=2, min_compression_rate=1)

    power, run = state(), powerSGD_hook.powerSGD_hook
    cases = {
        "own": ("state", own),
        "allreduce": (None, default_hooks.allreduce_hook),
        "fp16": (None, default_hooks.fp16_compress_hook),
        "bf16": (None, default_hooks.bf16_compress_hook),
        "wrapped": (None, default_hooks.fp16_compress_wrapper(default_hooks.allreduce_hook)),
        "bytes": (None, quantization_hooks.quantization_pertensor_hook),
        "bytes by rows": (None, quantization_hooks.quantization_perchannel_hook),
        "power": (power, run),
        "power as fp16": (state(), default_hooks.fp16_compress_wrapper(run)),
        "power as bf16": (state(), default_hooks.bf16_compress_wrapper(run)),
    }
    x, y = _data(torch, 12 * size)
    batches = [(a[rank * 12 : rank * 12 + 12], b[rank * 12 : rank * 12 + 12]) for a, b in zip(x, y)]
    for name, case in cases.items():
        ddp = wrap(_model(torch), bucket_cap_mb=0.003)
        ddp.register_comm_hook(*case)
        found[name] = _fit(torch, ddp, batches).tolist()
    layer = torch.nn.Linear(1, 1)
    ddp = wrap(layer)
    ddp.register_comm_hook(None, default_hooks.fp16_compress_hook)
    ddp(torch.full((1, 1), 0.0 if rank else 1e5)).sum().backward()
    found["large"] = layer.weight.grad.item()
    built_in = wrap(_model(torch))
    built_in._register_builtin_comm_hook(dist.BuiltinCommHookType.FP16_COMPRESS)
    found["built in"] = _fit(torch, built_in, batches).tolist()
    found["as bytes"] = _as_bytes(torch, rank, quantization_hooks)
    errors = []
    for bad in (lambda state, bucket: 3), (lambda state, bucket: _raise()):
        ddp = wrap(_model(torch))
        ddp.register_comm_hook(None, bad)
        try:
            ddp(x[0]).sum().backward()
        except (TypeError, ZeroDivisionError) as error:
            errors.append(type(error).__name__ + ": " + str(error))
    try:
        ddp.register_comm_hook(None, own)
    except (RuntimeError, ValueError) as error:
        errors.append(str(error))
    found |= {"errors": errors, "seen": seen[-2:], "stats": power.compression_stats()[0]}
    dist.destroy_process_group()
    return found


def _as_bytes(torch, rank, hooks):
    """What hooks make of numbers for which PyTorch's results are known."""
    found = []
    for hook, *size in (
        (hooks.quantization_pertensor_hook,),
        (hooks.quantization_perchannel_hook,),
        (hooks.quantization_perchannel_hook, 4),
    ):
        bucket = type("Bucket", (), {"values": (torch.arange(10.0) * (rank + 1) - 4) / 3})
        bucket.buffer = lambda self: self.values
        found.append(hook(None, bucket(), *size).wait().tolist())
    return found


BY_BYTES = [-1.3352941274642944, -0.8294117450714111, -0.33529412746429443, 0.16470588743686676,
            0.6705882549285889, 1.1647058725357056, 1.6647058725357056, 2.170588254928589,
            2.664705753326416, 3.164705753326416]  # fmt: skip
BY_FOUR = [-1.3333333730697632, -0.8326797485351562, -0.3346405327320099, 0.16601307690143585,
           0.6666666865348816, 1.1666666269302368, 1.6666667461395264, 2.1666665077209473,
           2.670588254928589, 3.1666665077209473]  # fmt: skip


def _raise():
    raise ZeroDivisionError("of the hook")


def test_communication_hooks():
    import flambeau as torch

    x, y = _data(torch, 24)
    alone = np.array(_fit(torch, _model(torch), zip(x, y)).tolist())
    first, second = ranks.values(hooks, 2)
    errors, seen = first.pop("errors"), first.pop("seen")
    assert first.pop("stats") > 1.5
    assert first.pop("large") == second["large"] == 5e4 - 16  # float16 has no 5e4
    assert first.pop("as bytes") == second["as bytes"] == [BY_BYTES, BY_BYTES, BY_FOUR]
    near = {"own": 1e-6, "allreduce": 1e-6, "bf16": 0.05, "power": 0.5}
    near |= {"power as fp16": 0.5, "power as bf16": 0.5, "bytes": 0.05, "bytes by rows": 0.05}
    for name, weights in first.items():
        assert weights == second[name], name
        error = np.linalg.norm(np.array(weights) - alone) / np.linalg.norm(alone)
        assert error < near.get(name, 0.01), (name, error)
        assert error > 1e-7 or name in ("own", "allreduce"), name
    assert seen == [["state", 0, False, True, 1], ["state", 1, True, True, 1]]
    assert "must return a torch.futures.Future" in errors[0]
    assert errors[1] == "ZeroDivisionError: of the hook"
    assert "can only be called once" in errors[2]


def overlaps(rank, size):
    torch, dist = _begin()

    events, works = [], []

    def note(state, bucket):
        events.append(f"bucket {bucket.index()}")
        bucket.buffer().div_(size)
        work = dist.all_reduce(bucket.buffer(), async_op=True)
        works.append(work)
        return work.get_future()

    model = _model(torch)
    ddp = torch.nn.parallel.DistributedDataParallel(model, bucket_cap_mb=0.001)
    ddp.register_comm_hook(None, note)

    def first_layer(grad):
        works[0].wait()  # its bytes are back while backward has work to do
        events.append("first layer")

    model[0].weight.register_hook(first_layer)
    passes = []
    for _ in range(2):
        works.clear(), events.clear()
        ddp(torch.ones(4, 16)).sum().backward()
        passes.append(list(events))
    dist.destroy_process_group()
    return passes


def test_buckets_are_reduced_while_backward_goes_on():
    for built, rebuilt in ranks.values(overlaps, 2):
        assert built == ["bucket 0", "first layer", "bucket 1"]
        assert rebuilt == ["bucket 0", "first layer", "bucket 1", "bucket 2"]


def synchronized(rank, size):
    torch, dist = _begin()
    nn = torch.nn
    found = {}
    torch.manual_seed(0)
    for name, shape in ("flat", (9, 4)), ("image", (6, 4, 3, 3)):
        x = torch.randn(size * shape[0], *shape[1:]) + 5
        weight = torch.randn_like(x)
        kind = nn.BatchNorm1d if name == "flat" else nn.BatchNorm2d
        torch.nn.init.uniform_((plain := kind(4)).weight)
        model = nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(plain))
        assert isinstance(model[0], nn.SyncBatchNorm)
        mine = slice(0, 2) if rank == 0 else slice(2, len(x))  # uneven
        part = x[mine].clone().requires_grad_()
        for _ in range(2):
            y = model(part)
        (y * weight[mine]).sum().backward()
        once = part.grad.clone()
        (dx,) = torch.autograd.grad((model(part) * weight[mine]).sum(), part, create_graph=True)
        with pytest.raises(RuntimeError, match="differentiate twice"):
            (dx.square().sum() + part.sum()).backward()
        norm = model[0]
        found[name] = [t.tolist() for t in (
            y, once, norm.weight.grad, norm.bias.grad, norm.running_mean, norm.running_var
        )]  # fmt: skip
    dist.destroy_process_group()
    return found


def test_sync_batch_norm_is_batch_norm_of_the_joined_batch():
    import flambeau as torch

    zero, one = ranks.values(synchronized, 2)
    torch.manual_seed(0)
    for name, shape in ("flat", (9, 4)), ("image", (6, 4, 3, 3)):
        x = torch.randn(2 * shape[0], *shape[1:]) + 5
        weight = torch.randn_like(x)
        norm = (torch.nn.BatchNorm1d if name == "flat" else torch.nn.BatchNorm2d)(4)
        torch.nn.init.uniform_(norm.weight)
        x.requires_grad_()
        for _ in range(2):
            y = norm(x)
        (y * weight).sum().backward()
        norm(x)
        joined = [np.concatenate([a, b]) for a, b in zip(zero[name][:2], one[name][:2])]
        summed = [np.add(a, b) for a, b in zip(zero[name][2:4], one[name][2:4])]
        want = (y, x.grad, norm.weight.grad, norm.bias.grad, norm.running_mean, norm.running_var)
        for got, value in zip([*joined, *summed, *zero[name][4:]], want):
            np.testing.assert_allclose(got, value.detach().numpy(), rtol=1e-4, atol=1e-5)
        assert zero[name][4:] == one[name][4:]


def scaled(rank, size):
    torch, dist = _begin()
    ddp = torch.nn.parallel.DistributedDataParallel(_model(torch))
    optimizer = torch.optim.SGD(ddp.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0, growth_interval=2)
    found = []
    for step in range(4):
        optimizer.zero_grad()
        x = torch.ones(2, 16)
        if step == 2 and rank == 1:
            x[0, 0] = float("inf")  # of one rank's batch
        scaler.scale(ddp(x).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        found.append(scaler.get_scale())
    found.append(_digest(torch.cat([p.detach().reshape(-1) for p in ddp.parameters()])))
    dist.destroy_process_group()
    return found


def test_a_scaler_skips_the_same_steps_on_all_ranks():
    zero, one = ranks.values(scaled, 2)
    assert zero == one
    assert zero[:4] == [4, 8, 4, 4]


def samples(rank, size):
    import flambeau as torch

    Sampler = torch.utils.data.distributed.DistributedSampler
    found = []
    for n, drop in (10, False), (10, True), (2, False):
        sampler = Sampler(range(n), size, rank, shuffle=False, drop_last=drop)
        found.append(list(sampler))
    return found


def test_samplers_share_the_data():
    shares = [samples(rank, 3) for rank in range(3)]
    assert [s[0] for s in shares] == [[0, 3, 6, 9], [1, 4, 7, 0], [2, 5, 8, 1]]
    assert [s[1] for s in shares] == [[0, 3, 6], [1, 4, 7], [2, 5, 8]]
    assert [s[2] for s in shares] == [[0], [1], [0]]
