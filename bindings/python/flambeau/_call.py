"""What generated functions stand on: argument conversion off the fast path, overloads, results,
errors.

A generated body tries the direct C call; when a Python value does not fit (`AttributeError`,
`TypeError`, `KeyError`, `OverflowError`), `_slow` converts each argument by its declared kind, with
an error that names the argument."""

from collections import namedtuple
from functools import partial as _partial
from operator import index

from . import _deprecated
from ._errors import DtypeError, InvalidArgumentError, UnsupportedError, exception_of
from ._library import blocking as _blocking
from ._library import fast as _fast
from ._library import ffi, owner
from ._on_demand import called
from ._types import BY_CODE, NAMES, dtype, dtype_of
from ._types import device as device_type
from ._types import device_code as _device_code
from ._types import device_of_code as _device

_NULL = ffi.NULL
Tensor = None  # set by _tensor once the class exists
_bool = bool
_own, _own_each, _own_view = owner.own, owner.own_each, owner.own_view
remember = owner.remember


class _Cells(dict):
    """Makes one-element out parameters by their C type, remembering the parsed types."""

    def __missing__(self, c_type):
        element = ffi.typeof(c_type)
        self[c_type] = make = lambda new=ffi.new: new(element)
        return make


_out_cell = _Cells()


def _text(p):
    """A C string as str; None for NULL."""
    return None if p == _NULL else ffi.string(p).decode("utf-8", "replace")


def _dtype(code):
    return BY_CODE[code]


class _Handle(owner.Owner):
    """Owner of a handle that is not a tensor; subclasses name their release function."""

    __slots__ = ("__weakref__",)


class _List(_Handle):
    __slots__ = ()
    _release_handle = _fast.flam_tensor_list_release


def _tensors(found):
    """The tensors of a list, as a tuple; None where one is missing."""
    h = found._h
    return tuple([_own(Tensor, _entry, h, i) for i in range(_fast.flam_tensor_list_size(h))])


_entry = _fast.flam_tensor_list_get


def wrap(function, *args, cls=None):
    """A new Python object that owns the handle which `function(*args)` returns."""
    t = _own(cls or Tensor, function, *args)
    return _raise() if t is None else t


_gone = type(None)  # what an absent entry answers: None


def object_of(found):
    """The program's own object of a tensor that the library gave a new handle for, such as
    `view._base` and `node.variable`; `found` itself where none lives."""
    known = owner.objects.get(found._h, _gone)()
    if known is None or known._h != found._h:
        remember(found)
        return found
    return known


class Holder:
    """A class of torch's around such an owner."""

    __slots__ = ("_handle", "_h", "__weakref__")

    @classmethod
    def _of(cls, handle):
        self = object.__new__(cls)
        self._handle, self._h = handle, handle._h
        return self


# ---- errors


_PYTHON = 1  # FLAM_LANGUAGE_PYTHON


def _raise():
    """Raises this thread's pending error and forgets it. A callback's own exception comes back as
    itself."""
    code = _fast.flam_error_code()
    payload = _fast.flam_error_payload()
    if payload != _NULL:
        original = ffi.from_handle(payload)
        _fast.flam_error_clear()
        raise original
    message = _text(_fast.flam_error_message_in(_PYTHON))
    _fast.flam_error_clear()
    raise exception_of(code, message)


def _none():
    """None, where a NULL result means "there is none"; raises where it means failure."""
    if _fast.flam_error_code():
        _raise()


# ---- arguments


def _strings(values):
    """A list of C strings that lives as long as the list."""
    return [ffi.new("char[]", v.encode()) for v in values]


_NUMBERS = {
    int,
    float,
    bool,
    complex,
}  # classes of plain numbers: a quick test before anything else
_small = {}


def _scalar(value):
    """A plain number as an operand. The ones that programs keep using are kept (never zero: 0.0
    equals -0.0, nor complex ones, whose parts may be)."""
    key = value.__class__, value
    found = _small.get(key)
    if found is None:
        found = _number(value)
        if value and len(_small) < 1024 and found is not None and not found.dtype.is_complex:
            _small[key] = found
    return found


def _number(value):
    """A Python or NumPy number as a tensor that promotes by its category only."""
    if isinstance(value, bool):
        return wrap(_fast.flam_scalar_bool, value)
    if isinstance(value, int):
        return wrap(_fast.flam_scalar_i64, value)
    if isinstance(value, float):
        return wrap(_fast.flam_scalar_f64, value)
    if isinstance(value, complex):
        return wrap(_fast.flam_scalar_c128, value.real, value.imag)
    if type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
        return _number(value.item())
    return None


def _kind_name(value):
    kind = type(value)
    return "Tensor" if hasattr(value, "_h") and kind.__name__ == "Parameter" else kind.__name__


def _mismatch(name, position, parameter, wanted, value):
    return TypeError(
        f"{name}(): argument '{parameter}' (position {position + 1}) must be {wanted}, "
        f"not {_kind_name(value)}"
    )


def _as_ints(value):
    values = [value] if hasattr(value, "__index__") else value
    return ffi.new("int64_t[]", [index(v) for v in values])


_WANTED = {
    "tensor": "Tensor",
    "number": "Tensor",  # or a plain number
    "tensors": "tuple of Tensors",
    "ints": "tuple of ints",
    "doubles": "tuple of floats",
    "int": "int",
    "size": "int",
    "double": "Number",
    "bool": "bool",
    "dtype": "torch.dtype",
    "device": "torch.device",
    "string": "str",
    "enum": "str",
    "handle": "torch.Generator",  # the only one beside tensors that operations take
}


def _as_double(value):
    if isinstance(value, (str, bytes)):
        raise TypeError("a text is no number, although Python makes one of it")
    return float(value)


def _as_doubles(value):
    several = getattr(value, "ndim", 1) and hasattr(value, "__iter__")
    return [_as_double(v) for v in (value if several else [value])]


# What C takes for a value of a kind; a nullable number is a list of one.
_MADE = {
    **{"ints": _as_ints, "doubles": _as_doubles, "int": index, "size": index, "double": _as_double},
    **{"bool": _bool, "dtype": lambda value: dtype_of(value)._code, "device": _device_code},
    **{"string": lambda value: value.encode(), "handle": lambda value: value._h},
}
_NUMERIC = "int", "size", "double", "bool"
_PLACES = "dim", "dim0", "dim1", "start"  # of one number, no tensor with dimensions
_SPACED = "linspace", "logspace"  # their ends may be tensors, whose gradients they do not have


def listed(value, name, position, parameter):
    """A list of tensors, as it is. What else can be iterated, such as a tensor, is none in torch:
    its parts would be gone before C reads them."""
    if not isinstance(value, (list, tuple)):
        raise _mismatch(name, position, parameter, "tuple of Tensors", value)
    return value


def integer(value, name, position, parameter):
    """What a parameter for an int takes beside ints: what Python takes as an index, but no truth
    value, and for a place nothing with dimensions. C would cut fractions off."""
    if value is None or type(value) is object:  # left out
        return value
    several = parameter in _PLACES and getattr(value, "ndim", 0)
    try:
        if value.__class__ is not _bool and not several:
            return index(value)
    except TypeError:
        pass
    raise _mismatch(name, position, parameter, "int", value)


def factor(name, value, *operands):
    """A factor of a sum, whose kind C does not see: no float where the result is integral, and a
    truth value only where it is one. What is no operand is refused later."""
    kinds = {v.dtype for v in operands if hasattr(v, "_h")}
    number = value
    if getattr(value, "ndim", 1) == 0 and not getattr(value, "requires_grad", False):
        number = value.item()  # of NumPy, or a tensor without dimensions
    elif not isinstance(value, (int, float, complex)):
        raise TypeError(f"argument '{name}' must be Number, not {type(value).__name__}")
    if not any(kind.is_floating_point or kind.is_complex for kind in kinds) or isinstance(
        number, complex
    ):
        made = [v if hasattr(v, "_h") else _number(v) for v in operands]
        if None in made:
            return value
        kinds = {v.dtype for v in made}
    if isinstance(number, complex):
        if not any(kind.is_complex for kind in kinds):
            raise DtypeError(
                f"For non-complex input tensors, argument {name} must not be a complex number."
            )
        raise UnsupportedError(
            f"a complex {name} is unsupported; multiply the operand by it before the call"
        )
    if isinstance(number, float) and not any(
        kind.is_floating_point or kind.is_complex for kind in kinds
    ):
        raise DtypeError(
            f"For integral input tensors, argument {name} must not be a floating point number."
        )
    if isinstance(number, _bool) and kinds != {NAMES["bool"]}:
        raise DtypeError(f"Boolean {name} only supported for Boolean results.")
    return number


def handles(values, absent=None):
    """Those of a list of tensors; `absent` for None, where it may be in the list."""
    if not isinstance(values, (list, tuple)):
        raise TypeError(f"expected a list or tuple of Tensors, but got {type(values).__name__}")
    found = [absent if value is None else getattr(value, "_h", None) for value in values]
    if None in found:
        i = found.index(None)
        kind = type(values[i]).__name__
        raise TypeError(f"expected Tensor as element {i} in argument 0, but got {kind}")
    return found


def _convert(name, position, parameter, kind, enum, value, keep):
    """C arguments for one value; `keep` holds temporaries until the call is over."""
    nullable = kind.endswith("?")
    kind = kind.rstrip("?")
    if value is None and kind in ("dtype", "device"):
        return [enum or 0]
    if value is None and nullable:
        return [_NULL, 0] if kind in ("ints", "doubles", "tensors", "strings") else [_NULL]
    if name in _SPACED and hasattr(value, "_h"):
        value = value.detach()
    if kind == "tensors":
        return [handles(listed(value, name, position, parameter)), len(value)]
    try:
        if kind in ("tensor", "number"):
            found = value if hasattr(value, "_h") or kind == "tensor" else _number(value)
            keep.append(found)
            return [found._h]
        if kind in _MADE:
            found = _MADE[kind](value)
            if kind in ("ints", "doubles"):
                return [found, len(found)]
            return [[found] if nullable and kind in _NUMERIC else found]
    except (TypeError, AttributeError, ValueError, OverflowError):
        raise _mismatch(name, position, parameter, _WANTED[kind], value) from None
    if kind == "enum":
        value = "unspecified" if value is None else value
        if value in enum:
            return [enum[value]]
        if value == "elementwise_mean":
            return [enum[_deprecated.elementwise_mean()]]
        words = " or ".join(repr(w) for w in enum if w != "unspecified")
        raise InvalidArgumentError(
            f"{value} is not a valid value for {parameter}: {name}(): {parameter} can only be "
            f"{words}, not {value!r}"
        )
    raise _mismatch(name, position, parameter, _WANTED.get(kind, kind), value)


def _view_dtype(input, size):
    if isinstance(size, dtype):
        found = _own_view(Tensor, input, _fast.flam_view_dtype, input._h, size._code)
        return _raise() if found is None else found
    return None


# Functions with a list of sizes that also take something else in its place: its keyword, and what
# makes a handle of it or returns None. Looked at where the arguments are not those of C.
_OTHER_FORMS = {"view": ("dtype", _view_dtype)}


_OF_NUMBERS = {"add", "sub", "mul", "div", "floor_divide"}


def _slow(function, name, parameters, values, *rest):
    """Calls `function` after converting each value by its parameter's kind. `values` are in C
    order."""
    if name in _OTHER_FORMS:
        found = _OTHER_FORMS[name][1](*values)
        if found is not None:
            return found
    keep, arguments = [], []
    by_name = {p[0]: p for p in parameters}
    # A number stands for an operand beside others that are tensors, or in the sums of numbers.
    alone = name not in _OF_NUMBERS and not any(hasattr(v, "_h") for v in values)
    for position, (row, value) in enumerate(zip(by_name.values(), values)):
        parameter, kind, enum, _ = row
        if type(value) is object:  # the generated modules' marker of what was not given
            raise TypeError(f"{name}() missing required argument: '{parameter}'")
        if alone and kind == "number" and position == 0:
            raise _mismatch(name, position, parameter, "Tensor", value)
        arguments += _convert(name, position, parameter, kind, enum, value, keep)
    try:
        return function(*arguments, *rest)
    except OverflowError:
        numbers = [a[0] if type(a) is list and len(a) == 1 else a for a in arguments]
        if all(-(2**63) <= n < 2**63 for n in numbers if isinstance(n, int)):
            raise
        raise ValueError("Overflow when unpacking long long") from None


def _variadic(values, named, parameter, name):
    """The list behind `f(2, 3)`, `f((2, 3))` and `f(size=(2, 3))`."""
    if named:
        if parameter not in named and tuple(named) == _OTHER_FORMS.get(name, ())[:1]:
            parameter = next(iter(named))
        if parameter not in named or len(named) > 1 or values:
            wrong = next(k for k in named if k != parameter or values)
            raise TypeError(f"{name}() got an unexpected keyword argument '{wrong}'")
        values = (named[parameter],)
    if not values:
        raise TypeError(f'{name}() missing 1 required positional arguments: "{parameter}"')
    if len(values) == 1:
        only = values[0]
        if not hasattr(only, "__index__"):
            return only
        if hasattr(only, "dim") and only.dim():
            return only.tolist()
    return values


class _Signature(str):
    """What `inspect` takes a function to wrap, made a signature when asked: without old words and
    NumPy's, which the function takes too."""

    @property
    def __signature__(self):
        from inspect import signature  # takes a fifth of the package's import

        return signature(eval(f"lambda {self}: None"))


def _legacy_reduction(size_average, reduce):
    """torch's deprecated pair of flags as today's word."""
    return _deprecated.reduction_of(size_average, reduce)


def _numbers_first(*args, **named):
    """A call with factors in front of the operands, torch's deprecated order."""
    return _deprecated.numbers_first(*args, **named)


# ---- out=


def check_out(out, name):
    """Refuses an `out=` that is no tensor."""
    if not isinstance(out, Tensor):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {_kind_name(out)}")


def fill(out, values, name, cast=False, warns=True):
    """A result, or several, in what `out=` names, which takes their shapes and, with `cast`,
    converts within a category. All is looked at and warned of before the first one changes."""
    several = isinstance(values, (tuple, list))
    if several and (not isinstance(out, (tuple, list)) or len(out) != len(values)):
        raise TypeError(f"{name}(): argument 'out' must be tuple of {len(values)} Tensors")
    pairs = list(zip(out, values)) if several else [(out, values)]
    parts = [f"{name}.{part}" for part in getattr(values, "_fields", ())] or [name] * len(pairs)
    for part, (to, value) in zip(parts, pairs):
        check_out(to, name)
        if _fast.flam_check_output(to._h, value._h, part.encode(), cast, warns):
            _raise()
    for to, value in pairs:
        to.resize_(value.shape).copy_(value)
    return out


# Those whose number of elements is a consequence of what they are given.
_COUNTED = ("arange", "fftfreq", "rfftfreq")


def made_in(out, memory_format, make, *args, dtype=None, device=None, requires_grad=False,
            spaced=False, **named):  # fmt: skip
    """What a function makes of no tensors, in `out`, whose dtype and device it gets; `spaced`:
    numbers from one to another, which have no shape of their own."""
    name = make.__name__
    if memory_format is not None:
        raise RuntimeError("'memory_format' argument is incompatible with 'out' tensor argument")
    check_out(out, name)
    if dtype is not None and dtype_of(dtype) is not out.dtype:
        raise RuntimeError(f"dtype {dtype} does not match dtype of out parameter ({out.dtype})")
    if device is not None and device_type(device).type != out.device.type:
        raise RuntimeError(
            f"device type {device_type(device).type} does not match device type of out parameter "
            f"({out.device.type})"
        )
    made = make(*args, dtype=out.dtype, device=out.device, **named)
    if spaced and out.numel() == made.numel():  # as in torch: the shape of `out` stays
        made = made.reshape(out.shape)
    elif name in _COUNTED and out.numel():
        _deprecated.warn(
            f"The number of elements in the out tensor of shape {list(out.shape)} is {out.numel()} "
            f"which does not match the computed number of elements {made.numel()}. The out tensor "
            f"will be resized to a tensor of shape ({made.numel()},)."
        )
    return fill(out, made, name, warns=False).requires_grad_(requires_grad or out.requires_grad)


def made_as(memory_format, pinned, make, *args, requires_grad=False, **named):
    """What a function makes, in another order of memory or in page-locked memory."""
    made = make(*args, **named)
    if memory_format is not None:
        made = made._laid_out(memory_format)
    made = made.pin_memory() if pinned else made
    return made.requires_grad_() if requires_grad else made


# ---- results


RESULTS = {}  # by name, which has one list of fields: what `torch.return_types` shows


def _result(name, fields):
    """A named tuple that prints as torch.return_types does, and is made of several values or of
    one sequence of them."""
    if name in RESULTS:
        assert RESULTS[name]._fields == tuple(fields), name
        return RESULTS[name]
    base = namedtuple(name, fields)

    def new(cls, *values):
        return base._make.__func__(cls, values[0] if len(values) == 1 else values)

    def text(self):
        shown = ",\n".join(f"{n}={v!r}" for n, v in zip(fields, self))
        return f"torch.return_types.{name}(\n{shown})"

    def reduced(self):
        return remade, (name, fields, tuple(self))

    members = {"__slots__": (), "__repr__": text, "__module__": "torch.return_types"}
    members |= {"__new__": new, "__reduce__": reduced}
    made = RESULTS[name] = type(name, (base,), members)
    return made


def remade(name, fields, values):
    """A result that was pickled."""
    return _result(name, fields)(values)


# ---- overloads


def _fits(kind, value, strict):
    """Whether a value may be passed for a parameter of this kind."""
    nullable = kind.endswith("?")
    kind = kind.rstrip("?")
    if value is None:
        return nullable or kind in ("dtype", "device")
    is_tensor = hasattr(value, "_h") and hasattr(value, "dim")
    number = isinstance(value, (int, float)) or (
        type(value).__module__ == "numpy" and not hasattr(value, "__len__")
    )
    if kind in ("tensor", "number"):
        operand = number or isinstance(value, complex)
        return is_tensor or (kind == "number" and not strict and operand)
    if kind == "tensors":
        return isinstance(value, (tuple, list)) and all(hasattr(v, "_h") for v in value)
    if kind == "bool":
        return isinstance(value, bool) or (not strict and hasattr(value, "__index__"))
    if kind in ("int", "size"):
        return (
            hasattr(value, "__index__")
            and not isinstance(value, bool)
            and not (strict and is_tensor)
        )
    if kind == "ints":
        return _fits("int", value, strict) or (
            isinstance(value, (tuple, list)) and all(_fits("int", v, strict) for v in value)
        )
    if kind == "double":
        return (number and not isinstance(value, bool)) or (not strict and is_tensor)
    if kind == "doubles":
        values = value if isinstance(value, (tuple, list)) else (value,)
        return all(_fits("double", v, strict) and not getattr(v, "ndim", 0) for v in values)
    if kind == "dtype":
        return isinstance(value, dtype) or value.__class__ is type
    if kind == "device":
        return isinstance(value, (device_type, str))
    if kind in ("string", "enum"):
        return isinstance(value, str)
    return not is_tensor and not number


_OTHER_NAMES = {"axis": "dim", "keepdims": "keepdim"}


def _matches(parameters, args, kwargs, strict):
    """Whether the arguments can be those of a function with these parameters."""
    by_name = {p[0]: p for p in parameters}
    given = set()
    free = [p for p in parameters if "k" not in p[3]]
    for i, value in enumerate(args):
        if i >= len(free):
            return False
        parameter, kind, _, flags = free[i]
        given.add(parameter)
        if "v" in flags and len(args) > i + 1:
            if not all(_fits("int", v, strict) for v in args[i:]):
                return False
            break
        if not _fits(kind, value, strict):
            return False
    for name, value in kwargs.items():
        name = _OTHER_NAMES.get(name, name) if name not in by_name else name
        if name == "out":
            continue
        if name not in by_name or name in given or not _fits(by_name[name][1], value, strict):
            return False
        given.add(name)
    return all(p[0] in given or "o" in p[3] for p in parameters)


def _overloaded(name, *options):
    """One function over several: the first whose parameters fit, remembered by the arguments'
    types."""
    cache = {}

    def choose(args, kwargs):
        for strict in True, False:
            for function, parameters in options:
                if _matches(parameters, args, kwargs, strict):
                    return function
        got = ", ".join(
            [_kind_name(a) for a in args] + [f"{k}={_kind_name(v)}" for k, v in kwargs.items()]
        )
        forms = "\n".join(f" * ({_shown(parameters)})" for _, parameters in options)
        raise TypeError(
            f"{name}() received an invalid combination of arguments - got ({got}), but expected "
            "one of:\n"
            f"{forms}\n"
        )

    def call(*args, **kwargs):
        key = (*map(type, args), *kwargs, *map(type, kwargs.values()))
        function = cache.get(key)
        if function is None:
            function = choose(args, kwargs)
            if list not in key and tuple not in key:
                cache[key] = function
        return function(*args, **kwargs)

    text = "\n\n".join(f"{name}({_shown(p)})\n\n{f.__doc__}" for f, p in options)
    return called(call, name, text)


def _shown(parameters):
    names = {**_WANTED, "double": "float"}
    parts, starred = [], False
    for parameter, kind, _, flags in parameters:
        if "k" in flags and not starred:
            parts.append("*")
            starred = True
        parts.append(f"{names.get(kind.rstrip('?'), kind.rstrip('?'))} {parameter}")
    return ", ".join(parts)
