"""Module: attributes that register parameters, buffers and children, and the walks over that tree.

Invariant: a name lives in exactly one of the instance's dictionary, `_parameters`, `_buffers`,
`_modules`. The walks (state dict, moves) are in `_state.py` and `_walk.py`; this file holds
attributes and the call."""

from __future__ import annotations

from collections.abc import Callable

from ..._call import _fast
from ..._tensor import Tensor
from ...utils.hooks import register
from ..parameter import Buffer, Parameter, UninitializedBuffer
from . import _hooks
from ._hooks import (  # noqa: F401: torch has their registration here
    call,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
    registered,
)
from ._paths import KEY, handle_of, tell
from ._state import StateMixin, _IncompatibleKeys  # noqa: F401: packages look for it here
from ._walk import WalkMixin

_push, _pop, _clear_error = (_fast.flam_module_push, _fast.flam_scope_pop, _fast.flam_error_clear)
TYPE_CHECKING = False  # typing is slow to import; typing.get_type_hints needs both names
if TYPE_CHECKING:
    from typing import Any
else:
    Any = object

_global_is_full_backward_hook = None
_global_forward_hooks, _global_forward_pre_hooks = {}, {}
_global_forward_hooks_with_kwargs, _global_forward_hooks_always_called = {}, {}
_global_backward_hooks, _global_backward_pre_hooks = {}, {}
_global_buffer_registration_hooks, _global_module_registration_hooks = {}, {}
_global_parameter_registration_hooks = {}
_hooks._home = globals()
_FRESH = (
    "_parameters _buffers _modules _forward_hooks _forward_pre_hooks _backward_hooks "
    "_forward_hooks_with_kwargs _forward_pre_hooks_with_kwargs _forward_hooks_always_called "
    "_backward_pre_hooks _state_dict_hooks _state_dict_pre_hooks _load_state_dict_pre_hooks "
    "_load_state_dict_post_hooks"
).split()


def _forward_unimplemented(self, *input):
    raise NotImplementedError(
        f'Module [{type(self).__name__}] is missing the required "forward" function'
    )


class Module(StateMixin, WalkMixin):
    """Base of all networks: assign Parameters and Modules to attributes, define `forward`."""

    dump_patches = False
    call_super_init = False  # whether a class after Module in the order of bases is set up, too
    training: bool

    def __init__(self, *args, **kwargs):
        if (args or kwargs) and not self.call_super_init:
            given = next(iter(kwargs)) if kwargs else None
            raise TypeError(
                f"{type(self).__name__}.__init__() got an unexpected keyword argument '{given}'"
                if kwargs
                else f"{type(self).__name__}.__init__() takes 1 positional argument but "
                f"{len(args) + 1} were given"
            )
        state = self.__dict__
        state["training"] = True
        for name in _FRESH:
            state[name] = {}
        state["_non_persistent_buffers_set"] = set()
        state["_is_full_backward_hook"] = None
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    # ---- attributes

    def __getattr__(self, name):
        state = self.__dict__
        for group in ("_parameters", "_buffers", "_modules"):
            if group in state and name in state[group]:
                return state[group][name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name, value):
        state = self.__dict__
        if isinstance(value, Parameter):
            self._claim(name, "_parameters", "assign parameters")
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            self._claim(name, "_modules", "assign module")
            state["_modules"][name] = registered(self, "module", name, value)
            tell(self, name)
        elif isinstance(value, (Buffer, UninitializedBuffer)):
            self._claim(name, "_buffers", "assign buffer")
            self.register_buffer(name, value, getattr(value, "persistent", True))
        elif "_parameters" in state and name in state["_parameters"]:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{_typename(value)}' as parameter '{name}' "
                    "(torch.nn.Parameter or None expected)"
                )
            state["_parameters"][name] = None
            tell(self, name)
        elif "_modules" in state and name in state["_modules"]:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{_typename(value)}' as child module '{name}' "
                    "(torch.nn.Module or None expected)"
                )
            state["_modules"][name] = None
            tell(self, name)
        elif "_buffers" in state and name in state["_buffers"]:
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(
                    f"cannot assign '{_typename(value)}' as buffer '{name}' "
                    "(torch.nn.Buffer, torch.Tensor or None expected)"
                )
            state["_buffers"][name] = value
        else:
            object.__setattr__(self, name, value)

    def _claim(self, name, group, what):
        state = self.__dict__
        if group not in state:
            raise AttributeError(f"cannot {what} before Module.__init__() call")
        state.pop(name, None)
        for other in ("_parameters", "_buffers", "_modules"):
            if other != group:
                state[other].pop(name, None)
        state["_non_persistent_buffers_set"].discard(name)

    def __delattr__(self, name):
        state = self.__dict__
        for group in ("_parameters", "_buffers", "_modules"):
            if name in state[group]:
                del state[group][name]
                state["_non_persistent_buffers_set"].discard(name)
                tell(self, name)
                return
        object.__delattr__(self, name)

    def __dir__(self):
        return sorted({*object.__dir__(self), *self._parameters, *self._buffers, *self._modules})

    def __getstate__(self):
        return {name: value for name, value in self.__dict__.items() if name != KEY}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self.__dict__.pop(KEY, None)
        for name in _FRESH:
            self.__dict__.setdefault(name, {})
        self.__dict__.setdefault("_non_persistent_buffers_set", set())
        handle_of(self)

    # ---- registration

    def register_parameter(self, name, param):
        """Adds a parameter under `name`; None registers the name without one."""
        self._check_name(name, "_parameters", "parameter")
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{_typename(param)}' object to parameter '{name}' "
                "(torch.nn.Parameter or None required)"
            )
        if param is not None and param.grad_fn is not None:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be "
                f"created explicitly. To express '{name}' as a function of another Tensor, compute "
                "the value in the forward() method."
            )
        self._parameters[name] = registered(self, "parameter", name, param)
        tell(self, name)

    def register_buffer(self, name, tensor, persistent=True):
        """Adds a tensor to the module's state that is not learned."""
        self._check_name(name, "_buffers", "buffer")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{_typename(tensor)}' object to buffer '{name}' "
                "(torch Tensor or None required)"
            )
        self._buffers[name] = registered(self, "buffer", name, tensor)
        (
            self._non_persistent_buffers_set.discard
            if persistent
            else self._non_persistent_buffers_set.add
        )(name)
        tell(self, name)

    def add_module(self, name, module):
        """Adds a child under `name`."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{_typename(module)} is not a Module subclass")
        self._check_name(name, "_modules", "module")
        self._modules[name] = registered(self, "module", name, module)
        tell(self, name)

    register_module = add_module

    def _check_name(self, name, group, what):
        if group not in self.__dict__:
            raise AttributeError(f"cannot assign {what} before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"{what} name should be a string. Got {_typename(name)}")
        if "." in name:
            got = f", got: {name}" if what == "module" else ""
            raise KeyError(f'{what} name can\'t contain "."{got}')
        if name == "":
            raise KeyError(f'{what} name can\'t be empty string ""')
        if hasattr(self, name) and name not in self.__dict__[group]:
            raise KeyError(f"attribute '{name}' already exists")

    # ---- the call

    # An attribute for checkers of types, so that any signature may override it.
    forward: Callable[..., Any] = _forward_unimplemented

    def __call__(self, *args, **kwargs) -> Any:
        state = self.__dict__
        scope = _push((state.get(KEY) or handle_of(self))._h)  # memory reports name the module
        try:
            if not (
                state["_forward_hooks"]
                or state["_forward_pre_hooks"]
                or state["_backward_hooks"]
                or state["_backward_pre_hooks"]
                or _global_forward_hooks
                or _global_forward_pre_hooks
                or _global_backward_hooks
                or _global_backward_pre_hooks
            ):
                return self.forward(*args, **kwargs)
            return call(self, args, kwargs)
        finally:
            if _pop(scope):  # forward left a scope of its own open, which is its right
                _clear_error()

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        """Calls `hook(module, args, output)` after forward; what it returns replaces the output."""
        return register(
            self._forward_hooks,
            hook,
            prepend,
            kwargs=(self._forward_hooks_with_kwargs, with_kwargs),
            always=(self._forward_hooks_always_called, always_call),
        )

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        """Calls `hook(module, args)` before forward; what it returns replaces the arguments."""
        marked = (self._forward_pre_hooks_with_kwargs, with_kwargs)
        return register(self._forward_pre_hooks, hook, prepend, kwargs=marked)

    def register_full_backward_hook(self, hook, prepend=False):
        """Calls `hook(module, grad_input, grad_output)` once the gradients of the inputs are
        known."""
        return self._register_backward(hook, prepend, True)

    def register_backward_hook(self, hook):
        """Calls `hook(module, grad_input, grad_output)` with the gradients of the operation that
        made the result: the older form, for modules of one operation."""
        return self._register_backward(hook, False, False)

    def _register_backward(self, hook, prepend, full):
        if self._is_full_backward_hook is (not full):
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single "
                "Module. Please use only one of them."
            )
        self._is_full_backward_hook = full
        return register(self._backward_hooks, hook, prepend)

    def register_full_backward_pre_hook(self, hook, prepend=False):
        """Calls `hook(module, grad_output)` before the module's gradients are computed."""
        return register(self._backward_pre_hooks, hook, prepend)

    # ---- text

    def extra_repr(self):
        return ""

    def _get_name(self):
        return type(self).__name__

    def __repr__(self):
        extra = self.extra_repr()
        extra_lines = extra.split("\n") if extra else []
        child_lines = [f"({name}): {_indent(repr(child))}" for name, child in self._modules.items()]
        if len(extra_lines) <= 1 and not child_lines:
            return f"{self._get_name()}({extra})"
        return "\n  ".join([self._get_name() + "(", *extra_lines, *child_lines]) + "\n)"


def _typename(value):
    if isinstance(value, Tensor):
        return value.type()
    kind = type(value)
    name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
    return name.replace("flambeau.", "torch.", 1) if name.startswith("flambeau.") else name


def _indent(text):
    first, *rest = text.split("\n")
    return "\n".join([first, *("  " + line for line in rest)])


for _part in StateMixin, WalkMixin:  # a method printed without its parentheses is Module's
    for _method in vars(_part).values():
        if type(_method) is type(_indent):
            _method.__qualname__ = f"Module.{_method.__name__}"
