"""Random tensors for tests."""

import math

from .. import _torch as torch


def _is_whole(dtype):
    return not (dtype.is_floating_point or dtype.is_complex)


def _span(dtype):
    """The bounds between which values of the dtype lie, or parts of complex ones, the upper one
    without it for integers, and torch's defaults."""
    if dtype is torch.bool:
        return 0, 2, 0, 2
    if not _is_whole(dtype):
        limits = torch.finfo(dtype.to_real())
        return limits.min, limits.max, -9, 9
    limits = torch.iinfo(dtype)
    # randint's end is an int64.
    return limits.min, limits.max + (dtype is not torch.int64), -9, 10


def _bounds(dtype, low, high):
    """The least value and the end asked for, or torch's, cut to what the dtype holds."""
    least, end, default_low, default_high = _span(dtype)
    low = default_low if low is None else low
    high = default_high if high is None else high
    if math.isnan(low) or math.isnan(high):
        raise ValueError(f"`low` and `high` cannot be NaN, but got low={low} and high={high}")
    if low > high or low == high and _is_whole(dtype):
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    if high < least or low >= end:
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{low}, {high}), but {dtype} "
            f"only supports [{least}, {end})"
        )
    low, high = max(low, least), min(high, end)
    return (math.ceil(low), math.ceil(high)) if _is_whole(dtype) else (low, high)


def _uniform(t, low, high):
    if t.is_complex():
        _uniform(torch.view_as_real(t), low, high)
        return t
    if high - low < torch.finfo(t.dtype).max:
        return t.uniform_(low, high)
    return t.uniform_(low / 2, high / 2).mul_(2)  # the width is no number of the dtype


def make_tensor(*shape, dtype, device="cpu", low=None, high=None, requires_grad=False,
                noncontiguous=False, exclude_zero=False, memory_format=None):  # fmt: skip
    """A tensor of uniform random values from `low` up to `high`, without it; of complex dtypes both
    parts are. The defaults are -9 and 9 for floating-point and complex dtypes, -9 and 10 for
    integers, 0 and 10 for uint8, 0 and 2 for bool.

    `noncontiguous` leaves a gap between neighbours, `exclude_zero` puts the least positive number
    (1 for integers) in the place of 0."""
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got "
            f"noncontiguous={noncontiguous!r} and memory_format={memory_format!r}"
        )
    if requires_grad and _is_whole(dtype):
        raise ValueError(
            "`requires_grad=True` is not supported for boolean and integral dtypes, but got "
            f"dtype={dtype!r}"
        )
    if len(shape) == 1 and not isinstance(shape[0], int):
        shape = tuple(shape[0])
    low, high = _bounds(dtype, low, high)
    made = (*shape[:-1], 2 * shape[-1]) if noncontiguous and shape else shape
    if _is_whole(dtype):
        t = torch.randint(low, high, made, dtype=dtype, device=device)
    else:
        t = _uniform(torch.empty(made, dtype=dtype, device=device), low, high)
    if noncontiguous and shape:
        t = t[..., ::2]
    if memory_format is not None:
        t = t.clone(memory_format=memory_format)
    if exclude_zero:
        t[t == 0] = 1 if _is_whole(dtype) else torch.finfo(dtype.to_real()).tiny
    return t.requires_grad_() if requires_grad else t
