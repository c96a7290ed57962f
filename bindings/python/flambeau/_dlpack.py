"""DLPack: tensors to and from other libraries over shared memory, versioned structs (1.x) and the
older ones.

An exported struct lives in `_exports` until its deleter runs, which the consumer calls from any
thread. ctypes is imported with this module only, not with the package."""

import ctypes
from math import prod

from . import _factory
from ._call import _blocking, _raise, ffi
from ._factory import from_memory
from ._gen import api
from ._tensor import Tensor
from ._types import DTYPES, NAMES
from ._types import device as device_type

_CPU, _CUDA, _PINNED = 1, 2, 3
_READ_ONLY, _COPIED = 1, 2


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _DLTensor), ("context", ctypes.c_void_p), ("deleter", _Deleter)]


class _Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", _Deleter),
        ("flags", ctypes.c_uint64),
        ("tensor", _DLTensor),
    ]


_NAMES = {_Managed: b"dltensor", _Versioned: b"dltensor_versioned"}
# Capsules keep pointers to these bytes.
_USED = {kind: b"used_" + name for kind, name in _NAMES.items()}
_python = ctypes.pythonapi
_python.PyCapsule_New.restype = ctypes.py_object
_python.PyCapsule_New.argtypes = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p
_NAMED = ctypes.c_void_p, ctypes.c_char_p  # a capsule's address, and the name it must have
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, *_NAMED)(("PyCapsule_IsValid", _python))
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, *_NAMED)(("PyCapsule_GetPointer", _python))
_python.PyCapsule_SetName.argtypes = ctypes.py_object, ctypes.c_char_p

_exports = {}


def _code_of(dtype):
    """(type code, bits) of a dtype in DLPack."""
    number = 2 if dtype.is_floating_point else 0 if dtype.is_signed else 1
    code = {"bool": 6, "bfloat16": 4, "complex64": 5, "complex128": 5}.get(dtype._name, number)
    return code, 8 * dtype.itemsize


_BY_CODE = {_code_of(d): d for d in DTYPES}


# ---- out


@_Deleter
def _delete(address):
    _exports.pop(address, None)


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def _capsule_died(capsule):
    """A capsule that nobody consumed gives its tensor back."""
    for name in _NAMES.values():
        if _is_valid(capsule, name):
            _exports.pop(_pointer(capsule, name), None)


def _lend(tensor):
    """Waits until the memory may be read by others, for whom it stays where it is."""
    api.tensor_fix_memory(tensor)
    if tensor.device.type != "cpu":
        api.device_synchronize(tensor.device)
    elif _blocking.flam_tensor_host_data(tensor._h, ffi.new("void **")):
        _raise()


def export(tensor, stream=None, max_version=None, dl_device=None, copy=None):
    """The capsule behind `tensor.__dlpack__()`."""
    if tensor.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if dl_device is not None and tuple(dl_device) != tuple(tensor.__dlpack_device__()):
        if dl_device[0] != _CPU or copy is False:
            raise BufferError(
                f"cannot export a tensor on {tensor.device} as DLPack device {tuple(dl_device)}"
            )
        tensor, copy = tensor.cpu(), False
    if copy:
        tensor = tensor.clone()
    _lend(tensor)
    kind = _Versioned if max_version is not None and max_version[0] >= 1 else _Managed
    made = kind(deleter=_delete)
    n = tensor.dim()
    shape = (ctypes.c_int64 * n)(*tensor.shape)
    strides = (ctypes.c_int64 * n)(*tensor.stride())
    t = made.tensor
    t.data, t.ndim, t.lanes, t.byte_offset = tensor.data_ptr(), n, 1, 0
    t.device_type, t.device_id = tensor.__dlpack_device__()
    t.code, t.bits = _code_of(tensor.dtype)
    t.shape, t.strides = shape, strides
    if kind is _Versioned:
        made.major, made.minor, made.flags = 1, 0, _COPIED if copy else 0
    address = ctypes.addressof(made)
    _exports[address] = made, shape, strides, tensor
    return _python.PyCapsule_New(address, _NAMES[kind], ctypes.cast(_capsule_died, ctypes.c_void_p))


# ---- in


class _Owner:
    """Calls the producer's deleter when no tensor uses its memory any more."""

    def __init__(self, managed, address):
        self.managed, self.address = managed, address

    def __del__(self):
        if self.managed.deleter:
            self.managed.deleter(self.address)


def _capsule_of(ext):
    try:
        return ext.__dlpack__(max_version=(1, 0))
    except TypeError:  # a producer from before versions
        return ext.__dlpack__()


def from_dlpack(ext_tensor, *, device=None, copy=None):
    """A tensor over the memory of an object with `__dlpack__`, or of a capsule."""
    if isinstance(ext_tensor, Tensor):
        made = ext_tensor.detach()
        return made.clone() if copy else made
    capsule = _capsule_of(ext_tensor) if hasattr(ext_tensor, "__dlpack__") else ext_tensor
    kind = next((k for k, name in _NAMES.items() if _is_valid(id(capsule), name)), None)
    if kind is None:
        raise TypeError(
            "from_dlpack(): the argument has no __dlpack__ and is no unused DLPack capsule"
        )
    address = _pointer(id(capsule), _NAMES[kind])
    managed = kind.from_address(address)
    if kind is _Versioned and managed.major > 1:
        raise BufferError(
            f"the producer wrote DLPack {managed.major}.{managed.minor}; versions up to 1 are "
            "understood"
        )
    t = managed.tensor
    dtype = _BY_CODE.get((t.code, t.bits))
    if dtype is None or t.lanes != 1:
        raise BufferError(
            f"DLPack type code {t.code} with {t.bits} bits and {t.lanes} lanes is not supported"
        )
    place = "cpu" if t.device_type in (_CPU, _PINNED) else device_type("cuda", t.device_id)
    _python.PyCapsule_SetName(capsule, _USED[kind])
    shape = tuple(t.shape[: t.ndim])
    strides = tuple(t.strides[: t.ndim]) if t.strides else _dense(shape)
    start, owner = (t.data or 0) + t.byte_offset, _Owner(managed, address)
    made = from_memory(start, shape, strides, dtype, owner, place)
    made = made.clone() if copy else made
    return made if device is None else made.to(device)


def asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=None):
    """`obj` as a tensor: over its memory where it can be (`copy=None`), always (False, else an
    error), or never (True). A buffer without a dtype of its own is read as `dtype`."""
    if isinstance(obj, Tensor) or _factory._has_array(obj):
        if copy is False and "generic" in (kind.__name__ for kind in type(obj).__mro__):
            raise RuntimeError(
                "can't alias NumPy scalars. Either remove copy=False or transform it in a ndarray."
            )
        made = obj if isinstance(obj, Tensor) else _factory.from_numpy(_factory._numpy_array(obj))
    elif isinstance(obj, (bytes, bytearray, memoryview)) and len(obj):
        made = _factory.frombuffer(obj, dtype=dtype or NAMES["uint8"])
    elif hasattr(obj, "__dlpack__") or type(obj).__name__ == "PyCapsule":
        made = from_dlpack(obj)
    else:
        if copy is False:
            raise ValueError("can't alias arbitrary sequence into a tensor.")
        made, copy = _factory._from_sequence(obj, dtype, device), None
    target = made.to(device, dtype)
    if copy is False and target is not made:
        what = "dtype" if target.dtype is not made.dtype else "device"
        raise ValueError(
            f"can't alias tensor with {what} '{getattr(made, what)}' into {what} "
            f"'{getattr(target, what)}'."
        )
    if copy and target is made:
        target = made.clone()
    if requires_grad is False and target.requires_grad:
        return target.detach()
    return target.requires_grad_() if requires_grad and not target.requires_grad else target


def _dense(shape):
    sizes = [max(n, 1) for n in shape]
    return tuple(prod(sizes[d + 1 :]) for d in range(len(sizes)))
