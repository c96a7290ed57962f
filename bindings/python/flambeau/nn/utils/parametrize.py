"""Parametrizations: a parameter or buffer computed from others whenever it is read.

A parametrized module gets a class of its own, on which the tensor is a property; what it is
computed from lies under `module.parametrizations.<name>`, where optimizers and state dicts find
it."""

from collections.abc import Sequence
from contextlib import contextmanager
from copy import deepcopy

from ..._tensor import Tensor
from ...autograd import no_grad
from ..modules import Module, ModuleDict, ModuleList
from ..modules._paths import KEY, handle_of
from ..parameter import Parameter

_cache, _cache_depth = {}, 0


@contextmanager
def cached():
    """Within, every parametrized tensor is computed once."""
    global _cache_depth
    _cache_depth += 1
    try:
        yield
    finally:
        _cache_depth -= 1
        if not _cache_depth:
            _cache.clear()


def _register(module, name, tensor):
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


class ParametrizationList(ModuleList):
    """The originals of one tensor and the modules that compute it from them, in order."""

    def __init__(self, modules, original, unsafe=False):
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        new = self._inverted(original)
        if not isinstance(new, (Tensor, Sequence)):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got {type(new).__name__}"
            )
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        if self.is_tensor:
            self._keep_one(original, new)
        else:
            self._keep_several(original, new)
        if not unsafe:
            _check_alike(self(), dtype, shape, "tensor", "unparametrized", "parametrized")

    @no_grad()
    def _inverted(self, value):
        for module in reversed(list(self)):
            if hasattr(module, "right_inverse"):
                try:
                    value = module.right_inverse(value)
                except NotImplementedError:
                    pass  # the original begins as the tensor itself
        return value

    def _keep_one(self, original, new):
        for what in "dtype", "device":
            if getattr(original, what) != getattr(new, what):
                raise ValueError(
                    f"When `right_inverse` outputs one tensor, it may not change the {what}.\n"
                    f"original.{what}: {getattr(original, what)}\n"
                    f"right_inverse(original).{what}: {getattr(new, what)}"
                )
        if new is not original:
            original.data = new.detach()
        _register(self, "original", original)

    def _keep_several(self, original, new):
        for i, part in enumerate(new):
            if not isinstance(part, Tensor):
                raise ValueError(
                    "'right_inverse' must return a Tensor or a Sequence of tensors (list, "
                    f"tuple...). Got element {i} of the sequence with type {type(part).__name__}."
                )
            if isinstance(original, Parameter):
                part = Parameter(part, original.requires_grad)
            _register(self, f"original{i}", part.requires_grad_(original.requires_grad))

    @no_grad()
    def right_inverse(self, value):
        """Sets the originals such that the tensor becomes `value`."""
        for module in reversed(list(self)):
            if not hasattr(module, "right_inverse"):
                raise RuntimeError(
                    f"parametrization {type(module).__name__} does not implement right_inverse."
                )
            value = module.right_inverse(value)
        if self.is_tensor:
            if not isinstance(value, Tensor):
                raise ValueError(
                    f"`right_inverse` should return a tensor. Got {type(value).__name__}"
                )
            self._put("original", value, "The tensor returned by `right_inverse`")
            return
        if not isinstance(value, Sequence):
            raise ValueError(
                f"'right_inverse' must return a sequence of tensors. Got {type(value).__name__}."
            )
        if len(value) != self.ntensors:
            raise ValueError(
                "'right_inverse' must return a sequence of tensors of length "
                f"{self.ntensors}. Got a sequence of length {len(value)}."
            )
        for i, part in enumerate(value):
            self._put(f"original{i}", part, f"Tensor {i} returned by `right_inverse`")

    def _put(self, name, value, what):
        original = getattr(self, name)
        if value.dtype != original.dtype:
            raise ValueError(
                f"{what} has dtype {value.dtype} while `{name}` has dtype {original.dtype}"
            )
        original.data = value.detach()

    def forward(self):
        first, *rest = self
        found = first(*(getattr(self, name) for name in self._originals))
        for module in rest:
            found = module(found)
        return found

    @property
    def _originals(self):
        return ["original"] if self.is_tensor else [f"original{i}" for i in range(self.ntensors)]


def _check_alike(found, dtype, shape, what, before, after):
    """A parametrization keeps dtype and shape."""
    if not isinstance(found, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(found).__name__}.")
    for name, was, now in ("dtype", dtype, found.dtype), ("shape", shape, found.shape):
        if was != now:
            raise ValueError(
                f"Registering a parametrization may not change the {name} of the {what}, unless "
                f"`unsafe` flag is enabled.\n{before} {name}: {was}\n{after} {name}: {now}"
            )


def _own_class(module):
    """Gives a module a class of its own, for properties."""
    cls = type(module)

    def copied(self, memo):
        known = memo.get(id(self))
        if known is not None:
            return known
        replica = memo[id(self)] = self.__new__(type(self))
        state = {name: value for name, value in self.__dict__.items() if name != KEY}
        replica.__dict__.update(deepcopy(state, memo))
        handle_of(replica)
        return replica

    def refused(self):
        raise RuntimeError(
            "Serialization of parametrized modules is only supported through state_dict(). See:\n"
            "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
            "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training"
        )

    members = {"__getstate__": refused}
    if not hasattr(cls, "__deepcopy__"):
        members["__deepcopy__"] = copied
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), members)


def _add_property(module, name):
    def read(self):
        compute = self.parametrizations[name]
        if not _cache_depth:
            return compute()
        key = id(self), name
        if key not in _cache:
            _cache[key] = compute()
        return _cache[key]

    def write(self, value):
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(read, write))


def register_parametrization(module, tensor_name, parametrization, *, unsafe=False):
    """Computes `module.<tensor_name>` by `parametrization` from now on, after those it has."""
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_next(module, tensor_name, parametrization)
        module.parametrizations[tensor_name].append(parametrization)
        module.parametrizations[tensor_name].unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        original = getattr(module, tensor_name)
        made = ParametrizationList([parametrization], original, unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _own_class(module)
            module.parametrizations = ModuleDict()
        _add_property(module, tensor_name)
        module.parametrizations[tensor_name] = made
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element "
            f"with name '{tensor_name}'"
        )
    return module


def _check_next(module, name, parametrization):
    before = getattr(module, name)
    after = parametrization(before)
    texts = f"module.{name}", f"parametrization(module.{name})"
    _check_alike(after, before.dtype, before.shape, "tensor", *texts)
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        back = parametrization.right_inverse(after)
    except NotImplementedError:
        return
    if not isinstance(back, Tensor):
        raise ValueError(
            f"parametrization.right_inverse must return a tensor. Got: {type(back).__name__}"
        )
    for what in "dtype", "shape":
        if getattr(back, what) != getattr(before, what):
            raise ValueError(
                f"The tensor returned by parametrization.right_inverse must have the same {what} "
                f"as module.{name}, unless the `unsafe` flag is enabled.\n"
                f"module.{name}.{what}: {getattr(before, what)}\n"
                f"returned {what}: {getattr(back, what)}"
            )


def is_parametrized(module, tensor_name=None):
    """Whether a module has parametrizations, of one tensor or of any."""
    found = getattr(module, "parametrizations", None)
    if not isinstance(found, ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


def remove_parametrizations(module, tensor_name, leave_parametrized=True):
    """Makes the tensor a plain one again: what it was computed as, or its original."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    found = module.parametrizations[tensor_name]
    if found.is_tensor:
        original = found.original
        if leave_parametrized:
            with no_grad():
                original.data = getattr(module, tensor_name).detach()
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        original = Parameter(value.detach()) if value.requires_grad else value
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is "
            "parametrized in terms of a sequence of tensors."
        )
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, original)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module):
    """The class a module had before it was parametrized."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(from_module, to_module, tensor_name=None):
    """Parametrizes another module alike, sharing what the tensors are computed from."""
    if not is_parametrized(from_module):
        return to_module
    for name in [tensor_name] if tensor_name else list(from_module.parametrizations):
        theirs = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name).detach()))
        for parametrization in theirs:
            register_parametrization(to_module, name, parametrization)
        ours = to_module.parametrizations[name]
        for original in theirs._originals:
            setattr(ours, original, getattr(theirs, original))
    return to_module
