"""DistributedDataParallel in mixed precision: what every rank computes with copies of the
parameters in another dtype, and what the reduction of its gradients in one of their own leaves, is
what one process computes by hand, to the last bit."""

import pytest

from tests.dist import ranks

WAYS = {
    "half": ("bfloat16", None, None),
    "sums in float": ("bfloat16", "float32", None),
    "sums in half": (None, "float16", None),
    "buffers": ("bfloat16", "bfloat16", "bfloat16"),
}


def net_of(torch):
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 6))
    net.register_buffer("scale", torch.full((6,), 1 / 3))
    net.register_buffer("steps", torch.zeros((), dtype=torch.int64))
    net[2].bias.requires_grad_(False)
    return net


def by_hand(torch, net, x, size, low, reduced):
    """One step of all ranks, in this process."""
    parameters, sums = dict(net.named_parameters()), {}
    for rank in range(size):
        copies = {n: p.detach().to(low).requires_grad_(p.requires_grad) for n, p in
                  parameters.items()}  # fmt: skip
        torch.func.functional_call(net, copies, x[rank].to(low)).float().square().sum().backward()
        for name, copy in copies.items():
            if copy.requires_grad:
                grad = copy.grad.to(reduced)
                sums[name] = sums[name] + grad if name in sums else grad
    for name, total in sums.items():
        parameters[name].grad = (total / size).float()


def train(rank, size):
    import flambeau as torch
    import flambeau.distributed as dist
    from flambeau.distributed._composable.replicate import replicate
    from flambeau.nn.parallel import DistributedDataParallel
    from flambeau.nn.parallel.distributed import _MixedPrecision

    dist.init_process_group("gloo")
    found = {}
    for name, words in WAYS.items():
        dtypes = [word and getattr(torch, word) for word in words]
        low, reduced, kept = dtypes[0] or torch.float32, dtypes[1] or dtypes[0], dtypes[2]
        net, ref, seen = net_of(torch), net_of(torch), []
        net[0].register_forward_hook(
            lambda module, given, out, seen=seen: seen.append(
                [given[0].dtype is low, module.weight.dtype is low, out.dtype is low]
            )
        )
        ddp = DistributedDataParallel(net, mixed_precision=_MixedPrecision(*dtypes))
        optimizers = [torch.optim.SGD(m.parameters(), lr=0.1) for m in (net, ref)]
        for step in range(3):
            x = torch.randn(size, 5, 6, generator=torch.Generator().manual_seed(step))
            ddp.zero_grad()
            ddp(x[rank]).float().square().sum().backward()
            by_hand(torch, ref, x, size, low, reduced)
            for optimizer in optimizers:
                optimizer.step()
        assert seen == [[True, True, True]] * 3
        assert all(p.dtype is torch.float32 and p.is_leaf for p in net.parameters())
        assert net.scale.dtype is (kept or torch.float32) and net.steps.dtype is torch.int64
        pairs = zip(net.parameters(), ref.parameters(), strict=True)
        found[name] = [torch.equal(a, b) for a, b in pairs]
    with pytest.raises(RuntimeError, match="hook"):
        ddp.register_comm_hook(None, lambda state, bucket: None)
    with pytest.raises(NotImplementedError, match="DistributedDataParallel takes it"):
        replicate(net_of(torch), mixed_precision=_MixedPrecision())
    dist.destroy_process_group()
    return found


def recompute(rank, size):
    """Gradients of a step whose parts are computed again in backward, beside one without that."""
    import flambeau as torch
    import flambeau.distributed as dist
    from flambeau.nn.parallel.distributed import _MixedPrecision
    from flambeau.utils.checkpoint import checkpoint

    class Net(torch.nn.Module):
        def __init__(self, way):
            super().__init__()
            self.net, self.way = net_of(torch), way

        def forward(self, x):
            first = lambda x: self.net[1](self.net[0](x))
            if self.way is None:
                return self.net[2](first(x))
            if self.way == "nested":
                part = lambda x: checkpoint(first, x, use_reentrant=False)
                return checkpoint(lambda x: self.net[2](part(x)), x, use_reentrant=False)
            again = checkpoint(first, x, use_reentrant=self.way)
            return checkpoint(self.net[2], again, use_reentrant=self.way)

    dist.init_process_group("gloo")
    x, found = torch.randn(5, 6, generator=torch.Generator().manual_seed(rank)), []
    for way in None, False, True, "nested":
        precision = _MixedPrecision(torch.bfloat16)
        ddp = torch.nn.parallel.DistributedDataParallel(Net(way), mixed_precision=precision)
        seen, kept = [], list(ddp.parameters())
        ddp.module.net[0].register_forward_hook(
            lambda module, given, out, seen=seen: seen.append(out.dtype is torch.bfloat16)
        )
        ddp(x.clone().requires_grad_()).float().square().sum().backward()
        assert seen == ([True] if way is None else [True] * (3 if way == "nested" else 2))
        assert all(a is b for a, b in zip(ddp.parameters(), kept, strict=True))
        found.append([p.grad for p in kept if p.requires_grad])
    dist.destroy_process_group()
    return [[torch.equal(a, b) for a, b in zip(found[0], one)] for one in found]


def test_recomputation_has_the_copies():
    for found in ranks.values(recompute, 2):
        assert found == [[True] * 3] * 4


def test_gradients_are_those_of_the_dtypes():
    for found in ranks.values(train, 2):
        assert found == {name: [True] * 4 for name in WAYS}


def complex_numbers(rank, size):
    """The gradient of a complex parameter, whose reduction has no dtype of its own."""
    import flambeau as torch
    import flambeau.distributed as dist
    from flambeau.nn.parallel.distributed import _MixedPrecision

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.turn = torch.nn.Parameter(torch.ones(3, dtype=torch.complex64))

        def forward(self, x):
            return torch.view_as_real(self.turn * (x + 1j * rank))

    dist.init_process_group("gloo")
    precision = _MixedPrecision(reduce_dtype=torch.bfloat16)
    ddp = torch.nn.parallel.DistributedDataParallel(Net(), mixed_precision=precision)
    ddp(torch.arange(3.0)).sum().backward()
    dist.destroy_process_group()
    return torch.view_as_real(ddp.module.turn.grad).tolist()


def test_complex_gradients_keep_both_parts():
    for found in ranks.values(complex_numbers, 2):
        assert found == [[x + 0.5, x - 0.5] for x in range(3)]  # (1 + i) (x - i / 2)
