"""Values without a handle: dtype, device, Size, layout and memory format, finfo and iinfo.

They print and compare as PyTorch's do, so that `str(torch.float32)` reads the same under either
engine. Each dtype and device knows its number in the ABI (`_code`); 0 there means "unspecified".
"""

import math as _math
from operator import index as _index

from ._errors import UnsupportedError
from ._library import fast as _fast


class dtype:
    """Element type of a tensor."""

    __slots__ = "_name _code itemsize is_floating_point is_signed _numpy _letter".split()

    def __init__(self, name, code, itemsize, floating, signed, numpy, letter):
        self._name, self._code, self.itemsize = name, code, itemsize
        self.is_floating_point, self.is_signed = floating, signed
        self._numpy, self._letter = numpy, letter

    def __repr__(self):
        return "torch." + self._name

    def __reduce__(self):
        return _dtype_named, (self._name,)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    @property
    def is_complex(self):
        return self._name.startswith("complex")

    def to_real(self):
        return NAMES[_REALS.get(self._name, self._name)]

    def to_complex(self):
        found = self._name if self.is_complex else _COMPLEX.get(self._name)
        if found is None:
            raise RuntimeError(f"Unknown Complex ScalarType for {self!r}")
        return NAMES[found]


_REALS = {"complex32": "float16", "complex64": "float32", "complex128": "float64"}
_COMPLEX = {real: name for name, real in _REALS.items()}

float32 = dtype("float32", 1, 4, True, True, "f4", "f")
float64 = dtype("float64", 2, 8, True, True, "f8", "d")
float16 = dtype("float16", 3, 2, True, True, "f2", "e")
bfloat16 = dtype("bfloat16", 4, 2, True, True, None, None)
int64 = dtype("int64", 5, 8, False, True, "i8", "q")
int32 = dtype("int32", 6, 4, False, True, "i4", "i")
int16 = dtype("int16", 7, 2, False, True, "i2", "h")
int8 = dtype("int8", 8, 1, False, True, "i1", "b")
uint8 = dtype("uint8", 9, 1, False, False, "u1", "B")
bool_ = dtype("bool", 10, 1, False, False, "b1", "?")
complex64 = dtype("complex64", 11, 8, False, True, "c8", None)
complex128 = dtype("complex128", 12, 16, False, True, "c16", None)

DTYPES = (float32, float64, float16, bfloat16, int64, int32, int16, int8, uint8, bool_)
DTYPES += complex64, complex128
BY_CODE = (None, *DTYPES)
BY_NUMPY = {d._numpy: d for d in DTYPES if d._numpy}
NAMES = {d._name: d for d in DTYPES}
NAMES.update(float=float32, double=float64, half=float16, long=int64, int=int32, short=int16)


class _ForeignDtype(dtype):
    """A dtype of torch's that no tensor here can have: programs keep tables of all of them. Its
    number in the ABI is what every use asks for, and that fails."""

    __slots__ = ()

    def __init__(self, name, itemsize, floating, signed):
        self._name, self.itemsize = name, itemsize
        self.is_floating_point, self.is_signed = floating, signed
        self._numpy = self._letter = None

    @property
    def _code(self):
        raise UnsupportedError(
            f"{self!r} is unsupported: flambeau's tensors have the dtypes "
            + ", ".join(d._name for d in DTYPES)
        )


_FOREIGN = [
    _ForeignDtype(name, size, floating, signed)
    for name, size, floating, signed in (
        ("complex32", 4, False, True),
        ("uint16", 2, False, False),
        ("uint32", 4, False, False),
        ("uint64", 8, False, False),
        ("float8_e4m3fn", 1, True, True),
        ("float8_e4m3fnuz", 1, True, True),
        ("float8_e5m2", 1, True, True),
        ("float8_e5m2fnuz", 1, True, True),
        ("float8_e8m0fnu", 1, True, False),
        ("float4_e2m1fn_x2", 1, True, True),
        ("qint8", 1, False, True),
        ("quint8", 1, False, False),
        ("qint32", 4, False, True),
    )
]
NAMES.update({d._name: d for d in _FOREIGN})
NAMES.update(chalf=NAMES["complex32"], cfloat=NAMES["complex64"], cdouble=NAMES["complex128"])


def _dtype_named(name):
    return NAMES[name]


_DEVICE_TYPES = {"cpu": 1, "cuda": 2, "sim": 12, "meta": 64}
_DEVICE_NAMES = {code: name for name, code in _DEVICE_TYPES.items()}
_FOREIGN_DEVICES = "mps xpu hip hpu xla ipu mtia maia ve vulkan fpga lazy privateuseone".split()


class device:
    """Where a tensor lives: `device("cuda")`, `device("cuda:1")`, `device("cuda", 1)`,
    `device(1)`."""

    __slots__ = ("type", "index", "_code")

    def __new__(cls, type="cpu", index=None):
        if isinstance(type, device) and index is None:
            return type
        if type.__class__ is int and index is None:
            type, index = "cuda", type
        elif not isinstance(type, str):
            raise TypeError(
                f"device(): argument 'type' (position 1) must be str, not {type.__class__.__name__}"
            )
        elif ":" in type:
            if index is not None:
                raise RuntimeError(
                    "type (string) must not include an index because index was passed "
                    f"explicitly: {type}"
                )
            type, _, tail = type.partition(":")
            if not tail.isdecimal() or tail != str(int(tail)):
                raise RuntimeError(f"Invalid device string: '{type}:{tail}'")
            index = int(tail)
        if index is not None and index < 0:
            raise RuntimeError("Device index must not be negative")
        if type in _FOREIGN_DEVICES:
            return _ForeignDevice._of(type, index)
        if type not in _DEVICE_TYPES:
            expected = (
                "Expected one of cpu, cuda, meta, sim device type at start of device string: "
            )
            word = type.replace("_", "a").isalpha()
            raise RuntimeError(f"{expected}{type}" if word else f"Invalid device string: '{type}'")
        self = object.__new__(cls)
        self.type, self.index = type, index
        self._code = _DEVICE_TYPES[type] << 16 | (0 if index is None else index + 1)
        return self

    def __repr__(self):
        if self.index is None:
            return f"device(type='{self.type}')"
        return f"device(type='{self.type}', index={self.index})"

    def __str__(self):
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other):
        if other.__class__ is device:
            return self._code == other._code
        return NotImplemented

    def __hash__(self):
        return hash(self._code)

    def __reduce__(self):
        return device, (self.type,) if self.index is None else (self.type, self.index)


class _ForeignDevice(device):
    """A device of torch's that holds no tensors here: programs compare with it. Its number in the
    ABI is what every use asks for, and that fails."""

    __slots__ = ()

    @classmethod
    def _of(cls, type, index):
        self = object.__new__(cls)
        self.type, self.index = type, index
        return self

    @property
    def _code(self):
        raise UnsupportedError(
            f"device {str(self)!r} is unsupported: flambeau's tensors are on cpu, cuda, meta or sim"
        )

    def __eq__(self, other):
        if not isinstance(other, device):
            return NotImplemented
        return (self.type, self.index) == (other.type, other.index)

    def __hash__(self):
        return hash((self.type, self.index))


_devices = {}


def device_of_code(code):
    """The device of an ABI number; those of which there is one have no index in Python."""
    found = _devices.get(code)
    if found is None:
        kind, index = code >> 16, (code & 0xFFFF) - 1
        name = _DEVICE_NAMES[kind]
        single = name in ("cpu", "meta") or index < 0
        found = _devices[code] = device(name) if single else device(name, index)
    return found


def device_code(value):
    """ABI number of what a `device=` argument may be: None, str, int, device."""
    if value is None:
        return 0
    if value.__class__ is not device:
        value = device(value)
    return value._code


def dtype_of(value):
    """A dtype from what a `dtype=` argument may be: a dtype, or Python's int, float, bool or
    complex."""
    if value.__class__ is dtype or isinstance(value, dtype) and value._code:
        return value
    found = {int: "int64", float: "float64", bool: "bool", complex: "complex128"}.get(value)
    if found is None:
        raise TypeError(f"expected torch.dtype, not {type(value).__name__}")
    return NAMES[found]


def _size(i, n):
    try:
        return int(_index(n))
    except TypeError:
        raise TypeError(
            f"torch.Size() takes an iterable of 'int' (item {i} is '{type(n).__name__}')"
        ) from None


class Size(tuple):
    """A shape; a tuple that prints as `torch.Size([2, 3])` and stays a Size when sliced or added
    to."""

    __slots__ = ()

    def __new__(cls, iterable=()):
        found = tuple.__new__(cls, iterable)
        if all(n.__class__ is int for n in found):
            return found
        return tuple.__new__(cls, (_size(i, n) for i, n in enumerate(found)))

    def __repr__(self):
        return f"torch.Size({list(self)})"

    __str__ = __repr__

    def numel(self):
        return _math.prod(self)

    def __getitem__(self, i):
        found = tuple.__getitem__(self, i)
        return Size(found) if i.__class__ is slice else found

    def __add__(self, other):
        if isinstance(other, tuple) or hasattr(type(other), "__radd__"):
            return Size(tuple.__add__(self, other)) if isinstance(other, tuple) else NotImplemented
        raise TypeError(f"can only concatenate tuple (not {type(other).__name__}) to torch.Size")

    def __radd__(self, other):
        return Size(other + tuple(self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, n):
        return Size(tuple.__mul__(self, n))

    __rmul__ = __mul__

    def __reduce__(self):
        return Size, (tuple(self),)


class _Named:
    """A constant that is only a name."""

    __slots__ = ("_name",)

    def __init__(self, name):
        self._name = name

    def __repr__(self):
        return "torch." + self._name

    def __reduce__(self):
        return _constant, (self._name,)


class layout(_Named):
    """How elements lie in memory: `torch.strided`."""

    __slots__ = ()


class memory_format(_Named):
    """The order of dimensions in memory, such as `torch.channels_last`."""

    __slots__ = ()


strided = layout("strided")
contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last")
channels_last_3d = memory_format("channels_last_3d")
_FORMATS = contiguous_format, preserve_format, channels_last, channels_last_3d
_CONSTANTS = {c._name: c for c in (strided, *_FORMATS)}


def _constant(name):
    return _CONSTANTS[name]


_FLOATS = {  # bits, eps, smallest normal, max, smallest subnormal, decimal digits
    float32: (32, 2.0**-23, 2.0**-126, (2 - 2.0**-23) * 2.0**127, 2.0**-149, 1e-06),
    float64: (64, 2.0**-52, 2.0**-1022, (2 - 2.0**-52) * 2.0**1023, 2.0**-1074, 1e-15),
    float16: (16, 2.0**-10, 2.0**-14, 65504.0, 2.0**-24, 1e-03),
    bfloat16: (16, 2.0**-7, 2.0**-126, (2 - 2.0**-7) * 2.0**127, 2.0**-133, 1e-02),
    NAMES["float8_e4m3fn"]: (8, 2.0**-3, 2.0**-6, 448.0, 2.0**-9, 1.0),
    NAMES["float8_e4m3fnuz"]: (8, 2.0**-3, 2.0**-7, 240.0, 2.0**-10, 1.0),
    NAMES["float8_e5m2"]: (8, 2.0**-2, 2.0**-14, 57344.0, 2.0**-16, 1.0),
    NAMES["float8_e5m2fnuz"]: (8, 2.0**-2, 2.0**-15, 57344.0, 2.0**-17, 1.0),
}


def _checked(name, type):
    if not isinstance(type, dtype):
        raise TypeError(
            f"{name}(): argument 'type' (position 1) must be torch.dtype, not "
            f"{type.__class__.__name__}"
        )
    return type


class _Limits:
    def __eq__(self, other):
        return type(other) is type(self) and other.dtype == self.dtype

    __hash__ = object.__hash__


class finfo(_Limits):
    """Numerical limits of a floating dtype, by default of the default one."""

    def __init__(self, type=None):
        type = DTYPES[_fast.flam_get_default_dtype() - 1] if type is None else type
        type = _checked("finfo", type).to_real()  # of a complex dtype, its parts' limits
        if type not in _FLOATS:
            raise TypeError(
                "torch.finfo() requires a floating point input type. Use torch.iinfo to handle "
                f"'{type}'"
            )
        self.bits, self.eps, self.tiny, self.max, self.smallest_subnormal, self.resolution = (
            _FLOATS[type]
        )
        self.min, self.smallest_normal, self.dtype = -self.max, self.tiny, type._name

    def __repr__(self):
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, "
            f"eps={self.eps:g}, smallest_normal={self.tiny:g}, tiny={self.tiny:g}, "
            f"dtype={self.dtype})"
        )


class iinfo(_Limits):
    """Numerical limits of an integer dtype."""

    def __init__(self, type):
        if _checked("iinfo", type).is_floating_point or type.is_complex or type._name == "bool":
            raise TypeError(
                f"torch.iinfo() requires an integer input type. Use torch.finfo to handle '{type}'"
            )
        self.bits = 8 * type.itemsize
        self.min = -(1 << self.bits - 1) if type.is_signed else 0
        self.max = (1 << self.bits - type.is_signed) - 1
        self.dtype = type._name

    def __repr__(self):
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"
