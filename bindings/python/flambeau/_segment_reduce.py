"""`segment_reduce`: what runs of elements along a dimension come to, each of its own length."""

import math

from ._factory import arange
from ._gen import ops
from ._tensor import Tensor

# By name: the rule of scatter_reduce, and what an empty run comes to.
_RULES = {
    "sum": ("sum", 0.0),
    "mean": ("sum", math.nan),
    "max": ("amax", -math.inf),
    "min": ("amin", math.inf),
    "prod": ("prod", 1.0),
}


def _lengths(data, lengths, indices, offsets, axis):
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    if lengths is None and offsets is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    given = offsets if lengths is None else lengths
    if given.shape[:-1] != data.shape[:axis]:
        raise RuntimeError(
            f"segment_reduce(): expected lengths or offsets of shape [*{list(data.shape[:axis])}, "
            f"runs] for axis {axis} of data of shape {list(data.shape)}, but got "
            f"{list(given.shape)}"
        )
    found = offsets[..., 1:] - offsets[..., :-1] if lengths is None else lengths
    if (found < 0).any():
        raise RuntimeError("segment_reduce(): lengths contains negative value!")
    if (found.sum(-1) != data.shape[axis]).any():
        raise RuntimeError(
            "segment_reduce(): Expected all rows of lengths along axis to sum to "
            f"data.size({axis}) = {data.shape[axis]} when !unsafe."
        )
    return found


def segment_reduce(
    data, reduce, *, lengths=None, indices=None, offsets=None, axis=0, unsafe=False, initial=None
):
    """Sums, means, greatest, least or products ("sum", "mean", "max", "min", "prod") of runs of
    slices along `axis`, whose `lengths`, or where each begins and the last ends (`offsets`), are
    given; with leading dimensions, for each of them. `initial` is where each starts."""
    if reduce not in _RULES:
        raise RuntimeError(f"unsupported reduction given: {reduce}; one of {', '.join(_RULES)}")
    if not isinstance(data, Tensor) or not data.is_floating_point():
        raise NotImplementedError("segment_reduce(): data must be a floating-point tensor")
    if not data.dim():
        raise RuntimeError("segment_reduce(): data must have at least one dimension")
    axis = axis % data.dim()
    lengths = _lengths(data, lengths, indices, offsets, axis)
    rule, empty = _RULES[reduce]
    start = initial if initial is not None else 0.0 if reduce == "mean" else empty
    rest = data.shape[axis + 1 :]
    found = data.new_full((*lengths.shape, *rest), start)
    # An element belongs to the run before which so many have ended.
    at = arange(data.shape[axis], device=data.device).unsqueeze(-1)
    run = (at >= lengths.cumsum(-1)[..., :-1].unsqueeze(-2)).sum(-1)
    run = run.reshape((*run.shape, *[1] * len(rest))).expand(data.shape)
    found = found.scatter_reduce(axis, run, data, rule, include_self=True)
    if reduce != "mean":
        return found
    count = lengths.to(data.dtype).reshape((*lengths.shape, *[1] * len(rest)))
    nothing = found if initial is not None else ops.TORCH["full_like"](found, empty)
    return ops.TORCH["where"](count == 0, nothing, found / count.clamp(min=1))
