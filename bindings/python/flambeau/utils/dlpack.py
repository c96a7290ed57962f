"""Exchange with other libraries over DLPack."""

from .._dlpack import from_dlpack


def to_dlpack(tensor):
    """A DLPack capsule over the tensor's memory."""
    return tensor.__dlpack__()


__all__ = ["from_dlpack", "to_dlpack"]
