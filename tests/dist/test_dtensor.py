"""DTensors on two and four ranks: layouts there and back, what acts alike on parts, what is
refused, optimizers and clipping on parts."""

import functools

from tests.dist import ranks


def message(call, *kinds):
    try:
        call()
    except kinds as error:
        return str(error)
    return "nothing was raised"


def close(a, b, by=1e-6):
    return bool(((a - b).abs().max() <= by).item())


def layouts(torch, mesh, size):
    """Every placement of uneven shapes to every other one gives the same whole."""
    from flambeau.distributed.tensor import Replicate, Shard, distribute_tensor

    wrong = []
    for shape in ((5, 3), (1, 4), (4, 6)):
        whole = torch.arange(float(torch.Size(shape).numel())).reshape(shape)
        ways = [[Replicate()], [Shard(0)], [Shard(1)], [Shard(-1)]]
        for a in ways:
            laid = distribute_tensor(whole, mesh, a)
            for b in ways:
                there = laid.redistribute(placements=b)
                back = there.full_tensor()
                if there.shape != whole.shape or not torch.equal(back, whole):
                    wrong.append([list(shape), str(a), str(b)])
    return wrong


def grid(torch, rank):
    """Two dimensions of the mesh, also where both cut one dimension of the tensor."""
    from flambeau.distributed.device_mesh import init_device_mesh
    from flambeau.distributed.tensor import Replicate, Shard, distribute_tensor

    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("a", "b"))
    whole = torch.arange(35.0).reshape(7, 5)
    wrong = []
    one = Shard(0), Shard(1), Replicate()
    ways = [(a, b) for a in one for b in one]
    for a in ways:
        laid = distribute_tensor(whole, mesh, a)
        for b in ways:
            if not torch.equal(laid.redistribute(placements=b).full_tensor(), whole):
                wrong.append([str(a), str(b)])
    parts = distribute_tensor(whole, mesh, (Shard(0), Shard(0))).to_local()
    total = distribute_tensor(whole, mesh, (Shard(0), Shard(1))).norm()
    same = close(total.to_local(), whole.norm(), 1e-4)
    return {"wrong": wrong, "part": parts.tolist(), "norm": same}


def operations(torch, mesh):
    from flambeau.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor

    torch.manual_seed(0)
    x, y = torch.randn(5, 3), torch.randn(5, 3)
    a, b = (distribute_tensor(t, mesh, [Shard(0)]) for t in (x, y))
    half = torch.tensor(0.5)
    checks = {
        "add": (a + b, x + y),
        "function": (torch.add(a, b, alpha=2), torch.add(x, y, alpha=2)),
        "scalars": (1 - a * 2 / 3, 1 - x * 2 / 3),
        "tensor scalar": (a * half, x * half),
        "unary": (torch.exp(a).sqrt().clamp(max=1.5), x.exp().sqrt().clamp(max=1.5)),
        "where": (torch.where(a > b, a, b), torch.where(x > y, x, y)),
        "like": (torch.zeros_like(a) + 1, torch.ones_like(x)),
        "dtype": (a.double(), x.double()),
        "lerp": (a.lerp(b, 0.3), x.lerp(y, 0.3)),
    }
    wrong = [k for k, (got, want) in checks.items() if not close(got.full_tensor(), want)]
    wrong += [k for k, (got, want) in checks.items() if got.shape != want.shape]
    totals = {"sum": (a.sum(), x.sum()), "mean": (a.mean(), x.mean()), "max": (a.max(), x.max()),
              "min": (torch.min(a), x.min()), "norm": (a.norm(), x.norm()),
              "one": (a.norm(1), x.norm(1)), "inf": (a.norm(float("inf")), x.norm(float("inf"))),
              "vector": (torch.linalg.vector_norm(a), torch.linalg.vector_norm(x))}  # fmt: skip
    wrong += [k for k, (got, want) in totals.items() if abs(got.item() - want.item()) > 1e-5]
    c = a.clone()
    same = c.mul_(2).add_(b) is c
    c += 1
    wrong += [] if close(c.full_tensor(), x * 2 + y + 1) and same else ["in place"]
    wrong += [] if close(a.full_tensor(), x) else ["written"]
    wrong += [] if torch.equal(a, a.clone()) and not torch.equal(a, b) else ["equal"]
    wrong += [] if (a == a).all().item() and not (a > 1e9).any().item() else ["all"]
    r = distribute_tensor(x, mesh, [Replicate()])
    wrong += [] if close((r @ r.t()).to_local(), x @ x.t(), 1e-5) else ["whole"]
    part = DTensor.from_local(torch.ones(2), mesh, [Partial()])
    terms = (part * 3 + part).full_tensor().tolist()
    wrong += [] if terms == [4.0 * mesh.size()] * 2 else ["terms"]
    rank, two = mesh.get_local_rank(), distribute_tensor(torch.tensor(2.0), mesh)
    most = DTensor.from_local(torch.tensor([-1.0 - rank]), mesh, [Partial("max")])
    wrong += [] if most.clone().full_tensor().item() == -1.0 else ["largest"]
    wrong += [] if (part / two).full_tensor().tolist() == [mesh.size() / 2] * 2 else ["divided"]
    refusals = [
        message(call, NotImplementedError)
        for call in (
            lambda: a.unfold(0, 2, 1), lambda: torch.kron(a, b), lambda: torch.unique(a),
            lambda: a.tolist(), lambda: a.numpy(), lambda: a.item(), lambda: torch.nonzero(a),
            lambda: torch.nn.init.normal_(part), lambda: a.untyped_storage(),
            lambda: part.uniform_(), lambda: a.t_(), lambda: a.data_ptr(),
            lambda: torch.add(a, b, out=a), lambda: part.add_(1), lambda: most.mul_(2),
            lambda: most.div_(-1.0), lambda: part.mul_(part),
            lambda: torch.nn.functional.dropout(a, inplace=True), lambda: torch.where(a > 0),
            lambda: torch.put(a, torch.tensor(0), two),
        )
    ]  # fmt: skip
    refusals.append(message(lambda: a + x, TypeError))
    refusals.append(message(lambda: torch.nn.functional.linear(x, b), TypeError))
    return {"wrong": wrong, "refusals": refusals, "terms": terms_of(torch, mesh)}


def terms_of(torch, mesh):
    """What is no sum of what is done to the terms is done to the total."""
    from flambeau.distributed.tensor import DTensor, Partial

    n = mesh.size()
    part = DTensor.from_local(torch.ones(2), mesh, [Partial()])
    most = DTensor.from_local(torch.tensor([-1.0 - mesh.get_local_rank()]), mesh, [Partial("max")])
    found = {
        "plus": (part + 1, n + 1.0), "square": (part * part, n * n), "under": (2 / part, 2.0 / n),
        "floor": (torch.div(part, 4, rounding_mode="floor"), n // 4), "ratio": (part / part, 1.0),
        "negative": (most.neg(), 1.0), "times": (most * -2, 2.0), "twice": (most + most, -2.0),
        "sum": (part.sum(), 2.0 * n), "item": (part.sum() * 2, 4.0 * n),
    }  # fmt: skip
    wrong = [k for k, (got, want) in found.items() if not (got.full_tensor() == want).all()]
    return wrong + ([] if part.sum().item() == 2.0 * n else ["item()"])


def without_elements(torch, mesh):
    """The largest and the least where only the first rank has an element, of every kind."""
    from flambeau.distributed.tensor import Shard, distribute_tensor

    found = {}
    for kind in ("float32", "int64", "int32", "uint8", "bool"):
        one = distribute_tensor(torch.tensor([1], dtype=getattr(torch, kind)), mesh, [Shard(0)])
        found[kind] = [value.item() for value in (one.max(), one.min(), one.amax(), one.amin())]
    return found


def norms_in_half(torch, mesh):
    """Norms whose powers and counts float16 cannot hold, and clipping by one; ranks without
    elements count for nothing."""
    from flambeau.distributed.tensor import Shard, distribute_tensor

    laid = distribute_tensor(torch.full((100,), 40.0).half(), mesh, [Shard(0)])
    more = distribute_tensor(torch.ones(4101).half(), mesh, [Shard(0)])
    few = distribute_tensor(torch.full((1,), 0.5).half(), mesh, [Shard(0)])
    zero = distribute_tensor(torch.zeros(4).half(), mesh, [Shard(0)])
    p = torch.nn.Parameter(laid.clone())
    p.grad = laid.clone()
    before = torch.nn.utils.clip_grad_norm_([p], 1.0)
    norms = [laid.norm(), laid.norm(3), laid.norm(-1), more.norm(0), few.norm(), few.norm(-2)]
    norms += [zero.norm(), before]
    bad = distribute_tensor(torch.tensor([1.0, float("inf"), 2.0, 3.0]), mesh, [Shard(0)])
    nan = distribute_tensor(torch.tensor([1.0, float("nan"), 2.0, 3.0]), mesh, [Shard(0)])
    return {
        "dtypes": all(norm.dtype is torch.float16 for norm in norms),
        "norms": [round(norm.item(), 2) for norm in norms],
        "clipped": p.grad.full_tensor().unique().tolist(),
        "not finite": [bad.norm().item() == float("inf"), nan.norm().isnan().item()],
    }


def gradients(torch, mesh):
    """Through from_local, redistribute and to_local."""
    from flambeau.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor

    torch.manual_seed(0)
    w = torch.nn.Parameter(torch.randn(5, 3))
    x = torch.randn(2, 3)
    laid = torch.nn.Parameter(distribute_tensor(w.detach(), mesh, [Shard(0)]))
    (x @ laid.full_tensor().t()).square().sum().backward()
    (x @ w.t()).square().sum().backward()
    local = torch.ones(2, requires_grad=True)
    twice = DTensor.from_local(local, mesh, [Shard(0)]) * 2
    twice.redistribute(placements=[Replicate()]).to_local().sum().backward()
    return [
        isinstance(laid, torch.nn.Parameter) and isinstance(laid, DTensor) and laid.is_leaf,
        isinstance(laid.grad, DTensor) and laid.grad.shape == w.shape and laid.grad is laid.grad,
        close(laid.grad.full_tensor(), w.grad, 1e-5),
        local.grad.tolist() == [2.0, 2.0],
    ]


def optimizers(torch, mesh):
    """Twenty steps with clipping on parts and on the whole; state lies as the parameter."""
    from flambeau.distributed.tensor import DTensor, Shard, distribute_tensor

    wrong = []
    momentum, rate = {"lr": 0.1, "momentum": 0.9}, {"lr": 0.1}
    kinds = ("SGD", momentum), ("AdamW", rate), ("RMSprop", {}), ("Adagrad", {}), ("Adafactor", {})
    for kind, options in (*kinds, ("Muon", rate)):
        torch.manual_seed(0)
        whole = [torch.nn.Parameter(torch.randn(n, 3)) for n in (5, 1)]
        parts = [torch.nn.Parameter(distribute_tensor(p.detach(), mesh, [Shard(0)])) for p in whole]
        made = [getattr(torch.optim, kind)(ps, **options) for ps in (whole, parts)]
        for step in range(20):
            for ps, optimizer in zip((whole, parts), made):
                optimizer.zero_grad()
                wholes = [p.full_tensor() for p in ps] if ps is parts else ps
                loss = sum((p - step).square().sum() for p in wholes)
                loss.backward()
                total = torch.nn.utils.clip_grad_norm_(ps, 5.0)
                if ps is parts:
                    wrong += [] if abs(total.full_tensor().item() - before) < 1e-4 else ["norm"]
                before = total.item()
                optimizer.step()
        pairs = list(zip(whole, parts))
        wrong += [] if all(close(b.full_tensor(), a, 1e-5) for a, b in pairs) else [kind]
        state = made[1].state_dict()["state"][0]
        lies = [k for k, v in state.items() if k != "step" and not isinstance(v, DTensor)]
        wrong += [kind + k for k in lies]
        again = getattr(torch.optim, kind)(parts, **options)
        again.load_state_dict(made[1].state_dict())
        again.step()
    return wrong


def on_each_rank(rank, size):
    import flambeau as torch
    import flambeau.distributed as dist
    from flambeau.distributed.device_mesh import init_device_mesh
    from flambeau.distributed.tensor import DTensor, Shard, distribute_tensor
    from flambeau.distributed.tensor._utils import compute_local_shape_and_global_offset

    mesh = init_device_mesh("cpu", (size,))
    laid = distribute_tensor(torch.full((5, 2), float(rank)), mesh, [Shard(0)])
    uneven = torch.ones(3 if rank == 0 else 2, 2) if size == 2 else torch.ones(5, 2)

    def of_uneven():
        return DTensor.from_local(uneven, mesh, [Shard(0)], shape=(5, 2))

    found = {
        "layouts": layouts(torch, mesh, size),
        "operations": operations(torch, mesh),
        "gradients": gradients(torch, mesh),
        "empty": without_elements(torch, mesh),
        "half": norms_in_half(torch, mesh),
        "optimizers": optimizers(torch, mesh),
        "grid": grid(torch, rank) if size == 4 else None,
        "rank 0's": laid.full_tensor().sum().item(),
        "local": list(laid.to_local().shape),
        "where": [list(v) for v in compute_local_shape_and_global_offset((5, 2), mesh, [Shard(0)])],
        "shown": repr(laid).replace("\n", "")[-53:],
        "uneven": message(of_uneven, ValueError),
    }
    dist.destroy_process_group()
    return found


@functools.cache
def found(size):
    return ranks.values(on_each_rank, size, timeout=90)


def test_layouts():
    for rank, one in enumerate(found(2)):
        assert one["layouts"] == [] and one["rank 0's"] == 0.0
        assert one["local"] == [[3, 2], [2, 2]][rank] and "nothing" in one["uneven"]
        assert one["where"] == [[[3, 2], [0, 0]], [[2, 2], [3, 0]]][rank]
        assert one["shown"].endswith("'cpu', stride=(1,)), placements=(Shard(dim=0),))")


def test_placements_in_words():
    from flambeau.distributed.tensor import Partial, Replicate, Shard
    from flambeau.distributed.tensor.placement_types import _StridedShard

    placed = Shard(1), Replicate(), Partial("avg"), _StridedShard(0, split_factor=2)
    whole = "(Shard(dim=1), Replicate(), Partial(avg), _StridedShard(dim=0, sf=2))"
    assert str(placed) == whole and [*map(str, placed)] == ["S(1)", "R", "P(avg)", "_S(0, 2)"]


def test_four_ranks_and_two_dimensions():
    pieces = [[0, 1], [2, 3], [4, 5], [6]]
    for rank, one in enumerate(found(4)):
        assert one["layouts"] == [] and one["operations"]["wrong"] == []
        assert one["operations"]["terms"] == []
        assert one["grid"]["wrong"] == [] and one["grid"]["norm"]
        assert [int(row[0]) // 5 for row in one["grid"]["part"]] == pieces[rank]
        assert one["where"][0] == [[2, 2], [2, 2], [1, 2], [0, 2]][rank]
        assert "this rank has" in one["uneven"]


def test_operations_on_parts():
    for one in found(2):
        assert one["operations"]["wrong"] == [] and one["operations"]["terms"] == []


def test_ranks_without_elements():
    for one in found(2) + found(4):
        assert set(map(tuple, one["empty"].values())) == {(1, 1, 1, 1)}, one["empty"]


def test_norms_in_half():
    for one in found(2):
        assert one["half"]["dtypes"] and one["half"]["not finite"] == [True, True]
        assert one["half"]["norms"] == [400.0, 185.62, 0.4, 4100.0, 0.5, 0.5, 0.0, 400.0]
        (clipped,) = one["half"]["clipped"]
        assert abs(clipped - 0.1) < 1e-3


def test_what_parts_cannot_say_is_refused():
    *unsupported, mixed, other = found(2)[0]["operations"]["refusals"]
    for i, text in enumerate(unsupported):
        assert "of a DTensor is unsupported" in text and "full_tensor()" in text, (i, text)
    assert "mixed torch.Tensor and DTensor" in mixed and "mixed torch.Tensor and DTensor" in other


def test_gradients_and_optimizers():
    for one in found(2):
        assert one["gradients"] == [True] * 4
        assert one["optimizers"] == []
