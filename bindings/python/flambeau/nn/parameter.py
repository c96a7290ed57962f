"""Parameters and buffers: tensors that a Module registers when they are assigned to one of its
attributes."""

from .._call import _fast, wrap
from .._library import owner
from .._printing import PLAIN
from .._tensor import Tensor, disabled_torch_function
from .._torch import empty


class _Kind(type(Tensor)):
    def __instancecheck__(cls, value):
        """Of a class of the program's, a parameter is one that is marked as such."""
        if type.__instancecheck__(cls, value):
            return True
        return cls is Parameter and isinstance(value, Tensor) and getattr(value, "_is_param", False)


class Parameter(Tensor, metaclass=_Kind):
    """A tensor that is learned. Shares memory with `data`; requires a gradient unless told
    otherwise."""

    __slots__ = ()
    _is_param = True  # prints as one, whatever the class
    __torch_function__ = staticmethod(disabled_torch_function)

    def __new__(cls, data=None, requires_grad=True):
        if data is None:
            data = empty(0)
        if not isinstance(data, Tensor):
            raise TypeError(f"cannot make a Parameter of '{type(data).__name__}'; give a tensor")
        if cls is Parameter and not issubclass(type(data), _OWN) and type(data) is not Tensor:
            self = data.detach().requires_grad_(requires_grad)
            if type(self) is not type(data):
                raise RuntimeError(
                    f"detach() of {type(data).__name__} must give the same class to make a "
                    f"Parameter of it, but gave {type(self).__name__}"
                )
            self._is_param = True
            return self
        self = wrap(_fast.flam_detach, data._h, cls=cls)
        if requires_grad:
            self.requires_grad_(True)
        return self

    def __repr__(self):
        return "Parameter containing:\n" + Tensor.__repr__(self)

    __str__ = __repr__

    def __deepcopy__(self, memo):
        found = memo.get(id(self))
        if found is None:
            found = memo[id(self)] = type(self)(self.detach().clone(), self.requires_grad)
        return found

    def __reduce_ex__(self, protocol):
        return _rebuild, (type(self), self.detach(), self.requires_grad), self.__dict__ or None


def room(shape, wanted=True, **kind):
    """A parameter of this shape whose values are not set; None where none is wanted."""
    return Parameter(empty(shape, **kind)) if wanted else None


def _rebuild(kind, data, requires_grad):
    return Parameter.__new__(kind, data, requires_grad)


class Buffer(Tensor):
    """A tensor that belongs to a module's state and is not learned."""

    __slots__ = ("persistent",)
    __torch_function__ = staticmethod(disabled_torch_function)

    def __new__(cls, data, *, persistent=True):
        self = wrap(_fast.flam_detach, data._h, cls=cls)
        self.persistent = persistent
        return self


PLAIN.update((Parameter, Buffer))


class _Uninitialized:
    """What tensors without a shape share: it cannot be asked for, and comes later. No operation
    gets their handle; what they are besides, such as a dtype, they tell and are told."""

    __slots__ = ()

    @property
    def _h(self):
        raise ValueError(
            "Attempted to use an uninitialized parameter or buffer: it has no shape before its "
            "lazy module was called. Call the module with a first input, or `materialize(shape)`."
        )

    def _inside(self):
        """The same tensor, as an object that operations take."""
        return wrap(_fast.flam_tensor_retain, owner.Owner._h.__get__(self))

    @property
    def shape(self):
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually "
            "happens in `load_state_dict` when trying to load an uninitialized parameter into an "
            "initialized one. Call `forward` to initialize the parameters before accessing "
            "their attributes."
        )

    def materialize(self, shape, device=None, dtype=None):
        """Gives this tensor its shape; its values are not set. It keeps its identity."""
        kind = {"device": device or self.device, "dtype": dtype or self.dtype}
        self.__class__ = self._becomes
        self.data = empty(shape, **kind)

    def share_memory_(self):
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to "
            "initialize the parameters before calling `module.share_memory()`."
        )

    def there(self, moved):
        """What stays without a shape where a move or cast made `moved` of it."""
        return type(self)(self.requires_grad, device=moved.device, dtype=moved.dtype)

    def __repr__(self):
        return f"<{type(self).__name__}>"

    __str__ = __repr__

    def __deepcopy__(self, memo):
        found = memo.get(id(self))
        if found is None:
            found = memo[id(self)] = self.there(self)
        return found

    def __reduce_ex__(self, protocol):
        return type(self), (self.requires_grad, self.device, self.dtype)


class UninitializedParameter(_Uninitialized, Parameter):
    """A parameter of a lazy module before the first input."""

    __slots__ = ()
    _becomes = Parameter

    def __new__(cls, requires_grad=True, device=None, dtype=None):
        return Parameter.__new__(cls, empty(0, device=device, dtype=dtype), requires_grad)


class UninitializedBuffer(_Uninitialized, Tensor):
    """A buffer of a lazy module before the first input."""

    __slots__ = ()
    __torch_function__ = staticmethod(disabled_torch_function)
    _becomes = Tensor

    def __new__(cls, requires_grad=False, device=None, dtype=None):
        nothing = empty(0, device=device, dtype=dtype)  # alive until its handle was used
        return wrap(_fast.flam_detach, nothing._h, cls=cls)


def _without_shape(name, value):
    """A property or a method of tensors that needs no shape, of one that has none."""

    def method(self, *args, **named):
        inside = self._inside()
        found = getattr(inside, name)(*args, **named)
        return self if found is inside else found

    get, set = (
        (lambda self: value.fget(self._inside())),
        (lambda self, v: value.fset(self._inside(), v)),
    )
    return property(get, set) if isinstance(value, property) else method


_NEED_NONE = frozenset(
    "char copy_ cpu cuda double float get_device half int is_complex is_floating_point long "
    "requires_grad_ short size to".split()
)
for _name, _value in vars(Tensor).items():
    if _name in _NEED_NONE or isinstance(_value, property) and not hasattr(_Uninitialized, _name):
        setattr(_Uninitialized, _name, _without_shape(_name, _value))


def is_lazy(parameter):
    """Whether a parameter or buffer has no shape yet."""
    return isinstance(parameter, _Uninitialized)


_OWN = (Parameter, Buffer, _Uninitialized)  # classes whose instances become plain parameters


def module_load(self, other, assign=False):
    """What `load_state_dict` exchanges this tensor of a module with, where
    `__future__.set_swap_module_params_on_conversion` says so; subclasses may define their own."""
    return other.detach() if assign else self.copy_(other).detach()
