"""Parameters and buffers: tensors that a Module registers when they are assigned to one of its
attributes."""

from .._call import _fast, wrap
from .._tensor import Tensor


class Parameter(Tensor):
    """A tensor that is learned. Shares memory with `data`; requires a gradient unless told
    otherwise."""

    __slots__ = ()

    def __new__(cls, data=None, requires_grad=True):
        if data is None:
            from .. import empty

            data = empty(0)
        if not isinstance(data, Tensor):
            raise TypeError(f"cannot make a Parameter of '{type(data).__name__}'; give a tensor")
        self = wrap(_fast.flam_detach(data._h), cls)
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
            if self.grad is not None:
                found.grad = self.grad.clone()
        return found

    def __reduce_ex__(self, protocol):
        return _rebuild, (self.detach(), self.requires_grad)


def _rebuild(data, requires_grad):
    return Parameter(data, requires_grad)


class Buffer(Tensor):
    """A tensor that belongs to a module's state and is not learned."""

    __slots__ = ("persistent",)

    def __new__(cls, data, *, persistent=True):
        self = wrap(_fast.flam_detach(data._h), cls)
        self.persistent = persistent
        return self


class UninitializedParameter(Parameter):
    """Has no shape yet; lazy modules are not supported, so this only answers isinstance checks."""

    __slots__ = ()

    def __new__(cls, *args, **kwargs):
        raise NotImplementedError(
            "lazy modules are not supported; give the sizes when the module is made"
        )


def is_lazy(parameter):
    return False
