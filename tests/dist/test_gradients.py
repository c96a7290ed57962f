"""Collectives that autograd sees: the gradient of a sum over all ranks' results is what one process
gets that computes them all."""

from tests.dist import ranks


def functional(torch, dist, rank, size, device):
    f = torch.distributed.nn.functional
    own = [torch.arange(3.0, device=device) + r for r in range(size)]
    weights = [torch.tensor([1.0, 2.0, 3.0], device=device) * (r + 1) for r in range(size)]
    total = sum(weights)

    def gradient(use):
        x = own[rank].clone().requires_grad_()
        (use(x) * weights[rank]).sum().backward()
        return x.grad

    assert torch.equal(gradient(f.all_reduce), total)
    got = gradient(lambda x: f.broadcast(x, 1))
    assert torch.equal(got, total if rank == 1 else torch.zeros_like(total))
    got = gradient(lambda x: f.reduce(x, 0))
    assert torch.equal(got, weights[0])
    got = gradient(lambda x: sum(k * t for k, t in enumerate(f.all_gather(x))))
    assert torch.equal(got, rank * total)
    parts = [own[rank].clone().requires_grad_() for _ in range(size)]
    (f.reduce_scatter(torch.empty(3, device=device), parts) * weights[rank]).sum().backward()
    assert all(torch.equal(p.grad, weights[r]) for r, p in enumerate(parts))
    parts = [own[rank].clone().requires_grad_() for _ in range(size)]
    into = [torch.empty(3, device=device) for _ in range(size)]
    sum((t * weights[rank]).sum() for t in f.all_to_all(into, parts)).backward()
    assert all(torch.equal(p.grad, weights[r]) for r, p in enumerate(parts))
    x = own[rank].clone().requires_grad_()
    gathered = f.gather(x, dst=1)
    sum((r + 1) * t.sum() for r, t in enumerate(gathered)).backward()
    assert torch.equal(x.grad, torch.full_like(x, rank + 1.0))
    parts = [own[r].clone().requires_grad_() for r in range(size)]
    (f.scatter(parts, src=0) * weights[rank]).sum().backward()
    assert all(torch.equal(p.grad, weights[r] if rank == 0 else 0 * total)
               for r, p in enumerate(parts))  # fmt: skip
    splits = [[1, 2], [3, 1]]
    came = [s[rank] for s in splits]
    x = torch.arange(float(sum(splits[rank])), device=device).requires_grad_()
    got = f.all_to_all_single(torch.empty(sum(came), device=device), x, came, splits[rank])
    (got * (rank + 1)).sum().backward()
    assert x.grad.tolist() == [1.0] * splits[rank][0] + [2.0] * splits[rank][1]


def functions(torch, dist, rank, size, device):
    import flambeau.distributed._functional_collectives as fc

    whole, g = torch.arange(8.0, device=device).reshape(4, 2), dist.group.WORLD
    x = (whole * (rank + 1)).requires_grad_()
    total = whole * 3
    y = fc.wait_tensor(fc.all_reduce(x, "sum", g))
    assert torch.equal(y, total) and torch.equal(x, whole * (rank + 1))
    y.sum().backward()
    assert x.grad.tolist() == [[2, 2]] * 4
    for dim in 0, 1:
        joined = fc.all_gather_tensor(x, dim, [0, 1])
        assert torch.equal(joined, torch.cat([whole, 2 * whole], dim))
        part = fc.reduce_scatter_tensor(x, "avg", dim, g.group_name)
        assert torch.equal(part, (total / 2).chunk(2, dim)[rank])
    x.grad = None
    (fc.all_gather_tensor_autograd(x, 1, g) * (rank + 1)).sum().backward()
    assert x.grad.tolist() == [[3, 3]] * 4
    assert torch.equal(fc.broadcast(x, 1, g), 2 * whole)
    assert torch.equal(fc.permute_tensor(x, [1, 0], g), whole * (2 - rank))
    came, went = [[1, 1], [3, 3]][rank], [1, 3]
    y = fc.all_to_all_single(x, came, went, g)
    assert torch.equal(y, torch.cat([whole[:1], 2 * whole[:1]] if rank == 0
                                    else [whole[1:], 2 * whole[1:]]))  # fmt: skip
    both = fc.all_reduce_coalesced([x, x], "sum", g)
    assert torch.equal(both[1], total)


def everything(rank, size, device):
    import flambeau as torch

    dist = torch.distributed
    dist.init_process_group()
    functional(torch, dist, rank, size, device)
    functions(torch, dist, rank, size, device)


def test_gradients():
    ranks.values(everything, 2, "cpu")
    ranks.values(everything, 2, "cuda", FLAMBEAU_SIM="devices=2,memory=64MiB,as=cuda")
