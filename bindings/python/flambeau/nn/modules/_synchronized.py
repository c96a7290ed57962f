"""Batch normalisation over the batches of all ranks. Each sends what its own comes to, the mean and
the squared deviations from it, so that no digits are lost in a difference of large sums; backward
sends two sums by channel."""

from ... import distributed as dist
from ..._torch import bfloat16, cat, float16, float32, full, is_grad_enabled
from ...autograd.function import Function, once_differentiable


def shares(process_group):
    """Whether there is another rank to share statistics with."""
    return dist.is_initialized() and dist.get_world_size(process_group) > 1


def _wide(x):
    """What half types are summed in."""
    return float32 if x.dtype in (float16, bfloat16) else x.dtype


def _gathered(group, flat):
    every = flat.new_empty(dist.get_world_size(group), flat.numel())
    dist.all_gather_into_tensor(every, flat, group=group)
    return every


def _statistics(x, over, group):
    """Number of values by channel, their mean and variance, over all ranks."""
    channels, n = x.shape[1], x.numel() // x.shape[1]
    if n:
        mean = x.mean(over)
        squares = (x - _as(mean, x)).square().sum(over)
    else:
        mean = squares = x.new_zeros(channels)
    every = _gathered(
        group, cat([mean, squares, full((1,), float(n), dtype=x.dtype, device=x.device)])
    )
    means, all_squares = every[:, :channels], every[:, channels : 2 * channels]
    counts = every[:, 2 * channels :]
    count = counts.sum()
    total_mean = (means * counts).sum(0) / count
    spread = (all_squares + counts * (means - total_mean).square()).sum(0)
    return count, total_mean, spread / count


def _as(by_channel, x):
    return by_channel.reshape(1, -1, *(1,) * (x.dim() - 2))


class _SyncBatchNorm(Function):
    @staticmethod
    def forward(ctx, input, weight, bias, eps, group, found):
        x = input.to(_wide(input))
        ctx.over = over = [0, *range(2, x.dim())]
        count, mean, variance = found[:] = _statistics(x, over, group)
        scale = (variance + eps).rsqrt()
        normal = (x - _as(mean, x)) * _as(scale, x)
        ctx.save_for_backward(normal, scale, weight, count)
        ctx.group, ctx.shifted = group, bias is not None
        y = normal if weight is None else normal * _as(weight.to(x.dtype), x)
        return (y if bias is None else y + _as(bias.to(x.dtype), x)).to(input.dtype)

    @staticmethod
    def backward(ctx, grad):
        # What it returns depends on the input as well, so that a gradient which needs none itself
        # must not make it a constant to who differentiates again.
        return _backward(ctx, grad.detach().requires_grad_() if is_grad_enabled() else grad)


@once_differentiable
def _backward(ctx, grad):
    normal, scale, weight, count = ctx.saved_tensors
    dy = grad.to(_wide(grad))
    own = cat([dy.sum(ctx.over), (dy * normal).sum(ctx.over)])
    channels = own.numel() // 2
    every = own.clone()
    dist.all_reduce(every, group=ctx.group)
    every = every / count
    dx = dy - _as(every[:channels], dy) - normal * _as(every[channels:], dy)
    dx = dx * _as(scale if weight is None else scale * weight.to(dy.dtype), dy)
    dw = None if weight is None else own[channels:].to(weight.dtype)
    db = own[:channels].to(grad.dtype if weight is None else weight.dtype)
    return dx.to(grad.dtype), dw, db if ctx.shifted else None, None, None, None


def batch_norm(module, input):
    """What a SyncBatchNorm in training makes of its input; its running statistics follow."""
    found = []
    affine = module.weight, module.bias
    y = _SyncBatchNorm.apply(input, *affine, module.eps, module.process_group, found)
    if module.track_running_stats and module.running_mean is not None:
        count, mean, variance = found
        factor = module.momentum
        if factor is None:
            factor = 1.0 / module.num_batches_tracked.item()
        unbiased = variance * (count / (count - 1))
        for running, now in (module.running_mean, mean), (module.running_var, unbiased):
            running.detach().lerp_(now.to(running.dtype), factor)
    return y
