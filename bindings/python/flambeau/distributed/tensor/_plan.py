"""Which placements an operation's operands take, and how its result lies then.

Each dimension of an operand has a label, as in einsum; equal labels go together, and None must be
whole on every rank. Along a dimension of the mesh, operands are cut by one label, or are terms of a
sum, or are whole; what moves the fewest elements is chosen. An operand that is whole where the
others are parts passes through `Shared`, whose backward adds the ranks' gradients."""

from dataclasses import dataclass, field

from ..._tensor import Tensor
from ..._torch import empty, is_grad_enabled, zeros
from ...autograd import Function
from .. import _collectives as c
from .._placements import Partial, Replicate, Shard
from ._dtensor import DTensor, made, refused
from ._layout import Layout
from ._redistribute import redistributed


@dataclass
class Plan:
    """What an operation does to labels. `run(parts, lies)` computes this rank's part, given the
    layout of the result as a function of its whole shape."""

    name: str
    tensors: list
    labels: list  # of each tensor: a label per dimension
    out: tuple  # the result's; of each, where there are several
    run: object
    reduces: str | None = None  # how ranks' results combine that were cut by a label not in `out`
    terms: tuple = ()  # sets of operands that may be terms of a sum together
    moves: bool = False  # elements only change their places: any reduction's terms do
    added: tuple = ()  # operands that are added once, to the sum
    even: frozenset = frozenset()  # labels whose pieces must be alike large
    sizes: dict = field(default_factory=dict)  # of the result's dimensions, where a label's differs
    in_place: bool = False

    def size(self, label):
        for tensor, labels in zip(self.tensors, self.labels):
            if label in labels:
                return tensor.shape[labels.index(label)]
        return 0


class Shared(Function):
    @staticmethod
    def forward(ctx, value, groups):
        ctx.groups = groups
        return value.view_as(value)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.clone()
        for group in ctx.groups:
            c.all_reduce(grad, group=group)
        return grad, None


def layout_of(value, mesh):
    """A plain tensor is whole on every rank."""
    if isinstance(value, DTensor):
        return value._layout
    return Layout(mesh, (Replicate(),) * mesh.ndim, tuple(value.shape))


def _grows(tensors):
    return is_grad_enabled() and any(t.requires_grad for t in tensors)


def _cut_by(plan, label, mesh, i):
    """(operands' placements, the result's) where all are cut by one label; None where they may
    not be."""
    size = plan.size(label)
    if label in plan.even and size % mesh.size():
        return None
    wanted = [Shard(ls.index(label)) if label in ls else Replicate() for ls in plan.labels]
    if label in plan.out:
        return wanted, Shard(plan.out.index(label))
    op = plan.reduces
    if op is None:
        return None
    if op != "sum" and (_grows(plan.tensors) or _last_is_empty(size, mesh)):
        return None
    for k in plan.added:
        wanted[k] = Partial()
    return wanted, Partial(op)


def _last_is_empty(size, mesh):
    """Whether a rank may have no element of so many."""
    for n in mesh.shape:
        size -= -(-size // n) * (n - 1)
        if size <= 0:
            return True
    return False


def _as_terms(plan, now):
    """The same where operands are terms of a reduction."""
    for together in plan.terms:
        kinds = {now[k] for k in together}
        one = next(iter(kinds))
        if len(kinds) > 1 or not one.is_partial():
            continue
        linear = one.is_partial("sum") or one.is_partial("avg") and not _grows(plan.tensors)
        if (linear or plan.moves) and not (plan.added and not one.is_partial("sum")):
            keeps = {*together, *plan.added}
            yield [one if k in keeps else Replicate() for k in range(len(now))], one


def _cost(tensors, now, wanted):
    """How many elements move."""
    return sum(
        t.numel() * (2 if a.is_partial() and b.is_replicate() else 1)
        for t, a, b in zip(tensors, now, wanted)
        if a != b and not a.is_replicate()
    )


def _chosen(plan, layouts, mesh, i):
    """The cheapest way along dimension i of the mesh; the first of those alike."""
    now = [layout.placements[i] for layout in layouts]
    ways = list(_as_terms(plan, now))
    labels = [ls[p.dim] for p, ls in zip(now, plan.labels) if p.is_shard()]
    for label in dict.fromkeys(labels):
        way = None if label is None else _cut_by(plan, label, mesh, i)
        ways += [] if way is None else [way]
    ways.append(([Replicate()] * len(now), Replicate()))
    if plan.in_place:
        ways = [way for way in ways if way[0][0] == now[0] == way[1]]
        if not ways:
            terms = " of terms of a reduction (Partial)" if now[0].is_partial() else " in place"
            raise refused(f"{plan.name}{terms}")
    return min(ways, key=lambda way: _cost(plan.tensors, now, way[0]))


def carried_out(plan):
    """The result of an operation, as DTensors."""
    mesh = next(t for t in plan.tensors if isinstance(t, DTensor)).device_mesh
    layouts = [layout_of(t, mesh) for t in plan.tensors]
    ways = [_chosen(plan, layouts, mesh, i) for i in range(mesh.ndim)]
    out = tuple(way[1] for way in ways)

    def lies(shape):
        return Layout(mesh, out, tuple(shape)).local()[0]

    if mesh.get_coordinate() is None:
        return _outside(plan, mesh, out)
    parts = [_part(plan, k, layouts[k], ways, mesh) for k in range(len(layouts))]
    return _wrapped(plan, plan.run(parts, lies), mesh, out, parts)


def _part(plan, k, layout, ways, mesh):
    """This rank's part of an operand, as it is wanted."""
    value = plan.tensors[k]
    wanted = tuple(way[0][k] for way in ways)
    local = value._local_tensor if isinstance(value, DTensor) else value
    local = redistributed(local, layout, wanted) if wanted != layout.placements else local
    if not (local.requires_grad and is_grad_enabled()):
        return local
    groups = [
        mesh.get_group(i)
        for i, (_, out) in enumerate(ways)
        if wanted[i].is_replicate() and not out.is_replicate()
    ]
    return Shared.apply(local, groups) if groups else local


def _wrapped(plan, found, mesh, out, parts):
    if isinstance(found, Tensor):
        if plan.in_place and found is parts[0]:
            return plan.tensors[0]
        shape = list(found.shape)
        for p in out:
            if p.is_shard():
                shape[p.dim] = plan.sizes.get(p.dim, plan.size(plan.out[p.dim]))
        return made(found, Layout(mesh, out, tuple(shape)))
    if isinstance(found, (tuple, list)):
        each = [_wrapped(plan, one, mesh, out, parts) for one in found]
        return found._make(each) if hasattr(found, "_make") else type(found)(each)
    return found


def _outside(plan, mesh, out):
    """On a rank that the mesh does not have: no elements, of the right shape; of a number 0, which
    every rank may ask for."""
    whole = [empty(tuple(t.shape), dtype=t.dtype, device="meta") for t in plan.tensors]

    def empties(one):
        if isinstance(one, Tensor):
            size = (0,) if one.ndim else ()
            local = zeros(size, dtype=one.dtype, device=plan.tensors[0].device)
            return made(local, Layout(mesh, out, tuple(one.shape)))
        each = list(map(empties, one))
        return one._make(each) if hasattr(one, "_make") else type(one)(each)

    if plan.in_place:
        return plan.tensors[0]
    return empties(plan.run(whole, lambda shape: tuple(shape)))
