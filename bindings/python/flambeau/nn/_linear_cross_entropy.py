"""Cross-entropy of what a linear layer makes, and its form in chunks, whose logits exist for some
rows at a time: each chunk is computed again for its gradient."""

import warnings

from .._gen import ops as _ops
from ..autograd.grad_mode import is_grad_enabled


def chunk_factor(method):
    """How many times smaller than usual the chunks of a method are."""
    if method in (None, "auto"):
        return 1
    name, colon, factor = method.partition(":")
    factor = factor if colon else "1"
    if name != "aspect_ratio" or not factor.isdigit() or int(factor) < 1:
        raise ValueError(f"invalid chunking_method: {method!r}")
    return int(factor)


def _chunk_rows(options, count, features, classes):
    """Rows of a chunk: so many that its logits take about as much memory as the input."""
    if options.batch_chunk_size is not None or options.chunking_method is None:
        return options.batch_chunk_size or max(count, 1)
    share = -(-count // -(-classes // max(features, 1)))
    return max((1 << max(share - 1, 0).bit_length()) // chunk_factor(options.chunking_method), 1)


def linear_cross_entropy(input, linear_weight, target, *, linear_bias=None, weight=None,
                         reduction="mean", ignore_index=None, label_smoothing=0.0,
                         options=None):  # fmt: skip
    """`cross_entropy` of what `linear` makes of the input; by chunks of rows with `options`."""
    shape = _logits_shape(input, linear_weight, linear_bias)
    probabilities = tuple(target.shape) == shape
    if probabilities and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    ignored = -100 if ignore_index is None else ignore_index
    operands = input, linear_weight, linear_bias, target, weight
    if options is not None and _in_chunks(operands, reduction, label_smoothing, probabilities):
        return _chunked(operands, reduction, ignored, options, probabilities)
    return _whole(*operands, shape, reduction, ignored, label_smoothing)


def _logits_shape(input, linear_weight, linear_bias):
    if input.dim() not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.dim()}")
    if linear_weight.dim() < 2:
        raise RuntimeError(
            f"expected linear_weight with dimensionality at least 2, got {linear_weight.dim()}"
        )
    *outer, features = linear_weight.shape
    if input.shape[-1] != features:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), got "
            f"{input.shape[-1]} and {features}, respectively"
        )
    if linear_bias is not None and list(linear_bias.shape) != outer:
        raise RuntimeError(
            f"expected linear_bias shape {tuple(outer)}, got {tuple(linear_bias.shape)}"
        )
    if len(outer) > 1 and input.dim() == 1:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {tuple(linear_weight.shape)} "
            f"requires batched input, (N, {features}), got unbatched input with shape "
            f"{tuple(input.shape)}"
        )
    return (*input.shape[:-1], *outer)


def _whole(input, linear_weight, bias, target, weight, shape, reduction, ignored, smoothing):
    bias = bias if bias is None else bias.reshape(-1)
    rows = linear_weight.reshape(-1, linear_weight.shape[-1])
    logits = _ops.FUNCTIONAL["linear"](input, rows, bias).reshape(shape)
    return _ops._cross_entropy(logits, target, weight, ignored, reduction, smoothing)


def _in_chunks(operands, reduction, smoothing, probabilities):
    input, linear_weight, _, target, _ = operands
    asked = target.requires_grad and is_grad_enabled()
    fits = (target.dtype == input.dtype and not asked) if probabilities else True
    if (
        fits
        and reduction in ("mean", "sum", "none")
        and smoothing == 0
        and linear_weight.dim() == 2
        and (probabilities or not target.dtype.is_floating_point)
    ):
        return True
    warnings.warn(
        "linear_cross_entropy: options ignored; chunks need a linear_weight with two dimensions, "
        "no label_smoothing, and a target of classes, or of probabilities in the input's dtype "
        "without a gradient",
        stacklevel=4,
    )
    return False


def _chunked(operands, reduction, ignored, options, probabilities):
    from ..utils.checkpoint import checkpoint

    input, linear_weight, bias, target, weight = operands
    single = input.dim() == 1
    if single:
        input, target = input.unsqueeze(0), target.unsqueeze(0)
    (count, features), classes = input.shape, linear_weight.shape[0]
    fold = "none" if reduction == "none" else "sum"

    def part(x, w, b, t):
        return _whole(x, w, b, t, weight, (x.shape[0], classes), fold, ignored, 0.0)

    rows = _chunk_rows(options, count, features, classes)
    parts = [
        checkpoint(part, input[i : i + rows], linear_weight, bias, target[i : i + rows],
                   use_reentrant=False)
        for i in range(0, max(count, 1), rows)
    ]  # fmt: skip
    if reduction == "none":
        losses = _ops._cat(parts)
        return losses[0] if single else losses
    total = sum(parts[1:], parts[0])
    if reduction == "sum":
        return total
    if probabilities:
        return total / count
    counted = target[target != ignored]
    return total / (counted.numel() if weight is None else weight[counted].sum())


FUNCTIONS = {"linear_cross_entropy": linear_cross_entropy}
