"""Attention whose scores a function of the program changes, and whose mask is a function.

Such a function is called once, with indices that broadcast to [batch, heads, queries, keys], in
place of torch's scalars: what selects with `torch.where` and indexes tensors works as it does
there. Masks, and functions that add to the scores, are scaled_dot_product_attention's mask, in the
shape that they have without being repeated; of other functions the scores are kept as one
tensor.

Scores are f32 also of half queries, as in torch. scaled_dot_product_attention rounds its mask to
the queries' dtype, so that what is added is its mask beside half queries where they hold it
whatever its values are; beside queries of f32, to which the halves are widened, otherwise."""

import math
from typing import NamedTuple

from ... import _torch as torch
from ...amp.autocast_mode import autocast, get_autocast_dtype, is_autocast_enabled
from .. import functional as F
from ._added import added_by, scores_dtype
from .block_mask import _BLOCK as _DEFAULT_SPARSE_BLOCK_SIZE  # noqa: F401, packages read it
from .block_mask import (
    BlockMask,
    and_masks,
    create_block_mask,
    create_mask,
    noop_mask,
    or_masks,
    places,
)

__all__ = (
    "AuxOutput AuxRequest BlockMask and_masks create_block_mask create_mask flex_attention "
    "noop_mask or_masks"
).split()


class AuxRequest(NamedTuple):
    """Which of a softmax's by-products `flex_attention` returns."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """What `AuxRequest` asked for, [batch, heads, queries]: the logarithm of the sum of the
    exponentials of the scores, and their maximum."""

    lse: torch.Tensor = None
    max_scores: torch.Tensor = None


def _checked(query, key, value, enable_gqa, block_mask):
    shapes = f"{tuple(query.shape)}, {tuple(key.shape)} and {tuple(value.shape)}"
    if not query.dim() == key.dim() == value.dim() == 4:
        raise NotImplementedError(f"query, key, and value must be 4D tensors, got {shapes}")
    if not query.dtype is key.dtype is value.dtype:
        raise ValueError(
            "Expected query, key, and value to have the same dtype, but got query.dtype: "
            f"{query.dtype}, key.dtype: {key.dtype}, and value.dtype: {value.dtype} instead."
        )
    if key.shape[:3] != value.shape[:3] or query.size(-1) != key.size(-1):
        raise ValueError(f"the sizes of query, key and value do not fit: {shapes}")
    if not enable_gqa and query.size(1) != key.size(1):
        raise ValueError(
            "Expect query and key/value to have the same number of heads but got "
            f"Hq={query.size(1)} and Hkv={key.size(1)}. Try setting enable_gqa=True for GQA."
        )
    if query.size(1) % key.size(1):
        raise ValueError(
            "Expect number of query heads to be a multiple of kv heads for GQA but got "
            f"Hq={query.size(1)} and Hkv={key.size(1)}."
        )
    if key.size(0) not in (1, query.size(0)):
        raise ValueError(f"Expect Bq == Bkv or Bkv == 1, but got {shapes}")
    if block_mask is not None:
        block_mask.check_lengths(query.size(2), key.size(2))


def _lowered(tensor, dtype):
    """As autocast casts an operand of a product."""
    return tensor if tensor.dtype is torch.float64 else tensor.to(dtype)


def _by_mask(query, key, value, added, seen, **options):
    """Attention with what is added to scores and which of them count, None where all is as it is,
    as one mask, in the dtype of what is added."""
    mask, dtype = seen, query.dtype
    if added is not None:
        mask = added if seen is None else torch.where(seen, added, -math.inf)
        dtype = added.dtype
    key, value = (t.to(dtype).expand(query.size(0), -1, -1, -1) for t in (key, value))
    found = F.scaled_dot_product_attention(query.to(dtype), key, value, mask, **options)
    return found.to(query.dtype)


def _by_scores(query, key, value, score_mod, seen, at, scale):
    """Attention whose scores are one tensor, and that tensor."""
    heads = query.size(1) // key.size(1)
    key, value = (t.repeat_interleave(heads, 1) if heads > 1 else t for t in (key, value))
    dtype = scores_dtype(query.dtype)
    factor = scale if scale is not None else 1 / math.sqrt(query.size(-1))
    scores = query.to(dtype) @ key.to(dtype).mT * factor
    if score_mod is not None:
        changed = score_mod(scores, *at)
        if not isinstance(changed, torch.Tensor):
            name = getattr(score_mod, "__name__", repr(score_mod))
            raise ValueError(
                f"flex_attention: score_mod `{name}` must only return Tensors, got type "
                f"{type(changed)}; return the score that it was given, changed"
            )
        scores = changed.to(dtype).expand(scores.shape)
    if seen is not None:
        scores = torch.where(seen, scores, -math.inf)
    # A row of -inf has no softmax; its gradient must not be NaN either.
    empty = (scores == -math.inf).all(-1, keepdim=True)
    weights = torch.where(empty, 0.0, torch.where(empty, 0.0, scores).softmax(-1))
    return weights.to(value.dtype) @ value, scores


def flex_attention(query, key, value, score_mod=None, block_mask=None, scale=None, enable_gqa=False,
                   return_lse=False, kernel_options=None, *, return_aux=None):  # fmt: skip
    """softmax(score_mod(scale * query keyᵀ, batch, head, q, kv)) value, over the keys that
    `block_mask` allows; a query without any gives zeros.

    query is [batch, heads, queries, features], key and value [batch or 1, heads, keys, ...];
    `scale` is one over the root of the features unless given. With `enable_gqa` several heads of
    the query share one of the keys. `kernel_options` are for torch's fused kernels and change
    nothing here."""
    _checked(query, key, value, enable_gqa, block_mask)
    kind = query.device.type
    if is_autocast_enabled(kind):  # which casts the operands, but neither scores nor masks
        lowered = (_lowered(t, get_autocast_dtype(kind)) for t in (query, key, value))
        with autocast(kind, enabled=False):
            return flex_attention(*lowered, score_mod, block_mask, scale, enable_gqa, return_lse,
                                  kernel_options, return_aux=return_aux)  # fmt: skip
    at = places((*query.shape[:3], key.size(2)), query.device)
    seen = None if block_mask is None else block_mask.mask_mod(*at)
    if not return_lse and return_aux is None:
        added = None if score_mod is None else added_by(score_mod, at, query.dtype)
        if score_mod is None or added is not None:
            options = {"scale": scale, "enable_gqa": enable_gqa}
            return _by_mask(query, key, value, added, seen, **options)
    out, scores = _by_scores(query, key, value, score_mod, seen, at, scale)
    if return_aux is not None:
        lse = scores.logsumexp(-1) if return_aux.lse else None
        return out, AuxOutput(lse, scores.amax(-1) if return_aux.max_scores else None)
    return (out, scores.logsumexp(-1)) if return_lse else out
