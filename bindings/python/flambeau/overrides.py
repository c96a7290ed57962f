"""`__torch_function__`: classes of one's own that see, and may answer, every function of tensors.

A program without subclasses of Tensor pays nothing: the first subclass makes the functions look at
the classes of their arguments first, and Tensor's methods, too."""

import functools

from . import _signatures, _torch
from ._call import _fast, wrap
from ._deprecated import functions as _deprecated_functions
from ._gen import ops
from ._on_demand import change_shown
from ._operators import STAND_FOR
from ._tensor import Tensor, disabled_torch_function
from ._thread_state import ThreadState
from .nn import functional

__all__ = (
    "get_default_nowrap_functions handle_torch_function has_torch_function is_tensor_like "
    "is_tensor_method_or_property resolve_name"
).split()


_state = ThreadState(off=False)
_seeing = {}  # class -> whether it has a __torch_function__ of its own or inherited from a subclass


class DisableTorchFunctionSubclass:
    """A `with` block in which functions do not ask `__torch_function__`."""

    def __enter__(self):
        self._before = _state.off
        _state.off = True

    def __exit__(self, *exc):
        _state.off = self._before


DisableTorchFunction = DisableTorchFunctionSubclass


def _sees(cls):
    found = _seeing.get(cls)
    if found is None:
        function = getattr(cls, "__torch_function__", None)
        plain = cls is Tensor or function is None or function is disabled_torch_function
        found = _seeing[cls] = not plain
    return found


def _overloaded(args, kwargs):
    """The arguments that are asked, in the order of asking: subclasses before their bases."""
    found = []
    for value in (*args, *kwargs.values()):
        for part in value if type(value) in (tuple, list) else (value,):
            cls = type(part)
            if not _sees(cls) or any(type(other) is cls for other in found):
                continue
            at = [i for i, other in enumerate(found) if issubclass(cls, type(other))]
            found.insert(at[0] if at else len(found), part)
    return found


def has_torch_function(relevant_args):
    """Whether one of the arguments has a `__torch_function__` to ask."""
    return not _state.off and bool(_overloaded(relevant_args, {}))


def handle_torch_function(public_api, relevant_args, *args, **kwargs):
    """Asks the arguments for the result of `public_api(*args, **kwargs)`."""
    return _ask(public_api, _overloaded(relevant_args, {}), args, kwargs)


def _ask(function, asked, args, kwargs):
    types = tuple(type(value) for value in asked)
    for value in asked:
        found = type(value).__torch_function__(function, types, args, kwargs)
        if found is not NotImplemented:
            return found
    raise TypeError(
        f"no implementation found for '{resolve_name(function)}' on types that implement "
        f"__torch_function__: {list(types)}"
    )


def default_torch_function(cls, func, types, args=(), kwargs=None):
    """What a subclass inherits: the plain result, with tensors as instances of the subclass."""
    if not all(issubclass(cls, kind) for kind in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        found = func(*args, **(kwargs or {}))
    return _as_class(found, cls)


def _as_class(value, cls):
    if cls is Tensor or isinstance(value, cls):
        return value
    if isinstance(value, Tensor):
        return as_subclass(value, cls)
    if isinstance(value, (tuple, list)):
        parts = [_as_class(part, cls) for part in value]
        return value._make(parts) if hasattr(value, "_make") else type(value)(parts)
    return value


def as_subclass(tensor, cls):
    """The same tensor as an instance of a subclass of Tensor."""
    if not (isinstance(cls, type) and issubclass(cls, Tensor)):
        raise TypeError(f"as_subclass(): expected a subclass of torch.Tensor, got {cls}")
    return wrap(_fast.flam_tensor_retain, tensor._h, cls=cls)


def get_default_nowrap_functions():
    """Functions whose results stay as they are: none; what torch lists is not asked for here."""
    return set()


def is_tensor_like(inp):
    """Whether it is a tensor, or has a `__torch_function__`."""
    return isinstance(inp, Tensor) or hasattr(type(inp), "__torch_function__")


def is_tensor_method_or_property(func):
    """Whether it is a method of Tensor."""
    return getattr(func, "_of_tensor", False)


def resolve_name(f):
    """Such as `torch.add` or `torch.Tensor.add`."""
    space = "torch.Tensor" if is_tensor_method_or_property(f) else "torch"
    return f"{space}.{getattr(f, '__name__', f)}"


def _asking(function, of_tensor=False, method=None):
    """The function, after asking the classes of its arguments; an operator is shown as the method
    that it stands for."""

    @functools.wraps(function)
    def asking(*args, **kwargs):
        if not _state.off:
            asked = _overloaded(args, kwargs)
            if asked:
                known = getattr(Tensor, method) if method else getattr(asking, "_shown", asking)
                return _ask(known, asked, args, kwargs)
        return function(*args, **kwargs)

    asking._of_tensor = of_tensor
    return asking


_INFRASTRUCTURE = frozenset(
    "__new__ __init__ __init_subclass__ __dir__ __hash__ __reduce_ex__ __setstate__ "
    "__torch_function__ __repr__ __str__ __format__ __deepcopy__ __copy__ as_subclass "
    "_make_subclass _moved _release_handle".split()
)


# Of torch's functions, those that take whatever they are given.
_UNASKED = frozenset(
    "as_tensor asarray can_cast from_numpy is_storage is_tensor promote_types result_type tensor "
    "typename".split()
)


def _ask_first(shown):
    """Changes a function in place: a program may have imported it."""
    if shown.__name__ not in _UNASKED:
        asking = _asking(shown.func)
        asking._shown = shown
        shown.func = asking


@functools.cache
def install():
    """Makes every function of tensors ask first. Once in a process."""
    change_shown(_ask_first)
    operators = {f"__{name}__": method for name, method in STAND_FOR.items()}
    for name, value in list(vars(Tensor).items()):
        if name in _INFRASTRUCTURE or isinstance(value, (staticmethod, classmethod)):
            continue
        if name in ("T", "mT", "data", "grad"):
            asking = _asking(value.fget, True)
            setattr(Tensor, name, property(asking, value.fset, value.fdel, value.__doc__))
        elif callable(value) and not isinstance(value, type):
            setattr(Tensor, name, _asking(value, True, operators.get(name)))
