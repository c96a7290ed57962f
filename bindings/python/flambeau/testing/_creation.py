"""Random tensors for tests."""

import flambeau as torch


def _bounds(dtype, low, high):
    """The least and the greatest value asked for, or torch's where none is."""
    if dtype is torch.bool:
        return 0, 2
    if dtype.is_floating_point:
        found = -9 if low is None else low, 9 if high is None else high
        return max(found[0], torch.finfo(dtype).min), min(found[1], torch.finfo(dtype).max)
    least = 0 if dtype is torch.uint8 else -9
    return least if low is None else low, 10 if high is None else high


def make_tensor(
    *shape,
    dtype,
    device="cpu",
    low=None,
    high=None,
    requires_grad=False,
    noncontiguous=False,
    exclude_zero=False,
    memory_format=None,
):
    """A tensor of uniform random values from `low` up to `high`, without it. Their defaults are -9
    and 9 for floating-point dtypes, -9 and 10 for integers, 0 and 10 for uint8, 0 and 2 for bool.

    `noncontiguous` leaves a gap between neighbours, `exclude_zero` puts the least positive number
    (1 for integers) in the place of 0."""
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got "
            f"noncontiguous={noncontiguous!r} and memory_format={memory_format!r}"
        )
    if requires_grad and not dtype.is_floating_point:
        raise ValueError(
            "`requires_grad=True` is not supported for boolean and integral dtypes, but got "
            f"dtype={dtype!r}"
        )
    if len(shape) == 1 and not isinstance(shape[0], int):
        shape = tuple(shape[0])
    low, high = _bounds(dtype, low, high)
    if low >= high:
        raise ValueError(f"make_tensor: `low` must be less than `high`, but got {low} >= {high}")
    made = (*shape[:-1], 2 * shape[-1]) if noncontiguous and shape else shape
    if dtype.is_floating_point:
        t = torch.empty(made, dtype=dtype, device=device).uniform_(low, high)
    else:
        t = torch.randint(int(low), int(high), made, dtype=dtype, device=device)
    if noncontiguous and shape:
        t = t[..., ::2]
    if memory_format is not None:
        t = t.clone(memory_format=memory_format)
    if exclude_zero:
        t[t == 0] = torch.finfo(dtype).tiny if dtype.is_floating_point else 1
    return t.requires_grad_() if requires_grad else t
