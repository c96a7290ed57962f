"""Tensors from Python values: numbers, nested sequences, arrays, memory of others."""

from array import array

from ._call import _NULL, _blocking, _fast, _number, ffi, made_as, made_in, wrap
from ._callbacks import DROP, keep
from ._deprecated import warn, warn_once
from ._gen import api, ops
from ._tensor import Tensor
from ._types import BY_NUMPY, NAMES, device_code, dtype_of

_BOOL, _INT64, _UINT8 = NAMES["bool"], NAMES["int64"], NAMES["uint8"]
_FLOAT32, _FLOAT64 = NAMES["float32"], NAMES["float64"]
_HALVES = NAMES["float16"], NAMES["bfloat16"]


def from_bytes(data, shape, dtype, device=None, requires_grad=False):
    """A tensor with a copy of `data`, which holds `shape` elements of `dtype` in C order."""
    cell = ffi.from_buffer(data) if len(data) else _NULL
    given = (cell, shape, len(shape), dtype._code, device_code(device), requires_grad)
    return wrap(_blocking.flam_tensor_from_data, *given)


# ---- torch.tensor


def _is_sequence(value):
    return isinstance(value, (list, tuple, range)) or (
        hasattr(value, "__getitem__")
        and hasattr(value, "__len__")
        and not isinstance(value, (str, bytes, dict))
    )


def _shape_of(data):
    shape = []
    while _is_sequence(data) and not isinstance(data, Tensor):  # in a list, a tensor is a number
        if type(data).__module__ == "numpy":
            shape += data.shape
            break
        shape.append(len(data))
        if not len(data):
            break
        data = data[0]
    return shape


def _flatten(data, shape, dim, flat):
    """Appends the leaves of nested sequences to `flat`, checking that they form a box."""
    if dim == len(shape):
        if isinstance(data, Tensor):
            if data.numel() != 1:
                raise ValueError("only one element tensors can be converted to Python scalars")
        elif _is_sequence(data) and not getattr(data, "shape", True) == ():
            raise TypeError(
                f"expected {len(shape)} dimensions, found a nested sequence deeper than the first"
            )
        flat.append(data)
        return
    if isinstance(data, Tensor):
        data = data.tolist()
    elif type(data).__module__ == "numpy" and data.ndim:
        warn_once(
            "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider "
            "converting the list to a single numpy.ndarray with numpy.array() before converting to "
            "a tensor."
        )
        data = list(data)  # each with its dtype
    if not _is_sequence(data):
        raise TypeError(
            f"not a sequence: expected {shape[dim]} values at dim {dim}, not {type(data).__name__}"
        )
    if len(data) != shape[dim]:
        raise ValueError(f"expected sequence of length {shape[dim]} at dim {dim} (got {len(data)})")
    if dim + 1 == len(shape) and not any(map(_is_sequence, data)):
        flat.extend(data)
        return
    for part in data:
        _flatten(part, shape, dim + 1, flat)


def _complex_default():
    return NAMES["complex128" if api.get_default_dtype() is _FLOAT64 else "complex64"]


def _rank(dtype):
    return 3 if dtype.is_complex else 2 if dtype.is_floating_point else 0 if dtype is _BOOL else 1


def _inferred(flat):
    """torch's dtype for Python numbers: bool < int64 < default dtype."""
    kinds = set(map(type, flat))
    if kinds <= {bool}:
        return _BOOL if kinds else api.get_default_dtype()
    if kinds <= {int, bool}:
        return _INT64
    if kinds <= {float, int, bool}:
        return api.get_default_dtype()
    if kinds <= {complex, float, int, bool}:
        return _complex_default()
    best = _BOOL
    for value in flat:
        if isinstance(value, Tensor):
            found = value.dtype
        elif type(value).__module__ == "numpy" and hasattr(value, "dtype"):
            found = BY_NUMPY.get(value.dtype.str.lstrip("<|="))
        elif isinstance(value, complex):
            found = _complex_default()
        elif isinstance(value, (bool, int, float)):
            found = _inferred([float(value) if isinstance(value, float) else int(value)])
        else:
            found = None
        if found is None:
            if isinstance(value, str):
                raise TypeError(f"new(): invalid data type '{type(value).__name__}'")
            raise RuntimeError(f"Could not infer dtype of {type(value).__name__}")
        if (_rank(found), found.itemsize) > (_rank(best), best.itemsize):
            best = found
    return best


def _packed(flat, dtype):
    """Numbers as bytes of `dtype` (f32 in place of the half types)."""
    if dtype.is_floating_point:
        return array("d" if dtype is _FLOAT64 else "f", map(float, flat))
    if dtype.is_complex:
        parts = (part for v in map(complex, flat) for part in (v.real, v.imag))
        return array("f" if dtype.itemsize == 8 else "d", parts)
    if dtype is _BOOL:
        return bytearray(map(bool, flat))
    try:
        return array(dtype._letter, map(int, flat))
    except (OverflowError, ValueError):  # too large, or no number
        if dtype is _UINT8 and all(isinstance(v, int) and -256 < v < 256 for v in flat):
            return array("B", (v % 256 for v in flat))  # as in torch: negative bytes count down
        if any(isinstance(v, int) and not -(2**63) <= v < 2**63 for v in flat):
            raise ValueError("Overflow when unpacking long long") from None
        raise RuntimeError(
            f"value cannot be converted to type {dtype._name} without overflow"
        ) from None


def tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False):
    """A tensor with a copy of `data`: a number, nested sequences of numbers, an array or a
    tensor."""
    if isinstance(data, Tensor):
        warn(
            "To copy construct from a tensor, it is recommended to use "
            "sourceTensor.detach().clone() or sourceTensor.detach().clone().requires_grad_(True), "
            "rather than torch.tensor(sourceTensor)."
        )
        made = data.detach().to(device, dtype, copy=True)
    elif hasattr(data, "_elements"):
        made = of_storage(data, dtype).to(device, copy=True)
    elif _has_array(data):
        made = _copied(_numpy_array(data), dtype, device)
    else:
        made = _from_sequence(data, dtype, device)
    made = made.pin_memory() if pin_memory else made
    return made.requires_grad_() if requires_grad else made


def of_storage(storage, dtype=None):
    """All of a storage as a row over its memory, whose bytes are read as `dtype`."""
    own = getattr(storage, "dtype", dtype)
    if dtype not in (None, own):
        raise RuntimeError(
            f"Expected a Storage of type {dtype} or an UntypedStorage, but got {own}"
        )
    found = storage._elements()
    return found if own is None else found.view(own)


def _from_sequence(data, dtype, device):
    dtype = None if dtype is None else dtype_of(dtype)
    shape, flat = _shape_of(data), []
    _flatten(data, shape, 0, flat)
    if any(isinstance(v, (str, bytes)) for v in flat):
        raise TypeError(
            "new(): invalid data type 'str'"
            if not shape or not isinstance(flat[0], (str, bytes))
            else "too many dimensions 'str'"
        )
    dtype = dtype or _inferred(flat)
    if dtype in _HALVES:
        return from_bytes(_packed(flat, _FLOAT32), shape, _FLOAT32).to(device, dtype)
    return from_bytes(_packed(flat, dtype), shape, dtype, device)


# ---- NumPy


def _has_array(data):
    return type(data).__module__ == "numpy" or (
        hasattr(data, "__array__") and not isinstance(data, (int, float, complex))
    )


def _numpy_array(data):
    import numpy

    return numpy.asarray(data)


def _dtype_of_array(a):
    found = BY_NUMPY.get(a.dtype.str.lstrip("<|="))
    if found is None:
        raise TypeError(
            f"can't convert np.ndarray of type {a.dtype}. The only supported types are: float64, "
            "float32, float16, complex64, complex128, int64, int32, int16, int8, uint8, and bool."
        )
    return found


def _copied(a, dtype, device):
    import numpy

    a = numpy.ascontiguousarray(a).reshape(a.shape)
    data = memoryview(a).cast("B") if a.size else b""
    made = from_bytes(data, a.shape, _dtype_of_array(a), device)
    return made if dtype is None else made.to(dtype)


def from_numpy(ndarray):
    """A tensor over the array's memory: writes to one are seen in the other."""
    import numpy

    if not isinstance(ndarray, numpy.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    dtype = _dtype_of_array(ndarray)
    size = dtype.itemsize
    if any(s < 0 for s in ndarray.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative "
            "strides are not currently supported. (You can probably work around this by making a "
            "copy of your array with array.copy().)"
        )
    if any(s % size for s in ndarray.strides):
        raise ValueError(
            "given numpy array strides not a multiple of the element byte size. Copy the numpy "
            "array to reallocate the memory."
        )
    if not ndarray.flags.writeable:
        warn_once(
            "The given NumPy array is not writable, and there are no non-writable tensors: writing "
            "to this one would be undefined behavior. Copy the array first."
        )
    strides = tuple(s // size for s in ndarray.strides)
    return from_memory(ndarray.ctypes.data, ndarray.shape, strides, dtype, ndarray)


def from_memory(address, shape, strides, dtype, owner, device=None):
    """A tensor over memory that lives as long as `owner`, which the tensor keeps."""
    cell, n, where = ffi.cast("void *", address), len(shape), device_code(device)
    given = (cell, shape, n, strides, n, dtype._code, where, DROP, keep(owner))
    return wrap(_fast.flam_tensor_from_blob, *given)


def as_tensor(data, dtype=None, device=None):
    """`data` as a tensor, sharing its memory where it can."""
    if isinstance(data, Tensor):
        return data.to(device, dtype)
    if (
        type(data).__module__ == "numpy"
        and getattr(data, "shape", ())
        and data.flags.writeable
        and all(s >= 0 for s in data.strides)
    ):
        return from_numpy(data).to(device, dtype)
    return tensor(data, dtype=dtype, device=device)


def frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False):
    """A 1-d tensor over an object with the buffer protocol."""
    try:
        view = memoryview(buffer).cast("B")
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    length, size = len(view), dtype.itemsize
    room, rest = divmod(length - offset, size)
    n = room if count < 0 else count
    if not length or not count:
        raise ValueError(f"both buffer length ({length}) and count ({count}) must not be 0")
    if not 0 <= offset < length:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and less than the buffer length "
            f"({length} bytes)"
        )
    if count < 0 and rest:
        raise ValueError(
            f"buffer length ({length - offset} bytes) after offset ({offset} bytes) must be a "
            f"multiple of element size ({size})"
        )
    if n > room:
        raise ValueError(
            f"requested buffer length ({n} * {size} bytes) after offset ({offset} bytes) must not "
            f"be greater than actual buffer length ({length} bytes)"
        )
    if view.readonly:
        warn_once(
            "The given buffer is not writable; writing to the tensor would be undefined behavior. "
            "Copy the buffer first."
        )
    cell = ffi.from_buffer(buffer)
    made = from_memory(int(ffi.cast("intptr_t", cell)) + offset, (n,), (1,), dtype, cell)
    return made.requires_grad_() if requires_grad else made


# ---- creation whose Python form differs from C's


def arange(start=None, end=None, step=1, *, dtype=None, device=None, requires_grad=False,
           layout=None, pin_memory=False, out=None):  # fmt: skip
    """Numbers from `start` (0 where one argument is given) up to, without, `end`."""
    if end is None:
        end, start = start, None
    if end is None:
        raise TypeError('arange() missing 1 required positional arguments: "end"')
    start = 0 if start is None else start
    options = {"dtype": dtype, "device": device, "requires_grad": requires_grad}
    if out is not None:
        return made_in(out, None, arange, start, end, step, spaced=True, **options)
    if pin_memory:
        return made_as(None, True, arange, start, end, step, **options)
    bounds = [v if isinstance(v, Tensor) else _number(v) for v in (start, end, step)]
    if any(v is None for v in bounds):
        raise TypeError("arange(): start, end and step must be numbers")
    dtype = None if dtype is None else dtype_of(dtype)
    return api.arange(*bounds, dtype, device, requires_grad)


def _as_size(value):
    """The int that a size is, of Python's or NumPy's integers; None of anything else."""
    if isinstance(value, (bool, Tensor)) or not hasattr(value, "__index__"):
        return None
    try:
        return value.__index__()
    except TypeError:  # an array of several
        return None


def legacy_tensor(data, cls, dtype, device):
    """`torch.Tensor(2, 3)`, `torch.Tensor([1, 2])`, `torch.LongTensor(...)`: sizes or values, no
    inference."""
    dtype = dtype or (_FLOAT32 if cls is None else api.get_default_dtype())
    if not data:
        return ops.TORCH["empty"]((0,), dtype=dtype, device=device)
    sizes = [_as_size(n) for n in data]
    if None not in sizes:
        return ops.TORCH["empty"](sizes, dtype=dtype, device=device)
    if len(data) > 1:
        raise TypeError("new() takes sizes, or one sequence, array or tensor")
    if isinstance(data[0], (bool, float)) or data[0] is None:
        raise TypeError(f"new(): data must be a sequence (got {type(data[0]).__name__})")
    if isinstance(data[0], Tensor):
        if data[0].dtype is not dtype:
            raise TypeError(f"expected {dtype} (got {data[0].dtype})")
        return data[0].detach()
    if hasattr(data[0], "_elements"):
        return of_storage(data[0], dtype)
    if type(data[0]).__name__ == "Size":
        return ops.TORCH["empty"](data[0], dtype=dtype, device=device)
    return tensor(data[0], dtype=dtype, device=device)


def _new_tensor(self, data, *, dtype=None, device=None, requires_grad=False):
    """A tensor of `data` with this one's dtype and device."""
    like = {"dtype": dtype or self.dtype, "device": device or self.device}
    return tensor(data, **like, requires_grad=requires_grad)


def _new(self, *data, size=(), device=None):
    return legacy_tensor(data or size, Tensor, self.dtype, device or self.device)


def _constructed(cls, *data, device=None):
    if device is not None and data and isinstance(data[0], Tensor):
        raise RuntimeError(
            "Legacy tensor constructor of the form torch.Tensor(tensor, device=device) is not "
            "supported. Use torch.tensor(...) or torch.as_tensor(...) instead."
        )
    made = legacy_tensor(data, cls, None, device)
    return made if cls is Tensor else made.as_subclass(cls)


Tensor.__new__, Tensor.new, Tensor.new_tensor = _constructed, _new, _new_tensor
