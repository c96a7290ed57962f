"""Python's operators on tensors. Those that programs use most call C directly; the others stand for
methods of the same arguments."""

from ._call import _NUMBERS, _fast, _new, _raise, _scalar
from ._factory import as_tensor
from ._gen import ops
from ._tensor import Tensor

_METHODS = ops.TENSOR
_c_add, _c_sub, _c_mul, _c_matmul = (
    _fast.flam_add,
    _fast.flam_sub,
    _fast.flam_mul,
    _fast.flam_matmul,
)


def __add__(self, other):
    if other.__class__ in _NUMBERS:
        other = _scalar(other)
    try:
        h = _c_add(self._h, other._h, 1)
    except AttributeError:
        return _METHODS["add"](self, _operand(other)) if _is_operand(other) else NotImplemented
    if not h:
        _raise()
    t = _new(Tensor)
    t._h = h
    return t


def __sub__(self, other):
    if other.__class__ in _NUMBERS:
        other = _scalar(other)
    try:
        h = _c_sub(self._h, other._h, 1)
    except AttributeError:
        return _METHODS["sub"](self, _operand(other)) if _is_operand(other) else NotImplemented
    if not h:
        _raise()
    t = _new(Tensor)
    t._h = h
    return t


def __mul__(self, other):
    if other.__class__ in _NUMBERS:
        other = _scalar(other)
    try:
        h = _c_mul(self._h, other._h)
    except AttributeError:
        return _METHODS["mul"](self, _operand(other)) if _is_operand(other) else NotImplemented
    if not h:
        _raise()
    t = _new(Tensor)
    t._h = h
    return t


def __matmul__(self, other):
    try:
        h = _c_matmul(self._h, other._h)
    except AttributeError:
        return NotImplemented
    if not h:
        _raise()
    t = _new(Tensor)
    t._h = h
    return t


def _is_operand(value):
    """Whether an operator takes this as its other side."""
    return (
        hasattr(value, "_h") or isinstance(value, (int, float)) or type(value).__module__ == "numpy"
    )


def _operand(value):
    """Numbers and arrays as tensors; tensors as they are."""
    if value.__class__ in _NUMBERS:
        return _scalar(value)
    if type(value).__module__ == "numpy" and getattr(value, "shape", ()):
        return as_tensor(value)
    return value


def _binary(name, reflected=False):
    function = _METHODS[name]

    def operator(self, other):
        if other.__class__ not in _NUMBERS and not _is_operand(other):
            return NotImplemented
        return function(_operand(other), self) if reflected else function(self, _operand(other))

    return operator


def _in_place(name):
    function = _METHODS[name]

    def operator(self, other):
        return function(self, _operand(other)) if _is_operand(other) else NotImplemented

    return operator


def _pairs(text):
    """`operator=method` by operator; of one name where both have it."""
    return {name: method or name for name, _, method in (p.partition("=") for p in text.split())}


_BINARY = _pairs(
    "truediv=div floordiv=floor_divide mod=remainder pow and=bitwise_and or=bitwise_or "
    "xor=bitwise_xor lshift=bitwise_left_shift rshift=bitwise_right_shift"
)
_COMPARE = _pairs("eq ne lt le gt ge")
_UNARY = _pairs("neg pos=positive abs invert=bitwise_not")
_ASSIGN = _pairs(
    "iadd=add_ isub=sub_ imul=mul_ itruediv=div_ ifloordiv=floor_divide_ imod=remainder_ ipow=pow_ "
    "iand=bitwise_and_ ior=bitwise_or_ ixor=bitwise_xor_"
)
_REFLECTED = {
    **_pairs("radd=add rsub=sub rmul=mul rmatmul=matmul"),
    **{"r" + name: method for name, method in _BINARY.items()},
}

for _names, _make in (
    (_BINARY, _binary),
    (_COMPARE, _binary),
    (_ASSIGN, _in_place),
    (_REFLECTED, lambda name: _binary(name, True)),
    (_UNARY, _METHODS.get),
):
    for _name, _method in _names.items():
        setattr(Tensor, f"__{_name}__", _make(_method))
for _function in (__add__, __sub__, __mul__, __matmul__):
    setattr(Tensor, _function.__name__, _function)
# Operators and the methods of the same arguments that they stand for.
STAND_FOR = {**_pairs("add sub mul matmul"), **_BINARY, **_COMPARE, **_UNARY}
