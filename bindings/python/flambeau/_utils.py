"""`torch._utils`: private helpers of torch's that programs call to send many tensors as one."""

from ._gen import ops
from ._types import device as device_type


def _element_size(dtype):
    """Bytes of an element."""
    return dtype.itemsize


def _flatten_dense_tensors(tensors):
    """All elements of the tensors in one row."""
    return ops.TORCH["cat"]([t.contiguous().view(-1) for t in tensors])


def _unflatten_dense_tensors(flat, tensors):
    """Pieces of the row in the shapes of the tensors."""
    pieces = flat.split([t.numel() for t in tensors])
    return tuple(piece.view(t.shape) for piece, t in zip(pieces, tensors))


def _get_device_index(device, optional=False, allow_cpu=False):
    """The number of a device: its own, or the current one's."""
    from .cuda import current_device

    if isinstance(device, int):
        return device
    if device is not None:
        device = device_type(device)
        if device.type == "cpu" and allow_cpu:
            return -1
        if device.type == "cpu":
            raise ValueError(f"Expected a cuda device, but got: {device}")
        if device.index is not None:
            return device.index
    if device is None and not optional:
        raise ValueError(
            "Expected a torch.device with a specified index or an integer, but got: None"
        )
    return current_device()
