"""Torch's words for the chunks of `linear_cross_entropy`, which the library makes."""

from .._gen import api


def chunk_divisor(method):
    """How many times smaller than the input the logits of a chunk are; 0 without chunks."""
    if method is None:
        return 0
    name, colon, factor = method.partition(":")
    factor = factor if colon and name != "auto" else "1"
    if name not in ("auto", "aspect_ratio") or not factor.isdigit() or int(factor) < 1:
        raise ValueError(f"invalid chunking_method: {method!r}")
    return int(factor)


def linear_cross_entropy(input, linear_weight, target, *, linear_bias=None, weight=None,
                         reduction="mean", ignore_index=None, label_smoothing=0.0,
                         options=None):  # fmt: skip
    """`cross_entropy` of what `linear` makes of the input; by chunks of rows with `options`."""
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    chunks = options and {
        "chunk_rows": options.batch_chunk_size or 0,
        "chunk_divisor": chunk_divisor(options.chunking_method),
    }
    return api.linear_cross_entropy(
        input, linear_weight, target, linear_bias, weight, ignore_index=ignore_index,
        label_smoothing=label_smoothing, reduction=reduction, **chunks or {},
    )  # fmt: skip


FUNCTIONS = {"linear_cross_entropy": linear_cross_entropy}
