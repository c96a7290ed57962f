"""Python's operators on tensors. They call C directly where the other side is a tensor or a plain
number; what is neither goes to the method of the same arguments."""

from ._call import _NUMBERS, _fast, _own, _raise, _scalar
from ._factory import as_tensor
from ._gen import ops
from ._on_demand import called, method
from ._tensor import Tensor

_METHODS = ops.TENSOR
_ELSE = AttributeError, TypeError  # no handle, or no form for such a number
_c_matmul = _fast.flam_matmul


def __matmul__(self, other):
    try:
        t = _own(Tensor, _c_matmul, self._h, other._h)
    except AttributeError:
        return NotImplemented
    return _raise() if t is None else t


def _fit(own, value):
    """Whether an operator takes this as its other side; its own is a tensor, also where a program
    calls it by its name."""
    if not hasattr(own, "_h"):
        raise TypeError(f"operators of Tensor don't apply to a {type(own).__name__!r} object")
    return (
        hasattr(value, "_h")
        or isinstance(value, (int, float, complex))
        or type(value).__module__ == "numpy"
    )


def _operand(value):
    """Numbers and arrays as tensors; tensors as they are."""
    if value.__class__ in _NUMBERS:
        return _scalar(value)
    if type(value).__module__ == "numpy" and getattr(value, "shape", ()):
        return as_tensor(value)
    return value


def _entries(name, tail=""):
    """The C functions that take a tensor, a float and an int."""
    return (getattr(_fast, f"flam_{name}{form}{tail}", None) for form in ("", "_f64", "_i64"))


def _binary(name):
    function = _METHODS[name]
    c, c_f64, c_i64 = _entries(name)

    def operator(self, other):
        kind = other.__class__
        try:
            if kind is float:
                t = _own(Tensor, c_f64, self._h, other)
            elif kind is int:
                t = _own(Tensor, c_i64, self._h, other)
            else:
                t = _own(Tensor, c, self._h, other._h)
        except _ELSE:
            return function(self, _operand(other)) if _fit(self, other) else NotImplemented
        return _raise() if t is None else t

    operator._direct = c, 2
    return operator


def _reflected(name):
    function = _METHODS[name]
    _, c_f64, c_i64 = _entries("r" + name)

    def swapped(self, other):
        return function(_operand(other), self) if _fit(self, other) else NotImplemented

    def operator(self, other):
        if other.__class__ is float:
            t = _own(Tensor, c_f64, self._h, other)
        elif other.__class__ is int:
            t = _own(Tensor, c_i64, self._h, other)
        else:
            return swapped(self, other)
        return _raise() if t is None else t

    return operator if c_f64 else swapped


def _in_place(name):
    function = _METHODS[name]
    c, c_f64, c_i64 = _entries(name[:-1], "_")

    def operator(self, other):
        kind = other.__class__
        try:
            if kind is float:
                h = c_f64(self._h, other)
            elif kind is int:
                h = c_i64(self._h, other)
            else:
                h = c(self._h, other._h)
        except _ELSE:
            return function(self, _operand(other)) if _fit(self, other) else NotImplemented
        if not h:
            _raise()
        return self

    return operator


def _pairs(text):
    """`operator=method` by operator; of one name where both have it."""
    return {name: method or name for name, _, method in (p.partition("=") for p in text.split())}


_BINARY = _pairs(
    "add sub mul div truediv=div floordiv=floor_divide mod=remainder pow and=bitwise_and "
    "or=bitwise_or xor=bitwise_xor lshift=bitwise_left_shift rshift=bitwise_right_shift"
)
_COMPARE = _pairs("eq ne lt le gt ge")
_UNARY = _pairs("neg pos=positive abs invert=bitwise_not")
_ASSIGN = _pairs(
    "iadd=add_ isub=sub_ imul=mul_ itruediv=div_ ifloordiv=floor_divide_ imod=remainder_ ipow=pow_ "
    "idiv=div_ iand=bitwise_and_ ior=bitwise_or_ ixor=bitwise_xor_ ilshift=bitwise_left_shift_ "
    "irshift=bitwise_right_shift_"
)
_SWAPPED = _pairs("radd=add rmul=mul")  # of which either order gives the same, as in torch
_REFLECTED = {"rmatmul": "matmul"} | {"r" + name: method for name, method in _BINARY.items()}

for _names, _make in (
    (_BINARY, _binary),
    (_COMPARE, _binary),
    (_ASSIGN, _in_place),
    (_REFLECTED, _reflected),
    (_SWAPPED, _binary),
    (_UNARY, _METHODS.get),
):
    for _name, _method in _names.items():
        _made = _make(_method)
        if _names is _REFLECTED:  # no method is the same; the others' are in STAND_FOR
            called(_made, f"__{_name}__")
        setattr(Tensor, f"__{_name}__", method(Tensor, f"__{_name}__", _made))
__matmul__._direct = _c_matmul, 2
Tensor.__matmul__ = method(Tensor, "__matmul__", __matmul__)
# Operators and the methods of the same arguments that they stand for.
STAND_FOR = {"matmul": "matmul"} | _BINARY | _COMPARE | _UNARY | _SWAPPED | _ASSIGN
