"""Complex tensors between ranks: collectives move and add pairs of reals, what would order or
multiply them is refused before anything is sent, and DTensors see them as parts and back."""

from tests.dist import ranks


def tensors(torch, kind, rank):
    """Numbers of this rank, in no order of memory that would be a whole piece."""
    rows = torch.arange(12.0).reshape(4, 3) + 10 * rank
    return torch.complex(rows, -2 * rows - 1).to(kind).t().contiguous().t()


def collectives(rank, size):
    import flambeau as torch

    torch.distributed.init_process_group("gloo")
    found = []
    for kind in (torch.complex64, torch.complex128):
        found += of_kind(torch, torch.distributed, rank, size, kind)
    torch.distributed.destroy_process_group()
    return found


def of_kind(torch, dist, rank, size, kind):
    every = [tensors(torch, kind, r) for r in range(size)]
    x, total = every[rank].clone(), sum(every)

    dist.all_reduce(x)
    assert x.dtype is kind and torch.equal(x, total)
    work = dist.all_reduce(x, dist.ReduceOp.AVG, async_op=True)
    work.wait()
    assert torch.equal(x, total)
    part = every[rank].clone()
    dist.all_reduce(part[:, 1:])
    assert torch.equal(part[:, 1:], total[:, 1:]) and torch.equal(part[:, 0], every[rank][:, 0])
    dist.reduce(y := every[rank].clone(), 1)
    assert rank != 1 or torch.equal(y, total)

    parts = [torch.empty_like(x) for _ in range(size)]
    dist.all_gather(parts, every[rank])
    flat = torch.empty(4 * size, 3, dtype=kind)
    dist.all_gather_into_tensor(flat, every[rank].contiguous())
    assert all(map(torch.equal, parts, every)) and torch.equal(flat, torch.cat(every))
    dist.broadcast(y := every[rank].clone(), 1)
    assert torch.equal(y, every[1])
    got = [torch.empty_like(x) for _ in range(size)] if rank == 0 else None
    dist.gather(every[rank], got)
    assert rank or all(map(torch.equal, got, every))
    dist.scatter(y, every if rank == 0 else None)
    assert torch.equal(y, every[rank])

    rows = 4 // size
    out = torch.empty(rows, 3, dtype=kind)
    dist.reduce_scatter_tensor(out, every[rank].contiguous())
    assert torch.equal(out, total[rows * rank : rows * (rank + 1)])
    dist.reduce_scatter(out, [t.contiguous() for t in every[rank].split(rows)])
    assert torch.equal(out, total[rows * rank : rows * (rank + 1)])

    went = [3, 1] if rank == 0 else [2, 2]
    came = [3, 2] if rank == 0 else [1, 2]
    mixed = torch.empty(sum(came), 3, dtype=kind)
    dist.all_to_all_single(mixed, every[rank].contiguous(), came, went)
    wanted = [every[0][:3], every[1][:2]] if rank == 0 else [every[0][3:], every[1][2:]]
    assert torch.equal(mixed, torch.cat(wanted))

    if rank == 0:
        dist.send(every[0], 1)
    else:
        dist.recv(y, 0)
        assert torch.equal(y, every[0])
    return refused(torch, dist, every[rank])


def refused(torch, dist, x):
    """What says no, and leaves the tensor as it was."""
    found = []
    for name in ("MAX", "MIN", "PRODUCT", "BAND"):
        y = x.clone()
        try:
            dist.all_reduce(y, getattr(dist.ReduceOp, name))
            found.append(f"{name} of complex numbers was taken")
        except (RuntimeError, TypeError, ValueError) as error:
            known = not dist.distributed_c10d.supports_complex(getattr(dist.ReduceOp, name))
            if "complex" not in str(error) or not torch.equal(y, x) or not known:
                found.append(f"{name}: {error}")
    dist.all_reduce(x.clone())  # all ranks go on
    return found


def test_collectives():
    assert ranks.values(collectives, 2, timeout=30) == [[], []]


def rotated(torch, x, turns):
    """Positions as the tensor-parallel examples rotate them."""
    pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * turns).flatten(-2)


def on_meshes(rank, size):
    import flambeau as torch
    from flambeau.distributed.device_mesh import init_device_mesh
    from flambeau.distributed.tensor import Replicate, Shard, distribute_tensor

    mesh = init_device_mesh("cpu", (size,))
    torch.manual_seed(0)
    x, found = torch.randn(5, 4, 6), []
    turns = torch.polar(torch.ones(4, 3), torch.randn(4, 3))
    whole = x.clone().requires_grad_()
    want = rotated(torch, whole, turns)
    want.square().sum().mul(0.5).add((want * x).sum()).backward()
    for place in (Shard(0), Shard(1), Replicate(), Shard(2)):
        laid = distribute_tensor(x, mesh, [place], src_data_rank=None).requires_grad_()
        fixed = distribute_tensor(turns, mesh, [Replicate()], src_data_rank=None)
        got = rotated(torch, laid, fixed)
        other = distribute_tensor(x, mesh, [place], src_data_rank=None)
        (got.square().sum() * 0.5 + (got * other).sum()).full_tensor().backward()
        if not torch.allclose(got.full_tensor(), want, atol=1e-5):
            found.append(f"values of {place}")
        if not torch.allclose(laid.grad.full_tensor(), whole.grad, atol=1e-5):
            found.append(f"gradients of {place}")
    torch.distributed.destroy_process_group()
    return found


def test_parts_of_dtensors():
    assert ranks.values(on_meshes, 2, timeout=30) == [[], []]
