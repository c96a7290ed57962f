"""Lookups in tables of vectors, with torch's options."""

from .._gen import api
from .._gen import ops as _ops
from ..autograd.grad_mode import is_grad_enabled, no_grad

_embedding = _ops.FUNCTIONAL["embedding"]


def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0,
              scale_grad_by_freq=False, sparse=False):  # fmt: skip
    """`weight[input]`; rows longer than `max_norm` are scaled down first, in place."""
    _no_sparse("embedding", sparse, weight)
    weight = _prepared(weight, input, max_norm, norm_type, scale_grad_by_freq)
    return _embedding(input, weight, padding_idx)


def _prepared(weight, input, max_norm, norm_type, scale_grad_by_freq):
    """The table with rows of at most `max_norm`, and its gradient divided by how often each row is
    looked up where that is asked for."""
    if max_norm is not None:
        with no_grad():
            _ops._embedding_renorm_(weight.detach(), input.contiguous(), max_norm, norm_type)
    if not (scale_grad_by_freq and weight.requires_grad and is_grad_enabled()):
        return weight
    flat = input.reshape(-1)
    counts = _ops._zeros(weight.shape[0], device=weight.device)
    counts.index_add_(0, flat, _ops._ones(flat.shape, device=weight.device))
    share = (1 / counts.clamp(min=1)).unsqueeze(-1).to(weight.dtype)
    return weight.detach() + (weight - weight.detach()) * share


def embedding_bag(input, weight, offsets=None, max_norm=None, norm_type=2, scale_grad_by_freq=False,
                  mode="mean", sparse=False, per_sample_weights=None, include_last_offset=False,
                  padding_idx=None):  # fmt: skip
    """Sums, means or maxima of looked-up vectors, bag by bag."""
    _no_sparse("embedding_bag", sparse, weight)
    if weight.dtype.is_floating_point is False and input.dtype.is_floating_point:
        input, weight = weight, input  # torch's old order of arguments
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if scale_grad_by_freq and mode == "max":
        raise RuntimeError(
            "embedding_bag: scaling gradients by frequency is not supported for mode max"
        )
    weight = _prepared(weight, input, max_norm, norm_type, scale_grad_by_freq)
    return api.embedding_bag(
        input, weight, offsets, mode, per_sample_weights, include_last_offset, padding_idx
    )


def _no_sparse(name, sparse, weight):
    if sparse and weight.requires_grad and is_grad_enabled():
        raise NotImplementedError(f"{name}: sparse gradients are not supported")


FUNCTIONS = {"embedding": embedding, "embedding_bag": embedding_bag}
