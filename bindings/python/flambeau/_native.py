"""Functions of torch whose namesakes in `nn.functional` take their arguments otherwise: in another
order, and modes and reductions as numbers."""

from . import linalg
from ._call import fill
from .nn import functional as F

_REDUCTIONS = ("none", "mean", "sum")
_MODES, _PADDINGS = map(tuple, (F.GRID_SAMPLE_INTERPOLATION_MODES, F.GRID_SAMPLE_PADDING_MODES))


def _word(words, number, name):
    if isinstance(number, int) and 0 <= number < len(words):
        return words[number]
    choices = ", ".join(f"{i} ({word})" for i, word in enumerate(words))
    raise ValueError(f"{name} must be one of {choices}, got {number!r}")


def batch_norm(
    input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled
):
    """`nn.functional.batch_norm`."""
    given = (running_mean, running_var, weight, bias, training, momentum, eps)
    return F.batch_norm(input, *given)


def instance_norm(
    input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn_enabled
):
    """`nn.functional.instance_norm`."""
    given = (running_mean, running_var, weight, bias, use_input_stats, momentum, eps)
    return F.instance_norm(input, *given)


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5, cudnn_enable=True):
    """`nn.functional.layer_norm`."""
    return F.layer_norm(input, normalized_shape, weight, bias, eps)


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5, cudnn_enabled=True):
    """`nn.functional.group_norm`."""
    return F.group_norm(input, num_groups, weight, bias, eps)


def embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    """`nn.functional.embedding` with the table first; -1 for no padding."""
    padding = None if padding_idx < 0 else padding_idx
    return F.embedding(
        indices, weight, padding, scale_grad_by_freq=scale_grad_by_freq, sparse=sparse
    )


def kl_div(input, target, reduction=1, *, log_target=False):
    """`nn.functional.kl_div`; the reduction is 0 for none, 1 for the mean, 2 for the sum."""
    reduction = _word(_REDUCTIONS, reduction, "reduction")
    return F.kl_div(input, target, reduction=reduction, log_target=log_target)


def binary_cross_entropy_with_logits(input, target, weight=None, pos_weight=None, reduction=1):
    """`nn.functional.binary_cross_entropy_with_logits`; the reduction is 0 for none, 1 for the
    mean, 2 for the sum."""
    reduction = _word(_REDUCTIONS, reduction, "reduction")
    options = {"reduction": reduction, "pos_weight": pos_weight}
    return F.binary_cross_entropy_with_logits(input, target, weight, **options)


def poisson_nll_loss(input, target, log_input, full, eps, reduction):
    """`nn.functional.poisson_nll_loss`; the reduction is 0 for none, 1 for the mean, 2 for the
    sum."""
    options = {"full": full, "eps": eps, "reduction": _word(_REDUCTIONS, reduction, "reduction")}
    return F.poisson_nll_loss(input, target, log_input, **options)


def grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners):
    """`nn.functional.grid_sample`; modes 0 to 2 are bilinear, nearest and bicubic, paddings zeros,
    border and reflection."""
    mode = _word(_MODES, interpolation_mode, "interpolation_mode")
    padding = _word(_PADDINGS, padding_mode, "padding_mode")
    return F.grid_sample(input, grid, mode, padding, align_corners)


def _sampler(spatial):
    def sampler(input, grid, interpolation_mode, padding_mode, align_corners):
        """`grid_sampler` of one number of dimensions."""
        found = grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)
        if input.dim() != spatial + 2:
            raise RuntimeError(
                f"grid_sampler_{spatial}d(): expected {spatial + 2}D input, got {input.dim()}D"
            )
        return found

    sampler.__name__ = sampler.__qualname__ = f"grid_sampler_{spatial}d"
    return sampler


grid_sampler_2d, grid_sampler_3d = _sampler(2), _sampler(3)


def affine_grid_generator(theta, size, align_corners):
    """`nn.functional.affine_grid`."""
    return F.affine_grid(theta, size, bool(align_corners))


def convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    """A convolution over as many dimensions as `stride` has sizes, transposed or not."""
    n = weight.dim() - 2
    if transposed:
        f = getattr(F, f"conv_transpose{n}d")
        return f(input, weight, bias, stride, padding, output_padding, groups, dilation)
    return getattr(F, f"conv{n}d")(input, weight, bias, stride, padding, dilation, groups)


def norm_except_dim(v, pow=2, dim=0):
    """The norm over all dimensions but one, which stay with size 1; -1 for the norm of all."""
    if dim == -1:
        return v.norm(pow)
    return v.norm(pow, [d for d in range(v.dim()) if d != dim % v.dim()], keepdim=True)


def frobenius_norm(input, dim, keepdim=False, *, out=None):
    """The root of the sum of squares over one or two dimensions."""
    found = input.norm(2, dim, keepdim)
    return found if out is None else fill(out, found, "frobenius_norm")


def nuclear_norm(input, dim=(-2, -1), keepdim=False, *, out=None):
    """The sum of the singular values of the matrices in two dimensions."""
    if isinstance(dim, bool):
        dim, keepdim = (-2, -1), dim
    return linalg.matrix_norm(input, "nuc", dim, keepdim, out=out)


def constant_pad_nd(input, pad, value=0):
    """Pads with a constant; negative sizes cut off."""
    return F.pad(input, pad, "constant", value)


def native_channel_shuffle(input, groups):
    """`channel_shuffle`."""
    return F.channel_shuffle(input, groups)


def _statistics(input, dims, eps, keepdim, dtype):
    """Mean and 1 / sqrt(var + eps) along dimensions."""
    wide = input if input.element_size() == 8 else input.float()
    mean = wide.mean(dims, keepdim=keepdim)
    rstd = (wide.var(dims, correction=0, keepdim=keepdim) + eps).rsqrt()
    return mean.to(dtype), rstd.to(dtype)


def native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps):
    """`batch_norm`, with the mean and 1 / sqrt(var + eps) of the batch; empty outside training."""
    y = F.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)
    dtype = input.dtype if weight is None else weight.dtype
    if not training:
        return y, input.new_empty(0, dtype=dtype), input.new_empty(0, dtype=dtype)
    others = [d for d in range(input.dim()) if d != 1]
    return y, *_statistics(input.detach(), others, eps, False, dtype)


def native_layer_norm(input, normalized_shape, weight, bias, eps):
    """`layer_norm`, with the mean and 1 / sqrt(var + eps) of each row."""
    y = F.layer_norm(input, normalized_shape, weight, bias, eps)
    dims = list(range(-len(normalized_shape), 0))
    return y, *_statistics(input.detach(), dims, eps, True, input.dtype)


def native_group_norm(input, weight, bias, N, C, HxW, group, eps):
    """`group_norm`, with the mean and 1 / sqrt(var + eps) of each group."""
    y = F.group_norm(input, group, weight, bias, eps)
    rows = input.reshape(N, group, C * HxW // group)
    return y, *_statistics(rows, -1, eps, False, input.dtype)
