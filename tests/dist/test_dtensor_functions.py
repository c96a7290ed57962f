"""What makes DTensors and runs functions on their parts: factories, `implicit_replication`,
`local_map`, placements of gradients, `loss_parallel` behind a head that is cut by rows."""

import functools

from tests.dist import ranks
from tests.dist.sharding import message


def made(torch, mesh):
    """Factories: values, parts, and the numbers that one process draws."""
    import flambeau.distributed.tensor as dt
    from flambeau.distributed.tensor import Partial, Shard

    cut = {"device_mesh": mesh, "placements": [Shard(0)]}
    drawn = []
    for kind in ("rand", "randn"):
        torch.manual_seed(3 if mesh.get_local_rank() == 0 else 4)
        laid = getattr(dt, kind)(5, 3, **cut)
        torch.manual_seed(3)
        drawn.append(torch.equal(laid.full_tensor(), getattr(torch, kind)(5, 3)))
    ones = dt.ones((5, 2), dtype=torch.float64, requires_grad=True, **cut)
    return [
        *drawn,
        dt.zeros(5, 2, **cut).full_tensor().abs().sum().item() == 0.0,
        ones.dtype is torch.float64 and ones.requires_grad and ones.sum().item() == 10.0,
        dt.full((3,), 7, device_mesh=mesh).to_local().tolist() == [7, 7, 7],
        list(dt.empty(5, 2, **cut).to_local().shape) == [3 - mesh.get_local_rank(), 2],
        "unsupported" in message(
            lambda: dt.zeros(2, device_mesh=mesh, placements=[Partial()]), NotImplementedError
        ),
    ]  # fmt: skip


def implicit(torch, mesh):
    from flambeau.distributed.tensor import Shard, distribute_tensor
    from flambeau.distributed.tensor.experimental import implicit_replication

    x = torch.arange(6.0).reshape(2, 3)
    laid, plain = distribute_tensor(x, mesh, [Shard(1)]), torch.ones(2, 3, requires_grad=True)
    with implicit_replication():
        found = laid * plain
        (found.sum()).backward()
    after = message(lambda: laid + plain, TypeError)
    return [
        torch.equal(found.full_tensor(), x),
        torch.equal(plain.grad, x),
        "mixed torch.Tensor and DTensor" in after,
    ]


def mapped(torch, mesh):
    """A product whose terms the ranks have."""
    from flambeau.distributed.tensor import Partial, Replicate, Shard, distribute_tensor
    from flambeau.distributed.tensor.experimental import local_map

    torch.manual_seed(0)
    x, w = torch.randn(3, 4), torch.randn(4, 2)
    a = distribute_tensor(x, mesh, [Shard(1)]).requires_grad_()
    b = distribute_tensor(w, mesh, [Shard(0)])
    rows = distribute_tensor(w, mesh, [Replicate()])
    how = [Shard(1)], [Shard(0)]
    multiply = local_map(torch.mm, out_placements=[Partial()], in_placements=how)
    found = multiply(a, b)
    found.full_tensor().sum().backward()
    moves = local_map(
        lambda one, two: (one @ two, 3), out_placements=([Partial()], None), in_placements=how,
        redistribute_inputs=True,
    )  # fmt: skip
    again, three = moves(a, rows)
    return [
        torch.allclose(found.full_tensor(), x @ w, atol=1e-5) and found.placements == (Partial(),),
        torch.allclose(a.grad.full_tensor(), torch.ones(3, 2) @ w.t(), atol=1e-5),
        torch.allclose(again.full_tensor(), x @ w, atol=1e-5) and three == 3,
        "redistribute_inputs=True" in message(lambda: multiply(a, rows), ValueError),
        "received 1 out_placements but 2" in message(
            lambda: local_map(lambda t: (t, t), ([Shard(1)],))(a), AssertionError
        ),
    ]  # fmt: skip


def graded(torch, mesh):
    """Gradients that lie otherwise than the tensor: each rank's is a term."""
    from flambeau.distributed.tensor import DTensor, Partial, Replicate, Shard

    n, rank = mesh.size(), mesh.get_local_rank()
    x = torch.ones(2, requires_grad=True)
    laid = DTensor.from_local(x, mesh, [Replicate()])
    (laid * 2).to_local(grad_placements=[Partial()]).mul(rank + 1.0).sum().backward()
    y = torch.ones(2, requires_grad=True)
    terms = DTensor.from_local(y, mesh, [Replicate()], grad_placements=[Partial()])
    (terms * 2).to_local().sum().backward()
    z = torch.ones(2, requires_grad=True)
    whole = DTensor.from_local(z, mesh, [Shard(0)]).full_tensor(grad_placements=[Partial()])
    whole.sum().backward()
    said = message(
        lambda: DTensor.from_local(z, mesh, [Shard(0)], grad_placements=[Replicate()]), ValueError
    )
    return [
        x.grad.tolist() == [n * (n + 1.0)] * 2,
        y.grad.tolist() == ([2.0] * 2 if rank == 0 else [0.0] * 2),
        z.grad.tolist() == [float(n)] * 2,
        "another shape" in said,
    ]


def losses(torch, mesh):
    """Logits of a head cut by rows, whose classes are cut, with a bias; beside one process."""
    import flambeau.distributed.tensor.parallel as tp
    from flambeau.distributed.tensor import Shard

    nn, F = torch.nn, torch.nn.functional
    wrong = []
    target = torch.tensor([0, 4, 2, -100, 1, 3])
    for classes in (5, 4, 1):
        at = target.clamp(max=classes - 1)
        for reduction in ("mean", "sum", "none"):
            torch.manual_seed(0)
            net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, classes))
            x = torch.randn(6, 3)
            want = F.cross_entropy(net(x), at, reduction=reduction)
            want.sum().backward()
            grads = [p.grad.clone() for p in net.parameters()]
            net.zero_grad()
            head = tp.RowwiseParallel(output_layouts=Shard(-1), use_local_output=False)
            tp.parallelize_module(net, mesh, {"0": tp.ColwiseParallel(), "2": head})
            with tp.loss_parallel():
                logits = net(x)
                got = F.cross_entropy(logits, at, reduction=reduction)
                got.sum().backward()
            if not torch.allclose(got.full_tensor(), want, atol=1e-5):
                wrong.append([classes, reduction, "value"])
            for i, (p, grad) in enumerate(zip(net.parameters(), grads)):
                if not torch.allclose(p.grad.full_tensor(), grad, atol=1e-5):
                    wrong.append([classes, reduction, i])
            with tp.loss_parallel():
                rows = F.nll_loss(net(x).log_softmax(-1), at, reduction=reduction)
            if not torch.allclose(rows.full_tensor(), want, atol=1e-5):
                wrong.append([classes, reduction, "nll_loss"])
        if logits.placements != (Shard(1),):
            wrong.append([classes, str(logits.placements)])
    return wrong


def reductions(torch, mesh):
    """What is said of reductions that a loss does not have; None where it has it."""
    from flambeau.distributed.tensor import Shard, distribute_tensor

    F = torch.nn.functional
    x = distribute_tensor(torch.rand(4, 3), mesh, [Shard(0)])
    rows = distribute_tensor(torch.tensor([0, 2, 1, 0]), mesh, [Shard(0)])
    return [
        message(lambda: loss(x, other, reduction=reduction), ValueError)
        for loss, other, reduction in (
            (F.mse_loss, x, "batchmean"), (F.kl_div, x, "rows"), (F.cross_entropy, rows, "Mean"),
            (F.nll_loss, rows, "batchmean"),
        )
    ]  # fmt: skip


def sharded(torch, mesh):
    """An L2 penalty, a row and the vector of the parameters of a module under `fully_shard`."""
    from flambeau.distributed.fsdp import fully_shard

    torch.manual_seed(0)
    one = torch.nn.Linear(4, 6)
    torch.manual_seed(0)
    net = fully_shard(torch.nn.Linear(4, 6), mesh=mesh)
    for each in (one, net):
        penalty = sum(p.norm() ** 2 for p in each.parameters())
        penalty.backward()
    vectors = [torch.nn.utils.parameters_to_vector(each.parameters()) for each in (one, net)]
    pairs = zip(one.parameters(), net.parameters())
    dropped = torch.nn.functional.dropout(net.weight.detach(), 0.5).full_tensor()
    kept = dropped != 0
    return [
        all(torch.allclose(b.grad.full_tensor(), a.grad, atol=1e-5) for a, b in pairs),
        torch.equal(net.weight[0].full_tensor(), one.weight[0]),
        torch.equal(vectors[1].full_tensor(), vectors[0]),
        torch.allclose(dropped[kept], one.weight[kept] * 2) and 0 < kept.sum().item() < 24,
    ]


def drawn(torch, mesh):
    """Tensors like one in parts, of the numbers that one process would draw."""
    from flambeau.distributed.tensor import DTensor, Partial, Shard, distribute_tensor

    whole, found = torch.zeros(5, 3), []
    for dim in 0, 1:
        part = distribute_tensor(whole, mesh, [Shard(dim)])
        for like, args, named in (
            (torch.rand_like, (), {}),
            (torch.randn_like, (), {"dtype": torch.float64}),
            (torch.randint_like, (2, 9), {"dtype": torch.int64}),
        ):
            torch.manual_seed(4)
            wanted = like(whole, *args, **named)
            torch.manual_seed(4)
            one = like(part, *args, **named)
            found.append(one.placements == part.placements and one.dtype is wanted.dtype)
            found.append(torch.equal(one.full_tensor(), wanted))
        draws = [torch.randint_like(x, high=9, generator=torch.Generator().manual_seed(3))
                 for x in (whole, part)]  # fmt: skip
        found.append(torch.equal(draws[0], draws[1].full_tensor()))
    terms = torch.rand_like(DTensor.from_local(whole, mesh, [Partial()]), requires_grad=True)
    return [*found, terms.placements[0].is_replicate(), terms.requires_grad]


def on_each_rank(rank, size):
    import flambeau as torch
    import flambeau.distributed as dist
    from flambeau.distributed.device_mesh import init_device_mesh

    mesh = init_device_mesh("cpu", (size,))
    parts = (made, implicit, mapped, graded, losses, reductions, sharded, drawn)
    found = {part.__name__: part(torch, mesh) for part in parts}
    dist.destroy_process_group()
    return found


@functools.cache
def found():
    return ranks.values(on_each_rank, 2, timeout=90)


def test_factories():
    for one in found():
        assert one["made"] == [True] * 7


def test_implicit_replication():
    for one in found():
        assert one["implicit"] == [True] * 3


def test_local_map():
    for one in found():
        assert one["mapped"] == [True] * 5


def test_placements_of_gradients():
    for one in found():
        assert one["graded"] == [True] * 4


def test_loss_parallel():
    for one in found():
        assert one["losses"] == []


def test_reductions_that_a_loss_does_not_have():
    for one in found():
        for said, name in zip(one["reductions"], "batchmean rows Mean batchmean".split()):
            assert said == f"{name} is not a valid value for reduction"


def test_random_numbers_like_a_tensor_in_parts():
    for one in found():
        assert one["drawn"] == [True] * 16


def test_parameters_in_parts():
    for one in found():
        assert one["sharded"] == [True] * 4
