"""From one layout to another: pieces are gathered along the dimensions of the mesh that change,
from the last to the first, then cut again, from the first to the last.

Its gradient goes the same way back; where a part was a term of a sum, every rank gets the whole
gradient."""

from ..._torch import empty, zeros_like
from ...autograd import Function, no_grad
from .. import _collectives as c
from .._ops import ReduceOp
from ._layout import Replicate, piece


def moved(local, source, placements):
    """This rank's part under other placements; a new tensor, or the same where none changes."""
    changing = [i for i, (a, b) in enumerate(zip(source.placements, placements)) if a != b]
    if not changing or source.mesh.get_coordinate() is None:
        return local
    cut = {p.dim for i in changing for p in (source.placements[i], placements[i]) if p.is_shard()}
    first = changing[0]  # what later dimensions cut of these is gathered before, and cut anew
    again = [
        i
        for i in range(first, source.mesh.ndim)
        if i in changing or any(p.is_shard() and p.dim in cut for p in (source.placements[i],))
    ]
    now = list(source.placements)
    for i in reversed(again):
        local = _gathered(local, source.placed(tuple(now)), i)
        now[i] = Replicate()
    for i in again:
        local = _cut(local, source.mesh, i, placements[i])
    return local


def _gathered(local, layout, i):
    """Whole along dimension i of the mesh."""
    placement, group = layout.placements[i], layout.mesh.get_group(i)
    if placement.is_replicate():
        return local
    if placement.is_partial():
        total = local.clone()
        c.all_reduce(total, ReduceOp[placement.reduce_op.upper()], group)
        return total
    d, ranks, rows = placement.dim, layout.mesh.size(i), layout.rows_before(i)
    most = -(-rows // ranks)
    part = local.movedim(d, 0)
    rest = part.shape[1:]
    padded = empty(most, *rest, dtype=local.dtype, device=local.device)
    padded[: part.shape[0]].copy_(part)
    padded[part.shape[0] :].zero_()
    joined = empty(most * ranks, *rest, dtype=local.dtype, device=local.device)
    c.all_gather_into_tensor(joined, padded, group)
    return joined[:rows].movedim(0, d).contiguous()


def _cut(local, mesh, i, placement):
    """This rank's part along dimension i of the mesh of what all of its ranks have."""
    rank = mesh.get_local_rank(i)
    if placement.is_shard():
        first, rows = piece(local.shape[placement.dim], mesh.size(i), rank)
        return local.narrow(placement.dim, first, rows).clone()
    if placement.is_partial() and placement.reduce_op == "sum" and rank:
        return zeros_like(local)  # the first rank has the sum
    return local


def without_terms(placements):
    """Placements of the gradient of a tensor that lies so."""
    return tuple(Replicate() if p.is_partial() else p for p in placements)


class _Moved(Function):
    @staticmethod
    def forward(ctx, local, source, placements):
        ctx.layouts = source, placements
        found = moved(local.detach(), source, placements)
        return found.clone() if found.data_ptr() == local.data_ptr() else found

    @staticmethod
    def backward(ctx, grad):
        source, placements = ctx.layouts
        given = source.placed(without_terms(placements))
        return moved(grad.contiguous(), given, without_terms(source.placements)), None, None


def redistributed(local, source, placements):
    """The same, which autograd records where `local` is recorded."""
    if local.requires_grad:
        return _Moved.apply(local, source, placements)
    with no_grad():
        return moved(local, source, placements)


class _Regraded(Function):
    @staticmethod
    def forward(ctx, local, given, wanted):
        ctx.given, ctx.wanted = given, wanted
        return local.view_as(local)

    @staticmethod
    def backward(ctx, grad):
        return moved(grad.contiguous(), ctx.given, ctx.wanted), None, None


def regraded(local, layout, given, wanted):
    """The part itself; its gradient comes as `given` and goes on as `wanted`."""
    if given == wanted or not local.requires_grad:
        return local
    for placements in (given, wanted):
        if layout.placed(tuple(placements)).local()[0] != tuple(local.shape):
            raise ValueError(
                f"a gradient that lies as {tuple(placements)} has another shape on this rank than "
                f"the part, {list(local.shape)}; grad_placements shard what the placements shard"
            )
    return _Regraded.apply(local, layout.placed(tuple(given)), tuple(wanted))
