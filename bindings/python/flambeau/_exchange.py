"""Values in and out: nested lists, NumPy arrays over shared memory, pickles."""

from ._call import _blocking, _fast, _raise, ffi
from ._types import BY_CODE, NAMES

_FLOAT32, _BFLOAT16 = NAMES["float32"], NAMES["bfloat16"]


def raw_bytes(tensor):
    """The elements in C order, as a writable bytearray; from any device."""
    buffer = bytearray(tensor.nbytes)
    cell = ffi.from_buffer(buffer) if buffer else ffi.NULL
    if _blocking.flam_tensor_to_host(tensor._h, cell, len(buffer)):
        _raise()
    return buffer


def to_list(tensor):
    """Nested lists of Python numbers; a number for a 0-d tensor."""
    shape = tensor.shape
    if not shape:
        return tensor.item()
    if 0 in shape:
        return _empty_lists(shape)
    if tensor.dtype.itemsize == 2 and tensor.dtype.is_floating_point:
        tensor = tensor.detach()._moved(None, _FLOAT32)
    return memoryview(raw_bytes(tensor)).cast(tensor.dtype._letter, shape).tolist()


def _empty_lists(shape):
    if shape[0] == 0:
        return []
    return [_empty_lists(shape[1:]) for _ in range(shape[0])]


def to_numpy(tensor, force=False):
    """An array that shares the tensor's memory and keeps it alive."""
    import numpy

    if force:
        tensor = tensor.detach().cpu()
    elif tensor.device.type != "cpu":
        raise TypeError(
            f"can't convert {tensor.device} device type tensor to numpy. "
            "Use Tensor.cpu() to copy the tensor to host memory first."
        )
    elif tensor.requires_grad:
        raise RuntimeError(
            "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
        )
    dtype = tensor.dtype
    if dtype is _BFLOAT16:
        raise TypeError(
            "Got unsupported ScalarType BFloat16: NumPy has no such dtype; use "
            "tensor.float().numpy()"
        )
    shape, size = tensor.shape, dtype.itemsize
    if 0 in shape:
        return numpy.empty(shape, dtype._numpy)
    cell = ffi.new("void **")
    if _blocking.flam_tensor_host_data(tensor._h, cell):
        _raise()
    strides = tuple(s * size for s in tensor.stride())
    reach = sum((n - 1) * s for n, s in zip(shape, strides)) + size
    kept = _fast.flam_tensor_retain(tensor._h)
    owner = ffi.gc(ffi.cast("char *", cell[0]), lambda _, h=kept: _fast.flam_tensor_release(h))
    return numpy.ndarray(shape, dtype._numpy, ffi.buffer(owner, reach), 0, strides)


# ---- pickles: what torch.save writes goes through serialization.py; this is plain pickle and copy
# ------------


def reduced(tensor, protocol):
    """What `rebuild` needs."""
    return (
        bytes(raw_bytes(tensor)),
        tuple(tensor.shape),
        tensor.dtype._code,
        str(tensor.device),
        tensor.requires_grad and tensor.is_leaf,
    )


def rebuild(data, shape, code, device, requires_grad):
    """A tensor from its pickled parts."""
    from ._factory import from_bytes

    return from_bytes(data, shape, BY_CODE[code], device, requires_grad)
