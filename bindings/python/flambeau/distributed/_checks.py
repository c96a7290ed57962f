"""What collectives ask of their tensors before anything is sent, with torch's words."""

from .._tensor import Tensor


def tensor(name, value):
    """Refuses what is no tensor."""
    if not isinstance(value, Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor\n"
            f"             but got {type(value)} instead."
        )


def tensors(name, values):
    """Refuses what is no list of tensors."""
    if not isinstance(values, (list, tuple)) or not all(isinstance(v, Tensor) for v in values):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor]\n"
            f"             but got {type(values)} with elements of type "
            f"{[type(v) for v in values] if isinstance(values, (list, tuple)) else None}."
        )


def one_per_rank(what, values, size):
    """Refuses a list of another length than the group's: one tensor alone would stand for all."""
    if len(values) != size:
        raise RuntimeError(
            f"{what}: expected a list with one tensor per rank ({size}), got {len(values)}"
        )


def one_dtype(*values):
    """Refuses tensors of several dtypes, and none."""
    if not values:
        raise ValueError("expected at least one tensor, got an empty list")
    first = values[0].dtype
    for value in values:
        if value.dtype is not first:
            raise ValueError(
                f"Invalid usage of tensors with different dtypes: found {first} and {value.dtype}"
            )


def one_shape(what, values, wanted):
    """Refuses parts of several sizes, which torch's gather and scatter do not take either."""
    for i, value in enumerate(values):
        if value.shape != wanted.shape:
            raise RuntimeError(
                f"{what}: invalid tensor size at index {i} (expected {tuple(wanted.shape)}, got "
                f"{tuple(value.shape)})"
            )
