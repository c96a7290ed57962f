"""Values in and out: nested lists, NumPy arrays over shared memory, pickles."""

from ._call import _blocking, _fast, _raise, ffi, wrap
from ._factory import from_bytes
from ._gen import ops
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
    if tensor.dtype.is_complex:
        return _pairs_joined(to_list(ops.TORCH["view_as_real"](tensor.detach())), len(shape))
    return memoryview(raw_bytes(tensor)).cast(tensor.dtype._letter, shape).tolist()


def _pairs_joined(pairs, depth):
    return [_pairs_joined(p, depth - 1) for p in pairs] if depth else complex(*pairs)


def _empty_lists(shape):
    return [_empty_lists(shape[1:]) for _ in range(shape[0])]


def to_numpy(tensor, *, force=False):
    """An array that shares the tensor's memory and keeps it alive."""
    import numpy

    if force:
        tensor = tensor.detach().cpu()
    elif tensor.device.type != "cpu":
        raise TypeError(
            f"can't convert {tensor.device} device type tensor to numpy. "
            "Use Tensor.cpu() to copy the tensor to host memory first."
        )
    elif tensor.requires_grad and _fast.flam_grad_enabled():
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
    _fast.flam_tensor_fix_memory(tensor._h)
    strides = tuple(s * size for s in tensor.stride())
    reach = sum((n - 1) * s for n, s in zip(shape, strides)) + size
    kept = wrap(_fast.flam_tensor_retain, tensor._h)
    owner = ffi.gc(ffi.cast("char *", cell[0]), [kept].append)  # the list goes with the pointer
    return numpy.ndarray(shape, dtype._numpy, ffi.buffer(owner, reach), 0, strides)


# ---- copies and pickles: what torch.save writes goes through serialization.py; this is plain
# pickle and copy


def deep_copy(tensor, memo):
    """A copy with a storage of its own, which the copies of other views of the storage share."""
    if id(tensor) in memo:
        return memo[id(tensor)]
    if not tensor.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
            "protocol at the moment.  If you were attempting to deepcopy a module, this may be "
            "because of a torch.nn.utils.weight_norm usage, see "
            "https://github.com/pytorch/pytorch/pull/103001"
        )
    found = _typed(_copied_storage(tensor, memo), type(tensor))
    memo[id(tensor)] = found
    if tensor.requires_grad:
        found.requires_grad_()
    if tensor.grad is not None:
        found.grad = tensor.grad.__deepcopy__(memo)
    if tensor.__dict__:
        import copy

        found.__dict__.update(copy.deepcopy(tensor.__dict__, memo))
    return found


def _copied_storage(tensor, memo):
    plain = tensor.detach()
    storage = tensor.untyped_storage()
    if not storage.data_ptr():
        return plain.clone()
    where = storage.data_ptr(), storage.nbytes(), tensor.dtype
    whole = memo.get(where)
    if whole is None:
        n = storage.nbytes() // tensor.element_size()
        whole = memo[where] = plain.as_strided((n,), (1,), 0).clone()
    return whole.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset()).detach()


def shallow_copy(tensor):
    """Another object over the same memory."""
    found = tensor.detach() if tensor.is_leaf else tensor.view(tensor.shape)
    if tensor.is_leaf and tensor.requires_grad:
        found.requires_grad_()
    found = _typed(found, type(tensor))
    found.__dict__.update(tensor.__dict__)
    return found


def _typed(tensor, kind):
    return tensor if type(tensor) is kind else tensor.as_subclass(kind)


def reduced(tensor, protocol=None):
    """What pickle stores: how to rebuild the tensor, and the attributes the program gave it."""
    if tensor.is_meta:
        about = (
            tensor.shape,
            tensor.stride(),
            tensor.dtype._code,
            tensor.requires_grad,
            type(tensor),
        )
        return rebuild_meta, about, tensor.__dict__ or None
    dense = tensor.detach()
    n = tensor.untyped_storage().nbytes() // tensor.element_size()
    whole = dense.as_strided((n,), (1,), 0)
    place = tuple(tensor.shape), tensor.stride(), tensor.storage_offset(), str(tensor.device)
    about = bytes(raw_bytes(whole)), tensor.dtype._code, *place, tensor.requires_grad, type(tensor)
    return rebuild, about, tensor.__dict__ or None


def rebuild_meta(shape, stride, code, requires_grad, kind):
    """One without elements, which a pickle says no more of."""
    made = ops.TORCH["empty_strided"](shape, stride, dtype=BY_CODE[code], device="meta")
    found = _typed(made, kind)
    return found.requires_grad_() if requires_grad else found


def rebuild(data, code, shape, stride, offset, device, requires_grad, kind):
    """A tensor from its pickled parts."""
    dtype = BY_CODE[code]
    whole = from_bytes(data, (len(data) // dtype.itemsize,), dtype, device)
    found = _typed(whole.as_strided(shape, stride, offset).detach(), kind)
    return found.requires_grad_() if requires_grad else found
