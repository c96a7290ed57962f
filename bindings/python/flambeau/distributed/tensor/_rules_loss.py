"""Rules of losses. A mean over rows that the ranks share is a sum of terms over the whole count;
where classes are cut, the logits stay parts, and the ranks agree on each row's maximum and sum."""

from ..._torch import no_grad, where
from .. import _collectives as c
from .._ops import ReduceOp
from .._placements import Partial, Replicate
from ._dtensor import DTensor, made, refused
from ._elementwise import labels_in
from ._layout import Layout
from ._plan import Plan, carried_out, layout_of
from ._redistribute import redistributed

# Of losses that compare each element with its target: their arguments in torch's order.
_ELEMENTWISE = {
    "mse_loss": "size_average reduce reduction weight",
    "l1_loss": "size_average reduce reduction weight",
    "smooth_l1_loss": "size_average reduce reduction beta",
    "huber_loss": "reduction delta weight",
    "soft_margin_loss": "size_average reduce reduction",
    "binary_cross_entropy": "weight size_average reduce reduction",
    "binary_cross_entropy_with_logits": "weight size_average reduce reduction pos_weight",
    "kl_div": "size_average reduce reduction log_target",
}
_WEIGHTED = "binary_cross_entropy binary_cross_entropy_with_logits".split()


def elementwise_loss(func, input, target, *args, **kwargs):
    """A mean is that of all elements, or with `batchmean` of all rows."""
    name = func.__name__
    options = dict(zip(_ELEMENTWISE[name].split(), args)) | kwargs
    if tuple(input.shape) != tuple(target.shape):
        raise refused(f"{name} of tensors of two shapes")
    if any(options.pop(k, None) is not None for k in ("size_average", "reduce")):
        raise refused(f"{name} with size_average or reduce, which reduction says,")
    weights = {k: options.pop(k, None) for k in ("weight", "pos_weight")}
    weights = {k: w for k, w in weights.items() if w is not None}
    if weights and name not in _WEIGHTED:
        raise refused(f"{name} with a weight")
    reduction, shape = options.pop("reduction", "mean"), tuple(input.shape)
    _check_reduction(reduction, *["batchmean"] * (name == "kl_div"))
    count = input.shape[0] if reduction == "batchmean" and shape else input.numel()

    def run(ps, _):
        given = options | dict(zip(weights, ps[2:]))
        if reduction in ("none", "sum"):
            return func(*ps[:2], reduction=reduction, **given)
        own = ps[0].numel()
        if reduction == "mean" and own:  # in shares, so that half types do not overflow
            return func(*ps[:2], **given) * (own / count)
        return func(*ps[:2], reduction="sum", **given) / max(count, 1)

    tensors = [input, target, *weights.values()]
    each = [labels_in(t, shape) for t in tensors]
    out = each[0] if reduction == "none" else ()
    return carried_out(Plan(name, tensors, each, out, run, reduces="sum"))


def cross_entropy(func, input, target, weight=None, size_average=None, ignore_index=-100,
                  reduce=None, reduction="mean", label_smoothing=0.0):  # fmt: skip
    options = {"ignore_index": ignore_index, "label_smoothing": label_smoothing}
    _check_former("cross_entropy", size_average, reduce)
    _check_reduction(reduction)
    indices = not target.is_floating_point()
    classes = 1 if input.ndim > 1 else 0
    if indices and weight is None and not label_smoothing and _cut_at(input, classes):
        return _of_cut_classes(input, target, classes, ignore_index, reduction)
    return _of_rows(func, input, target, weight, reduction, options, indices)


def nll_loss(func, input, target, weight=None, size_average=None, ignore_index=-100, reduce=None,
             reduction="mean"):  # fmt: skip
    _check_former("nll_loss", size_average, reduce)
    _check_reduction(reduction)
    return _of_rows(func, input, target, weight, reduction, {"ignore_index": ignore_index}, True)


def _check_reduction(reduction, *more):
    if reduction not in ("none", "mean", "sum", *more):
        raise ValueError(f"{reduction} is not a valid value for reduction")


def _check_former(name, size_average, reduce):
    if size_average is not None or reduce is not None:
        raise refused(f"{name} with size_average or reduce, which reduction says,")


def _of_rows(func, input, target, weight, reduction, options, indices):
    """Each rank has all classes of some of the rows."""
    classes = 1 if input.ndim > 1 else 0
    labels = tuple(None if d == classes else d for d in range(input.ndim))
    rows = tuple(d for d in labels if d is not None)
    tensors = [input, target] + ([] if weight is None else [weight])
    each = [labels, rows if indices else labels] + ([] if weight is None else [(None,)])
    mesh = next(t for t in tensors if isinstance(t, DTensor)).device_mesh
    total = _count(target, weight, options["ignore_index"], mesh) if indices else None

    def run(ps, _):
        if reduction != "mean":
            return func(*ps, reduction=reduction, **options)
        summed = func(*ps, reduction="sum", **options)
        count = total if indices else input.numel() / input.shape[classes]
        return summed / count

    out = rows if reduction == "none" else ()
    return carried_out(Plan(func.__name__, tensors, each, out, run, reduces="sum"))


def _cut_at(input, d):
    return isinstance(input, DTensor) and any(p.is_shard(d) for p in input.placements)


@no_grad()
def _count(target, weight, ignored, mesh):
    """What the sum is divided by: how many rows count, or the sum of their weights."""
    local = target._local_tensor if isinstance(target, DTensor) else target
    if isinstance(target, DTensor) and target._layout.partial:
        raise refused("cross_entropy of a target that is terms of a reduction (Partial)")
    counted = local != ignored
    if weight is None:
        own = counted.sum().float()
    else:
        whole = weight.full_tensor() if isinstance(weight, DTensor) else weight
        picked = whole[where(counted, local, 0).reshape(-1)]
        own = (picked * counted.reshape(-1)).sum()
    for i, placement in enumerate(layout_of(target, mesh).placements):
        if placement.is_shard() and mesh.get_coordinate() is not None:
            c.all_reduce(own, ReduceOp.SUM, mesh.get_group(i))
    return own


def _of_cut_classes(input, target, d, ignored, reduction):
    """Each rank has some of the classes of all rows."""
    mesh = input.device_mesh
    keeps = tuple(p if p.is_shard(d) else Replicate() for p in input.placements)
    layout = input._layout.placed(keeps)
    logits = redistributed(input._local_tensor, input._layout, keeps)
    logits = logits.float() if logits.itemsize < 4 else logits
    whole = (Replicate(),) * mesh.ndim
    at = target
    if isinstance(target, DTensor):
        at = redistributed(target._local_tensor, target._layout, whole)
    rows = tuple(Partial() if p.is_shard(d) else p for p in keeps)

    def joined(part):
        return redistributed(part, Layout(mesh, rows, tuple(at.shape)), whole)

    size, first = logits.shape[d], layout.local()[1][d]
    with no_grad():
        most = logits.detach().amax(d, keepdim=True) if size else _nothing(at.unsqueeze(d), logits)
        for i, placement in enumerate(keeps):
            if placement.is_shard(d):
                c.all_reduce(most, ReduceOp.MAX, mesh.get_group(i))
    shifted = logits - most
    counted = at != ignored
    inside = counted & (at >= first) & (at < first + size)
    if size:
        picked = shifted.gather(d, where(inside, at - first, 0).unsqueeze(d)).squeeze(d)
    else:
        picked = shifted.sum(d)
    picked = where(inside, picked, 0.0)
    losses = joined(shifted.exp().sum(d)).log() - joined(picked)
    losses = where(counted, losses, 0.0)
    if reduction == "mean":
        losses = losses.sum() / counted.sum()
    elif reduction == "sum":
        losses = losses.sum()
    return made(losses.to(input.dtype), Layout(mesh, whole, tuple(losses.shape)))


def _nothing(like, logits):
    return logits.new_full(tuple(like.shape), float("-inf"))


RULES = dict.fromkeys(_ELEMENTWISE, elementwise_loss)
RULES |= {"cross_entropy": cross_entropy, "nll_loss": nll_loss}
