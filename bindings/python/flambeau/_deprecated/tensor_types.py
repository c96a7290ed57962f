"""`torch.FloatTensor` and relatives: constructors of one dtype that also answer isinstance, and
`Tensor.type`."""

from .._factory import legacy_tensor
from .._gen import api
from .._tensor import Tensor
from .._types import NAMES
from .._types import dtype as dtype_type

DTYPE_NAMES = {
    **{"FloatTensor": "float32", "DoubleTensor": "float64", "HalfTensor": "float16"},
    **{"BFloat16Tensor": "bfloat16", "LongTensor": "int64", "IntTensor": "int32"},
    **{"ShortTensor": "int16", "CharTensor": "int8", "ByteTensor": "uint8", "BoolTensor": "bool"},
    **{"ComplexFloatTensor": "complex64", "ComplexDoubleTensor": "complex128"},
}
_TYPE_OF = {NAMES[d]: t for t, d in DTYPE_NAMES.items()}


class _TensorType(type):
    """Metaclass: calling makes a tensor; isinstance compares dtype and device."""

    def __call__(cls, *data, device=None):
        return legacy_tensor(data, None, cls.dtype, device or cls.device)

    def __instancecheck__(cls, value):
        return (
            isinstance(value, Tensor)
            and value.dtype is cls.dtype
            and value.device.type == cls.device
        )

    def __repr__(cls):
        return f"<class '{cls.__module__}.{cls.__name__}'>"


def _make(name, module, device):
    kind = NAMES[DTYPE_NAMES[name]]
    told = {"__module__": module, "__doc__": f"A tensor of {kind} in {device} memory."}
    return _TensorType(name, (), told | {"dtype": kind, "device": device})


# torch exports none of complex numbers.
CPU = {name: _make(name, "torch", "cpu") for name in DTYPE_NAMES if not name.startswith("Complex")}
CUDA = {name: _make(name, "torch.cuda", "cuda") for name in CPU}


def type_name(tensor):
    """Such as `torch.cuda.FloatTensor`."""
    place = "" if tensor.device.type == "cpu" else tensor.device.type + "."
    return f"torch.{place}{_TYPE_OF[tensor.dtype]}"


def dtype_of(wanted, tensor):
    """(device, dtype) for what `Tensor.type()` takes: a dtype, a type's name or such a type."""
    if isinstance(wanted, dtype_type):
        return None, wanted
    if isinstance(wanted, _TensorType):
        return wanted.device, wanted.dtype
    if wanted is Tensor:
        return "cpu", api.get_default_dtype()
    parts = wanted.split(".") if isinstance(wanted, str) else [""]
    if parts[-1] not in DTYPE_NAMES:
        raise ValueError(f"invalid type: {wanted!r}")

    return parts[1] if len(parts) == 3 else "cpu", NAMES[DTYPE_NAMES[parts[-1]]]


def _type(self, dtype=None, non_blocking=False):
    """The name of the tensor's type, or the tensor in another dtype."""
    return type_name(self) if dtype is None else self._moved(*dtype_of(dtype, self), non_blocking)


Tensor.type = _type
_type.__name__ = "type"
