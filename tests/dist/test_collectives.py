"""Every collective on three ranks with Gloo and on two with simulated GPUs, whose backend is nccl,
against what follows from all ranks' inputs: dtypes, reductions, layouts, waiting now and later."""

import functools
import operator
import time

import pytest

from tests.dist import ranks

SIM = "devices=2,memory=256MiB,as=cuda"
DTYPES = "float32 float64 float16 bfloat16 int64 int32 int16 int8 uint8 bool".split()
REDUCTIONS = {
    "SUM": operator.add,
    "PRODUCT": operator.mul,
    "MIN": min,
    "MAX": max,
    "BAND": operator.and_,
    "BOR": operator.or_,
    "BXOR": operator.xor,
}


def begin(rank, size, device):
    """The package, and what makes rank r's tensor of a kind: small numbers, which are exact."""
    import flambeau as torch

    dist = torch.distributed
    dist.init_process_group("nccl" if device == "cuda" else "gloo")
    if device == "cuda":
        torch.cuda.set_device(rank % torch.cuda.device_count())

    def of(r, kind="float32", n=6):
        numbers = [(3 * r + i) % 5 for i in range(n)]
        return torch.tensor(numbers, dtype=getattr(torch, kind), device=device)

    return torch, dist, of


def reduced(op, rows, kind):
    """Numbers of all ranks as one, in the order of the ranks."""
    rows = [[bool(v) for v in row] for row in rows] if kind == "bool" else rows
    if op == "AVG":
        return [sum(column) / len(rows) for column in zip(*rows)]
    return [functools.reduce(REDUCTIONS[op], column) for column in zip(*rows)]


def close(found, wanted, kind):
    limit = {"float16": 1e-3, "bfloat16": 1e-2}.get(kind, 1e-6)
    return all(abs(float(a) - float(b)) <= limit * max(1, abs(b)) for a, b in zip(found, wanted))


def reductions(rank, size, device, dist, torch, of):
    for kind in DTYPES:
        rows = [of(r, kind).tolist() for r in range(size)]
        real = "float" in kind
        for op in [o for o in REDUCTIONS if not (real and o[0] == "B")] + ["AVG"] * real:
            wanted = reduced(op, rows, kind)
            wanted = [bool(v) for v in wanted] if kind == "bool" else wanted
            x, by = of(rank, kind), getattr(dist.ReduceOp, op)
            dist.all_reduce(x, op=by)
            assert x.dtype is getattr(torch, kind), (kind, op)
            assert close(x.tolist(), wanted, kind), (kind, op, x)
            y = of(rank, kind)
            work = dist.reduce(y, 1, by, async_op=True)
            assert work.wait() and work.is_success() and work.exception() is None
            assert rank != 1 or torch.equal(x, y), (kind, op, y)
            part = x.new_empty(2)
            many = torch.cat([of(rank, kind, 2) for _ in range(size)])
            dist.reduce_scatter_tensor(part, many, by)
            rest = x.new_empty(2)
            dist.reduce_scatter(rest, [of(rank, kind, 2) for _ in range(size)], op=by)
            assert close(part.tolist(), wanted[:2], kind) and torch.equal(part, rest), (kind, op)
    x = of(rank)
    dist.all_reduce(x, dist._make_nccl_premul_sum(0.5))
    wanted = [0.5 * v for v in reduced("SUM", [of(r).tolist() for r in range(size)], "float32")]
    assert x.tolist() == wanted
    for kind in "int32", "float32":
        with pytest.raises((TypeError, RuntimeError), match="mean needs|by bits needs"):
            by = dist.ReduceOp.AVG if kind == "int32" else dist.ReduceOp.BAND
            dist.all_reduce(of(rank, kind), by)


def moves(rank, size, device, dist, torch, of):
    everyone = range(size)
    for kind in DTYPES:
        x = of(rank, kind)
        parts = [torch.empty_like(x) for _ in everyone]
        dist.all_gather(parts, x)
        flat, stacked = x.new_empty(size * 6), x.new_empty(size, 6)
        work = dist.all_gather_into_tensor(flat, x, async_op=True)
        dist.all_gather_into_tensor(stacked, x)
        work.wait()
        for r in everyone:
            assert torch.equal(parts[r], of(r, kind)) and torch.equal(stacked[r], of(r, kind))
        assert torch.equal(flat, torch.cat(parts))
        y = of(rank, kind)
        dist.broadcast(y, 1)
        assert torch.equal(y, of(1, kind))
        got = [torch.empty_like(x) for _ in everyone] if rank == 1 else None
        dist.gather(x, got, dst=1)
        assert rank != 1 or all(torch.equal(got[r], of(r, kind)) for r in everyone)
        z = torch.empty_like(x)
        dist.scatter(z, [of(r + 1, kind) for r in everyone] if rank == 0 else None)
        assert torch.equal(z, of(rank + 1, kind))
        swapped = [torch.empty_like(x) for _ in everyone]
        dist.all_to_all(swapped, [of(rank + 10 * r, kind) for r in everyone])
        assert all(torch.equal(swapped[r], of(r + 10 * rank, kind)) for r in everyone)
        rows = torch.cat([of(rank + 10 * r, kind) for r in everyone])
        single = torch.empty_like(rows)
        dist.all_to_all_single(single, rows)
        assert torch.equal(single, torch.cat(swapped))
    dist.barrier()
    dist.barrier(async_op=True).wait()
    dist.monitored_barrier()


def layouts(rank, size, device, dist, torch, of):
    """Strided tensors, tensors without dimensions or elements, and uneven splits."""
    rows = [torch.arange(12.0).reshape(3, 4) * (r + 1) for r in range(size)]
    wanted = sum(rows)
    x = rows[rank].clone().to(device).t()
    dist.all_reduce(x)
    assert torch.equal(x.t().cpu(), wanted)
    part = rows[rank].clone().to(device)
    dist.all_reduce(part[:, 1:3])
    assert torch.equal(part[:, 1:3].cpu(), wanted[:, 1:3])
    assert torch.equal(part[:, ::3].cpu(), rows[rank][:, ::3])
    outs = [torch.empty(4, 3, device=device).t() for _ in range(size)]
    dist.all_gather(outs, rows[rank].to(device))
    assert all(torch.equal(outs[r].cpu(), rows[r]) for r in range(size))
    _parts_apart(rank, size, device, dist, torch)
    scalar, empty = torch.tensor(2.0, device=device), torch.empty(0, 3, device=device)
    dist.all_reduce(scalar)
    dist.all_reduce(empty)
    assert scalar.item() == 2 * size and empty.shape == (0, 3)
    went = [rank + r for r in range(size)]  # rows for rank r
    came = [r + rank for r in range(size)]
    sent = torch.arange(2.0 * sum(went), device=device).reshape(-1, 2) + 100 * rank
    got = torch.empty(sum(came), 2, device=device)
    dist.all_to_all_single(got, sent, came, went)
    at = 0
    for r in range(size):
        first = 2 * sum(r + k for k in range(rank)) + 100 * r
        block = torch.arange(2.0 * came[r]).reshape(-1, 2) + first
        assert torch.equal(got[at : at + came[r]].cpu(), block)
        at += came[r]
    parameter = torch.ones(2, device=device, requires_grad=True)
    dist.all_reduce(parameter)
    assert parameter.tolist() == [size, size] and parameter.requires_grad


def _parts_apart(rank, size, device, dist, torch):
    """Lists that some ranks have in one piece and others not, and that hold what is read."""
    def of(r, n=5):
        return torch.arange(float(n), device=device) + 10 * r

    def room():
        made = torch.empty(5, 2, device=device).t() if rank else torch.empty(2, 5, device=device)
        return list(made)

    pair = room() + [torch.empty(5, device=device) for _ in range(size - 2)]
    dist.all_gather(pair, of(rank))
    assert all(torch.equal(pair[r], of(r)) for r in range(size))
    x, outs = of(rank), [torch.empty(5, device=device) for _ in range(size)]
    outs[(rank + 1) % size] = x
    dist.all_gather(outs, x)
    assert all(torch.equal(outs[r], of(r)) for r in range(size))
    outs = [torch.empty(5, device=device) for _ in range(size)]
    outs[1] = x = of(rank)
    dist.gather(x, outs if rank == 1 else None, dst=1)
    assert rank != 1 or all(torch.equal(outs[r], of(r)) for r in range(size))
    given = [of(r) for r in range(size)]
    out = given[1] if rank == 0 else torch.empty(5, device=device)
    dist.scatter(out, given if rank == 0 else None)
    assert torch.equal(out, of(rank))
    given = [of(r + rank) for r in range(size)]
    out = given[(rank + 1) % size]
    dist.reduce_scatter(out, given)
    assert torch.equal(out, sum(of(rank + r) for r in range(size)))
    given = [of(10 * rank + r, r + rank) for r in range(size)]
    outs = [torch.empty(r + rank, device=device) for r in range(size)]
    dist.all_to_all(outs, given)
    assert all(torch.equal(outs[r], of(10 * r + rank, r + rank)) for r in range(size))
    turned = [of(10 * rank + r) for r in range(size)]
    dist.all_to_all(turned[1:] + turned[:1], turned)
    found = turned[1:] + turned[:1]
    assert all(torch.equal(found[r], of(10 * r + rank)) for r in range(size))


def later(rank, size, device, dist, torch, of):
    """Works, futures, blocks that wait at their end, and transfers between two."""
    several = [torch.full((1000,), float(i + rank), device=device) for i in range(20)]
    works = [dist.all_reduce(t, async_op=True) for t in several]
    futures = [work.get_future() for work in works[::5]]
    doubled = futures[-1].then(lambda f: f.value()[0] * 2)
    base = size * (size - 1) / 2
    assert doubled.wait()[0].item() == 2 * (15 * size + base)
    for i, work in enumerate(works):
        work.wait()
        assert work.is_completed() and work.is_success() and isinstance(work, dist.Work)
        assert torch.equal(several[i].cpu(), torch.full((1000,), i * size + base))
    assert futures[0].done() and futures[0].wait()[0] is several[0]
    a, b = of(0), of(rank + 1)
    with dist.distributed_c10d._coalescing_manager(async_ops=True) as together:
        dist.all_reduce(a)
        dist.broadcast(b, 0)
    together.wait()
    assert torch.equal(a, size * of(0)) and torch.equal(b, of(1))
    lists = [[torch.empty(6, device=device), torch.empty(2, device=device)] for _ in range(size)]
    with pytest.warns(FutureWarning, match="will be deprecated"):
        dist.all_gather_coalesced(lists, [of(rank), of(rank, n=2)])
    assert all(torch.equal(lists[r][1], of(r, n=2)) for r in range(size))
    both = [of(rank), of(rank, n=3)]
    with pytest.warns(FutureWarning, match="will be deprecated"):
        dist.all_reduce_coalesced(both, async_op=True).wait()
    assert torch.equal(both[1], sum(of(r, n=3) for r in range(size)))
    after, before = (rank + 1) % size, (rank - 1) % size
    got = torch.empty(6, device=device)
    pair = [dist.P2POp(dist.isend, of(rank), after), dist.P2POp(dist.irecv, got, before)]
    for work in dist.batch_isend_irecv(pair):
        work.wait()
    assert torch.equal(got, of(before))
    if rank == 0:
        dist.send(of(7), 1, tag=3)
        dist.isend(of(8), 1, tag=4).wait()
    elif rank == 1:
        assert dist.recv(got, tag=3) == 0 and torch.equal(got, of(7))
        work = dist.irecv(got, 0, tag=4)
        work.wait()
        assert work.source_rank() == 0 and torch.equal(got, of(8))


def sums(rank, size, device, dist, torch, of):
    """The same bits on all ranks and each time, whoever comes first."""
    found = []
    for late in range(size):
        torch.manual_seed(rank)
        time.sleep(0.05 * (rank == late))
        for n in 1, 5000, 300_000:
            x, part = torch.randn(n, device=device), torch.empty(n, device=device)
            dist.all_reduce(x)
            dist.reduce_scatter_tensor(part, torch.randn(n * size, device=device))
            alike = [torch.empty_like(x) for _ in range(size)]
            dist.all_gather(alike, x)
            assert all(torch.equal(x, other) for other in alike)
            found.append([x.double().sum().item().hex(), part.double().sum().item().hex()])
    assert found[:3] == found[3:6] == found[-3:]


def everything(rank, size, device):
    torch, dist, of = begin(rank, size, device)
    for check in reductions, moves, layouts, later, sums:
        check(rank, size, device, dist, torch, of)
    dist.destroy_process_group()


@pytest.mark.parametrize(("device", "size"), [("cpu", 3), ("cuda", 2)])
def test_collectives(device, size):
    more = {"FLAMBEAU_SIM": SIM} if device == "cuda" else {}
    ranks.values(everything, size, device, **more)
