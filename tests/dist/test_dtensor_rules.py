"""Operations on DTensors beside the same on the whole tensor: values and gradients, however the
operands lie, where pieces are alike large, uneven or missing; and how some results lie."""

import functools
import operator

from tests.dist import ranks

# On x of [n, m], y of [n, m] and w of [m, n], which lie as they may.
SHAPED = {
    "t": lambda x, y, w: x.t(),
    "T": lambda x, y, w: x.T,
    "mT": lambda x, y, w: x.mT,
    "transpose": lambda x, y, w: x.transpose(-1, 0),
    "permute": lambda x, y, w: x.permute(1, 0) * 2,
    "movedim": lambda x, y, w: x.movedim(0, 1),
    "reshape": lambda x, y, w: x.reshape(-1),
    "view": lambda x, y, w: x.view(x.shape[1], x.shape[0]),
    "view 3": lambda x, y, w: x.view(1, x.shape[0], -1, 1),
    "flatten": lambda x, y, w: (x * y).flatten().square(),
    "unflatten": lambda x, y, w: x.unflatten(1, (-1, 1)),
    "view_as": lambda x, y, w: x.view_as(w),
    "ravel": lambda x, y, w: x.ravel(),
    "squeeze": lambda x, y, w: x.unsqueeze(1).squeeze(),
    "unsqueeze": lambda x, y, w: x.unsqueeze(-1),
    "squeeze 1": lambda x, y, w: x[:, :1].squeeze(1),
    "expand": lambda x, y, w: x[None].expand(2, -1, -1),
    "get": lambda x, y, w: x[0],
    "get column": lambda x, y, w: x[..., 1],
    "get slice": lambda x, y, w: x[:, 1:3],
    "get new": lambda x, y, w: x[:, None] * y,
    "get last": lambda x, y, w: x[-1:, None, 0],
    "select": lambda x, y, w: x.select(1, 1),
    "narrow": lambda x, y, w: x.narrow(1, 1, 2),
    "split": lambda x, y, w: x.split(2, 1)[1],
    "chunk": lambda x, y, w: x.chunk(2, 1)[0] * 3,
    "unbind": lambda x, y, w: x.unbind(1)[2],
    "iter": lambda x, y, w: next(iter(x)),
    "flip": lambda x, y, w: x.flip(1),
    "cat": lambda x, y, w: [x, y],
    "cat 1": lambda x, y, w: [x, y, 1],
    "stack": lambda x, y, w: [x, y, "stack"],
    "repeat": lambda x, y, w: x.repeat(2, 1) * y.repeat(2, 1),
    "repeat new": lambda x, y, w: x.repeat(2, 1, 3),
    "tile": lambda x, y, w: x.tile(2),
    "roll": lambda x, y, w: x.roll(1, 1) * y,
    "roll all": lambda x, y, w: x.roll(3),
    "tensor_split": lambda x, y, w: x.tensor_split(2, 1)[1],
    "repeat_interleave": lambda x, y, w: x.repeat_interleave(2, 1),
    "repeat_interleave all": lambda x, y, w: x.repeat_interleave(2),
}
PRODUCTS = {
    "matmul": lambda x, y, w: x @ w,
    "mm": lambda x, y, w: x.mm(y.t()),
    "left": lambda x, y, w: w.matmul(x),
    "vector": lambda x, y, w: x.matmul(y[0]),
    "mv": lambda x, y, w: x.mv(y.sum(0)),
    "row": lambda x, y, w: y[:, 0] @ x,
    "bmm": lambda x, y, w: x[None].bmm(w[None]),
    "batched": lambda x, y, w: x[:, None] @ w,
    "einsum": lambda x, y, w: ("ij,kj->ik", x, y),
    "einsum sum": lambda x, y, w: ("ij,ij,jk->k", x, y, w),
    "einsum implicit": lambda x, y, w: ("ij,jk", x, w),
}
REDUCED = {
    "sum": lambda x, y, w: x.sum(),
    "sum 0": lambda x, y, w: x.sum(0) ** 2,
    "sum 1": lambda x, y, w: x.sum(dim=1, keepdim=True) * y,
    "sum both": lambda x, y, w: x.sum((0, 1)),
    "axis": lambda x, y, w: x.sum(axis=0, keepdims=True),
    "mean": lambda x, y, w: x.mean() * y,
    "mean 0": lambda x, y, w: x.mean(0),
    "mean -1": lambda x, y, w: x.mean(-1, keepdim=True),
    "amax": lambda x, y, w: x.amax(0),
    "amin": lambda x, y, w: x.amin(1),
    "max": lambda x, y, w: x.max(),
    "max 1": lambda x, y, w: x.max(1)[0],
    "min 0": lambda x, y, w: x.min(0).values,
    "std": lambda x, y, w: x.std(1),
    "var": lambda x, y, w: x.var(),
    "prod": lambda x, y, w: x.prod(1),
    "logsumexp": lambda x, y, w: x.logsumexp(0),
    "norm": lambda x, y, w: x.norm(),
    "norm 1": lambda x, y, w: x.norm(1) * y,
    "norm 3": lambda x, y, w: x.norm(3),
    "norm inf": lambda x, y, w: x.norm(float("inf")),
    "norm 0": lambda x, y, w: x.norm(dim=0),
    "norm -1": lambda x, y, w: x.norm(2, -1, True) * y,
}
ROWS = {
    "softmax 0": lambda x, y, w: x.softmax(0),
    "softmax 1": lambda x, y, w: x.softmax(dim=1) * y,
    "log_softmax": lambda x, y, w: x.log_softmax(-1),
    "cumsum": lambda x, y, w: x.cumsum(1),
    "sort": lambda x, y, w: x.sort(1)[0],
    "topk": lambda x, y, w: x.topk(2, 1).values,
    "triu": lambda x, y, w: x.triu(),
    "argmax": lambda x, y, w: x.argmax(1) + x.sum(1) * 0,
    "gather": lambda x, y, w: x.gather(1, (y > 0).long()),
    "argsort": lambda x, y, w: x.argsort(1, descending=True) * y,
    "count_nonzero": lambda x, y, w: (x > 0).count_nonzero(1) * y.sum(1),
    "count_nonzero all": lambda x, y, w: (x > 0).count_nonzero() * y,
}
EACH = {
    "other": lambda x, y, w: x * y + w.t(),
    "broadcast": lambda x, y, w: x * y[0] + x[:, :1],
    "square": lambda x, y, w: x * x,
    "scalar": lambda x, y, w: x * y.sum() / y.norm(),
    "where": lambda x, y, w: (x > y).long() * x,
    "dtype": lambda x, y, w: x.double().float() * y,
    "masked": lambda x, y, w: x.masked_fill(y > 0, 2.0),
    "clone": lambda x, y, w: x.clone().mul_(2).add_(y),
    "item": lambda x, y, w: x * (y * y).sum().item(),
}
# Operators of a number and a tensor, and of one that is changed.
OPERATORS = {
    "+": lambda x, y, w: 2 + x,
    "-": lambda x, y, w: 2.5 - x,
    "*": lambda x, y, w: 0.1 * x,
    "/": lambda x, y, w: 2 / (x.abs() + 1),
    "//": lambda x, y, w: 7 // (x.abs() + 1) * y,
    "%": lambda x, y, w: 7 % (x.abs() + 1),
    "**": lambda x, y, w: 2.0**x,
    "&": lambda x, y, w: (6 & x.long()) * y,
    "|": lambda x, y, w: (6 | x.long()) * y,
    "^": lambda x, y, w: (6 ^ x.long()) * y,
    "<<": lambda x, y, w: (6 << x.long().abs()) * y,
    ">>": lambda x, y, w: (64 >> x.long().abs()) * y,
    "left << >>": lambda x, y, w: (x.long().abs() << 2 >> 1) * y,
    "sum of both": lambda x, y, w: sum([x, y]),
    "number of terms": lambda x, y, w: 2 * x.sum() - (3 - y.sum()),
    "+=": lambda x, y, w: changed(x, operator.iadd, y),
    "-=": lambda x, y, w: changed(x, operator.isub, 0.1 * y),
    "*=": lambda x, y, w: changed(x, operator.imul, y),
    "/=": lambda x, y, w: changed(x, operator.itruediv, 3),
    "//=": lambda x, y, w: changed(x.detach(), operator.ifloordiv, 0.5) * y,
    "%=": lambda x, y, w: changed(x, operator.imod, 0.5),
    "**=": lambda x, y, w: changed(x, operator.ipow, 2),
    "float": lambda x, y, w: x * float((y * y).sum().detach()) + int((y > 0).sum()),
    "bool": lambda x, y, w: x * (2 if (y * y).sum() > 0 else 3),
    "put": lambda x, y, w: written(x.detach().clone(), y.detach()) * y,
    "new": lambda x, y, w: x * x.new_full(x.shape, 2.0) + x.new_ones(x.shape[1]),
}


def changed(x, operator, other):
    """A copy that the operator has written into."""
    own = x.clone()
    after = operator(own, other)
    assert after is own
    return own


def written(own, other):
    """What is written into by indices: rows, columns, and by truth values."""
    own[0] = other[0]
    own[:, 1] = 3.0
    own[own > 1] = 0.5
    return own


FAMILIES = (SHAPED, PRODUCTS, REDUCED, ROWS, EACH, OPERATORS)


def functions(torch):
    """Those that are functions of a module."""
    F = torch.nn.functional
    return {
        "linear": lambda x, y, w: F.linear(x, y, y[:, 0]),
        "linear 3": lambda x, y, w: F.linear(x[None], w.t(), w[0]),
        "addmm": lambda x, y, w: torch.addmm(y[:, :1], x, w, beta=2, alpha=3),
        "baddbmm": lambda x, y, w: torch.baddbmm(y[:, 0], x[None], w[None]),
        "outer": lambda x, y, w: torch.outer(x[0], y[1 % y.shape[0]]),
        "dot": lambda x, y, w: torch.dot(x[0], y[0]),
        "layer_norm": lambda x, y, w: F.layer_norm(x, (x.shape[1],), y[0], w[:, 0]),
        "rms_norm": lambda x, y, w: F.rms_norm(x, (x.shape[1],), y[0]),
        "embedding": lambda x, y, w: F.embedding((y[:, :2] > 0).long(), w + x.t()),
        "cross_entropy": lambda x, y, w: F.cross_entropy(x, y.argmax(1)),
        "ignored": lambda x, y, w: F.cross_entropy(x, y.argmax(1), ignore_index=1),
        "ce sum": lambda x, y, w: F.cross_entropy(x, y.argmax(1), reduction="sum"),
        "ce none": lambda x, y, w: F.cross_entropy(x, y.argmax(1), reduction="none"),
        "ce weight": lambda x, y, w: F.cross_entropy(x, y.argmax(1), y[0].abs().detach()),
        "ce probabilities": lambda x, y, w: F.cross_entropy(x, y.softmax(1), label_smoothing=0.1),
        "mse": lambda x, y, w: F.mse_loss(x, y),
        "l1": lambda x, y, w: F.l1_loss(x, w.t(), reduction="sum"),
        "mse none": lambda x, y, w: F.mse_loss(x, y, reduction="none"),
        "smooth_l1": lambda x, y, w: F.smooth_l1_loss(x, y, beta=0.5),
        "huber": lambda x, y, w: F.huber_loss(x, w.t(), "sum", 0.7),
        "soft_margin": lambda x, y, w: F.soft_margin_loss(x, y.sign().detach()),
        "bce": lambda x, y, w: F.binary_cross_entropy(x.sigmoid(), y.sigmoid().detach()),
        "bce logits": lambda x, y, w: F.binary_cross_entropy_with_logits(x, y.sigmoid()),
        "bce weights": lambda x, y, w: F.binary_cross_entropy_with_logits(
            x, y.sigmoid().detach(), w.t().abs().detach(), pos_weight=y[0].abs().detach()
        ),
        "kl": lambda x, y, w: F.kl_div(x, y.softmax(1), reduction="batchmean"),
        "kl sum": lambda x, y, w: F.kl_div(x, y, reduction="sum", log_target=True),
        "nll": lambda x, y, w: F.nll_loss(x.log_softmax(1), y.argmax(1), ignore_index=1),
        "nll weight": lambda x, y, w: F.nll_loss(x, y.argmax(1), y[0].abs().detach()),
        "normalize": lambda x, y, w: F.normalize(x) * y,
        "normalize 0": lambda x, y, w: F.normalize(x, 1.0, dim=0),
        "cosine": lambda x, y, w: F.cosine_similarity(x, y),
        "glu": lambda x, y, w: F.glu(x.repeat(1, 2)) * y,
        "pad": lambda x, y, w: F.pad(x, (1, 2)),
        "pad rows": lambda x, y, w: F.pad(x + y, (0, 0, 1, 0), value=3.0),
        "hstack": lambda x, y, w: torch.hstack([x, y]),
        "vstack": lambda x, y, w: torch.vstack([x, y[0]]),
        "hstack plain": lambda x, y, w: torch.hstack([x.sum(), torch.tensor(1.0)]) * y[0, 0],
        "vstack plain": lambda x, y, w: torch.vstack([torch.tensor(1.0), y.sum()]) * x[0, 0],
        "hstack rows": lambda x, y, w: torch.hstack([x[0], y.sum()]),
        "tile": lambda x, y, w: torch.tile(x, (2, 2)),
        "tile nothing": lambda x, y, w: torch.tile(x, dims=()) * y,
        "reshape to one": lambda x, y, w: x.sum().reshape(shape=()) * y,
        "vector_norm": lambda x, y, w: torch.linalg.vector_norm(x, dim=1),
        "stack": lambda x, y, w: torch.stack([x, y], 1),
        "where": lambda x, y, w: torch.where(y > 0, x, y[:, :1]),
        "maximum": lambda x, y, w: torch.max(x, w.t()),
        "attention": lambda x, y, w: F.scaled_dot_product_attention(
            x[None, :, None], y[None, :, None], w.t()[None, :, None]
        ),
        "parameters": lambda x, y, w: torch.nn.utils.parameters_to_vector([x, w]),
        "penalty": lambda x, y, w: sum(p.norm() ** 2 for p in (x, y, w)),
    }


def called(torch, call, *given):
    """The result of a case; joins and `einsum` say here what to call."""
    found = call(*given)
    if isinstance(found, tuple):
        return torch.einsum(*found)
    if isinstance(found, list):
        *two, kind = found if len(found) == 3 else (*found, 0)
        return torch.stack(two) if kind == "stack" else torch.cat(two, kind)
    return found


def part_of(whole, like):
    """What this rank has of it, where it lies as another tensor; no collective."""
    from flambeau.distributed.tensor import distribute_tensor

    laid = distribute_tensor(whole.detach(), like.device_mesh, like.placements, src_data_rank=None)
    return laid.to_local()


def differing(torch, call, want, by, wholes, parts):
    """What a case has otherwise than the whole, with the gradients of the parts."""
    from flambeau.distributed.tensor import Replicate

    got = called(torch, call, *parts)
    if got.shape != want.shape:
        return [f"shape {list(got.shape)}"]
    if any(p.is_partial() for p in got.placements):
        got = got.redistribute(placements=[Replicate()] * got.device_mesh.ndim)
    near = {"rtol": 1e-4, "atol": 1e-5}
    wrong = []
    if not torch.allclose(got.to_local(), part_of(want, got), **near):
        wrong.append("value")
    (got.to_local() * part_of(by, got)).sum().backward()
    for i, (a, b) in enumerate(zip(parts, wholes)):
        if (a.grad is None) != (b.grad is None):
            wrong.append(f"gradient of {i} missing")
        elif a.grad is not None and not torch.allclose(
            a.grad.to_local(), part_of(b.grad, a), **near
        ):
            wrong.append(f"gradient of {i}")
    return wrong


def differences(torch, mesh, shape, ways):
    """The cases that differ from the whole, by name, placements and what differs."""
    from flambeau.distributed.tensor import distribute_tensor

    n, m = shape
    torch.manual_seed(0)
    values = [torch.randn(n, m), torch.randn(n, m), torch.randn(m, n)]
    cases = [(k, v) for family in (*FAMILIES, functions(torch)) for k, v in family.items()]
    wrong = []
    for name, call in cases:
        wholes = [v.clone().requires_grad_() for v in values]
        want = called(torch, call, *wholes)
        by = torch.arange(float(want.numel())).reshape(want.shape).cos()
        (want * by).sum().backward()
        for way in ways:
            laid = zip(values, way)
            parts = [distribute_tensor(v, mesh, list(p), src_data_rank=None) for v, p in laid]
            parts = [part.requires_grad_() for part in parts]
            try:
                found = differing(torch, call, want, by, wholes, parts)
            except Exception as error:
                found = [repr(error)[:300]]
            wrong += [[name, str(way), what] for what in found]
    return wrong


def on_each_rank(rank, size):
    import flambeau as torch
    import flambeau.distributed as dist
    from flambeau.distributed.device_mesh import init_device_mesh
    from flambeau.distributed.tensor import Replicate, Shard

    R, rows, columns = Replicate(), Shard(0), Shard(1)
    if size == 2:
        mesh = init_device_mesh("cpu", (size,))
        ways = [(rows, rows, rows), (columns, rows, R), (R, columns, columns)]
        ways = [tuple((p,) for p in way) for way in ways]
        shapes = {(4, 6): ways[:2], (5, 3): ways, (1, 3): ways[:1]}
    else:
        mesh = init_device_mesh("cpu", (2, 2))
        shapes = {(4, 6): [((rows, columns), (rows, R), (rows, rows))]}
    found = {str(shape): differences(torch, mesh, shape, each) for shape, each in shapes.items()}
    dist.destroy_process_group()
    return found


@functools.cache
def found(size):
    return ranks.values(on_each_rank, size, timeout=90)


def test_values_and_gradients():
    for one in found(2):
        for shape, wrong in one.items():
            assert wrong == [], (shape, len(wrong), wrong[:60])


def test_two_dimensions_of_the_mesh():
    for one in found(4):
        for shape, wrong in one.items():
            assert wrong == [], (shape, len(wrong), wrong[:60])
