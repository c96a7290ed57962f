"""A plain tensor as the local part of a larger one: by attributes that a program sets on it."""

from typing import Protocol, runtime_checkable

__all__ = ["CheckpointableTensor"]


@runtime_checkable
class CheckpointableTensor(Protocol):
    """Attributes of a tensor that holds pieces of a global one. Piece i begins at
    `global_offsets[i]` in that and at `local_offsets[i]` in this tensor, and is `local_sizes[i]`
    large."""

    global_shape: tuple[int, ...]
    global_offsets: tuple[tuple[int, ...], ...]
    local_offsets: tuple[tuple[int, ...], ...]
    local_sizes: tuple[tuple[int, ...], ...]
