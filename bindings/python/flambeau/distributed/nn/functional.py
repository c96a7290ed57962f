"""Collectives that autograd sees: a gradient flows back to the ranks whose values went in, summed
over those that got them. Every rank must run backward as it ran forward."""

from ..._torch import empty_like, zeros_like
from ...autograd import Function
from .. import _collectives as c
from .._group import get_rank, get_world_size
from .._ops import ReduceOp

__all__ = [
    "all_gather",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "broadcast",
    "gather",
    "reduce",
    "reduce_scatter",
    "scatter",
]
_SUM = ReduceOp.SUM


def broadcast(tensor, src, group=None):
    """Rank `src`'s tensor."""
    return _Broadcast.apply(src, group, tensor)


def gather(tensor, dst=0, group=None):
    """Every rank's tensor, on rank `dst`; zeros on the others."""
    return _Gather.apply(dst, group, tensor)


def scatter(tensors, src=0, group=None):
    """This rank's entry of rank `src`'s list; the others give lists of the same shapes."""
    return _Scatter.apply(src, group, *tensors)


def reduce(tensor, dst, op=_SUM, group=None):
    """The reduction on rank `dst`; what others get has no meaning."""
    return _Reduce.apply(dst, op, group, tensor)


def reduce_scatter(output, input_list, op=_SUM, group=None):
    """The reduction of this rank's entry of all lists, in `output`."""
    return _ReduceScatter.apply(op, group, output, *input_list)


def all_gather(tensor, group=None):
    """Every rank's tensor, as a tuple."""
    return _AllGather.apply(group, tensor)


def _all_gather_base(output_tensor, input_tensor, group=None):
    """Every rank's tensor, one after the other, in `output_tensor`."""
    return _AllGatherBase.apply(output_tensor, input_tensor, group)


def all_to_all(output_tensor_list, input_tensor_list, group=None):
    """What each rank has for this one, as a tuple in the tensors of `output_tensor_list`."""
    return _AllToAll.apply(group, output_tensor_list, *input_tensor_list)


def all_to_all_single(output, input, output_split_sizes=None, input_split_sizes=None, group=None):
    """The rows that each rank has for this one, in `output`."""
    return _AllToAllSingle.apply(group, output, output_split_sizes, input_split_sizes, input)


def all_reduce(tensor, op=_SUM, group=None):
    """The reduction over all ranks, in a tensor of its own."""
    return _AllReduce.apply(op, group, tensor)


class _Broadcast(Function):
    @staticmethod
    def forward(ctx, src, group, tensor):
        ctx.src, ctx.group = src, group
        tensor = tensor.clone()
        c.broadcast(tensor, src, group)
        return tensor

    @staticmethod
    def backward(ctx, grad):
        total = _Reduce.apply(ctx.src, _SUM, ctx.group, grad)
        return None, None, total if get_rank() == ctx.src else zeros_like(total)


class _Gather(Function):
    @staticmethod
    def forward(ctx, dst, group, tensor):
        ctx.dst, ctx.group = dst, group
        tensor = tensor.contiguous()
        parts = [zeros_like(tensor) for _ in range(get_world_size(group))]
        c.gather(tensor, parts if get_rank() == dst else None, dst, group)
        return tuple(parts)

    @staticmethod
    def backward(ctx, *grads):
        return None, None, _Scatter.apply(ctx.dst, ctx.group, *grads)


class _Scatter(Function):
    @staticmethod
    def forward(ctx, src, group, *tensors):
        ctx.src, ctx.group = src, group
        output = zeros_like(tensors[0])
        c.scatter(output, list(tensors) if get_rank() == src else None, src, group)
        return output

    @staticmethod
    def backward(ctx, grad):
        return None, None, *_Gather.apply(ctx.src, ctx.group, grad)


class _Reduce(Function):
    @staticmethod
    def forward(ctx, dst, op, group, tensor):
        ctx.dst, ctx.group = dst, group
        tensor = tensor.clone()
        c.reduce(tensor, dst, op, group)
        return tensor

    @staticmethod
    def backward(ctx, grad):
        return None, None, None, _Broadcast.apply(ctx.dst, ctx.group, grad)


class _ReduceScatter(Function):
    @staticmethod
    def forward(ctx, op, group, output, *inputs):
        ctx.group = group
        made = empty_like(output)
        c.reduce_scatter(made, [t.contiguous() for t in inputs], op, group)
        return made

    @staticmethod
    def backward(ctx, grad):
        return None, None, None, *_AllGather.apply(ctx.group, grad)


class _AllGather(Function):
    @staticmethod
    def forward(ctx, group, tensor):
        ctx.group = group
        tensor = tensor.contiguous()
        parts = [empty_like(tensor) for _ in range(get_world_size(group))]
        c.all_gather(parts, tensor, group)
        return tuple(parts)

    @staticmethod
    def backward(ctx, *grads):
        return None, _ReduceScatter.apply(_SUM, ctx.group, grads[0], *grads)


class _AllGatherBase(Function):
    @staticmethod
    def forward(ctx, output, input, group):
        ctx.group, ctx.shape = group, input.shape
        made = empty_like(output)
        c.all_gather_into_tensor(made, input.contiguous(), group)
        return made

    @staticmethod
    def backward(ctx, grad):
        size = get_world_size(ctx.group)
        parts = [part.reshape(ctx.shape) for part in grad.reshape(size, -1)]
        return None, _ReduceScatter.apply(_SUM, ctx.group, parts[0], *parts), None


class _AllToAll(Function):
    @staticmethod
    def forward(ctx, group, outputs, *inputs):
        ctx.group, ctx.like = group, [t.detach() for t in inputs]
        parts = [empty_like(t) for t in outputs]
        c.all_to_all(parts, [t.contiguous() for t in inputs], group)
        return tuple(parts)

    @staticmethod
    def backward(ctx, *grads):
        into = [empty_like(t) for t in ctx.like]
        return None, None, *_AllToAll.apply(ctx.group, into, *grads)


class _AllToAllSingle(Function):
    @staticmethod
    def forward(ctx, group, output, output_splits, input_splits, input):
        ctx.group, ctx.splits, ctx.like = group, (output_splits, input_splits), input.detach()
        made = empty_like(output)
        c.all_to_all_single(made, input.contiguous(), output_splits, input_splits, group)
        return made

    @staticmethod
    def backward(ctx, grad):
        came, went = ctx.splits
        into = empty_like(ctx.like)
        back = _AllToAllSingle.apply(ctx.group, into, went, came, grad.contiguous())
        return None, None, None, None, back


class _AllReduce(Function):
    @staticmethod
    def forward(ctx, op, group, tensor):
        ctx.group, ctx.op = group, op
        tensor = tensor.clone()
        c.all_reduce(tensor, op, group)
        return tensor

    @staticmethod
    def backward(ctx, grad):
        return None, None, _AllReduce.apply(ctx.op, ctx.group, grad)
