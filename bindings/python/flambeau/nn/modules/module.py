"""Module: attributes that register parameters, buffers and children, and the walks over that tree.

Invariant: a name lives in exactly one of the instance's dictionary, `_parameters`, `_buffers`,
`_modules`. The walks (state dict, moves) are in `_state.py` and `_walk.py`; this file holds
attributes, the call, and its hooks.

Hooks of all modules run before the module's own; forward's with `always_call` run once more where
something raised, unless they did already. A hook's number is the same in every dictionary that
mentions it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from ..._call import _fast
from ..._deprecated import warn
from ..._library import scope
from ..._on_demand import called
from ..._tensor import Tensor
from ...utils.hooks import register
from ..parameter import Buffer, Parameter, UninitializedBuffer
from ._paths import KEY, handle_of, place, tell
from ._state import StateMixin, _IncompatibleKeys  # noqa: F401
from ._walk import WalkMixin

_push, _within, _clear_error = _fast.flam_module_push, scope.within, _fast.flam_error_clear
TYPE_CHECKING = False  # typing is slow to import; typing.get_type_hints needs both names
if TYPE_CHECKING:
    from typing import Any
else:
    Any = object

_global_is_full_backward_hook = None
_global_forward_hooks, _global_forward_pre_hooks = OrderedDict(), OrderedDict()
_global_forward_hooks_with_kwargs = OrderedDict()
_global_forward_hooks_always_called = OrderedDict()
_global_backward_hooks, _global_backward_pre_hooks = OrderedDict(), OrderedDict()
_global_buffer_registration_hooks = OrderedDict()
_global_module_registration_hooks = OrderedDict()
_global_parameter_registration_hooks = OrderedDict()
_MEMBERS = "_parameters", "_buffers", "_modules"
_HOOKS = (
    "_forward_hooks _forward_pre_hooks _backward_hooks _forward_hooks_with_kwargs "
    "_forward_pre_hooks_with_kwargs _forward_hooks_always_called _backward_pre_hooks "
    "_state_dict_hooks _state_dict_pre_hooks _load_state_dict_pre_hooks _load_state_dict_post_hooks"
).split()
# What else than parameters and modules a registered name may be set to, beside None.
_PLAIN = (
    ("_parameters", (), "parameter", "torch.nn.Parameter or None"),
    ("_modules", (), "child module", "torch.nn.Module or None"),
    ("_buffers", Tensor, "buffer", "torch.nn.Buffer, torch.Tensor or None"),
)
_MIXED = (
    "Cannot use both regular backward hooks and full backward hooks {}. Please use only one of "
    "them."
)


def register_module_forward_hook(hook, *, with_kwargs=False, always_call=False):
    """A hook called after every module's forward."""
    marked = _global_forward_hooks_with_kwargs, with_kwargs
    always = _global_forward_hooks_always_called, always_call
    return register(_global_forward_hooks, hook, kwargs=marked, always=always)


def register_module_full_backward_hook(hook):
    """A hook called with the gradients of every module's inputs and outputs."""
    return _register_backward(hook, True)


def register_module_backward_hook(hook):
    """A hook called with the gradients of the last operation of every module."""
    return _register_backward(hook, False)


def _register_backward(hook, full):
    global _global_is_full_backward_hook
    if _global_is_full_backward_hook is (not full):
        raise RuntimeError(_MIXED.format("as a global Module hook"))
    _global_is_full_backward_hook = full
    return register(_global_backward_hooks, hook)


def _registering(kind, name, when):
    """A function that registers hooks of all modules."""

    def register_for_all(hook):
        return register(globals()[f"_global_{kind}_hooks"], hook)

    return called(register_for_all, name, f"A hook called {when}.")


for _kind, _when in (
    ("forward_pre", "before every module's forward"),
    ("full_backward_pre", "with the gradients of every module's outputs"),
    ("buffer_registration", "before any buffer is registered"),
    ("module_registration", "before any child is registered"),
    ("parameter_registration", "before any parameter is registered"),
):
    _name = f"register_module_{_kind}_hook"
    globals()[_name] = _registering(_kind.removeprefix("full_"), _name, _when)


def _registered(module, what, name, value):
    """The value to register under a name, as the hooks want it."""
    for hook in list(globals()[f"_global_{what}_registration_hooks"].values()):
        changed = hook(module, name, value)
        value = value if changed is None else changed
    return value


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
        for name in _MEMBERS:
            state[name] = {}
        for name in _HOOKS:
            state[name] = OrderedDict()
        state["_non_persistent_buffers_set"] = set()
        state["_is_full_backward_hook"] = None
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    # ---- attributes

    def __getattr__(self, name):
        state = self.__dict__
        for group in _MEMBERS:
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
            state["_modules"][name] = _registered(self, "module", name, value)
            tell(self, name)
        elif isinstance(value, (Buffer, UninitializedBuffer)):
            self._claim(name, "_buffers", "assign buffer")
            kept = () if getattr(value, "persistent", True) else (False,)
            self.register_buffer(name, value, *kept)  # a subclass may take no more
        else:
            for group, kind, what, wanted in _PLAIN:
                if group in state and name in state[group]:
                    if value is not None and not isinstance(value, kind):
                        raise TypeError(
                            f"cannot assign '{_typename(value)}' as {what} '{name}' ({wanted} "
                            "expected)"
                        )
                    state[group][name] = value
                    if group != "_buffers":
                        tell(self, name)
                    return
            object.__setattr__(self, name, value)

    def _claim(self, name, group, what):
        state = self.__dict__
        if group not in state:
            raise AttributeError(f"cannot {what} before Module.__init__() call")
        state.pop(name, None)
        for other in _MEMBERS:
            if other != group:
                state[other].pop(name, None)
        state["_non_persistent_buffers_set"].discard(name)

    def __delattr__(self, name):
        state = self.__dict__
        for group in _MEMBERS:
            if name in state[group]:
                del state[group][name]
                state["_non_persistent_buffers_set"].discard(name)
                tell(self, name)
                return
        object.__delattr__(self, name)

    def __dir__(self):
        names = {*object.__dir__(self), *self._parameters, *self._buffers, *self._modules}
        return sorted(name for name in names if not name[:1].isdigit())

    def __getstate__(self):
        return {name: value for name, value in self.__dict__.items() if name != KEY}

    def _replicate_for_data_parallel(self):
        """The same object with dictionaries of its own and no parameters: those of another device
        come in their place."""
        made = self.__new__(type(self))
        made.__dict__ = {name: value for name, value in self.__dict__.items() if name != KEY}
        own = {"_buffers": self._buffers.copy(), "_modules": self._modules.copy()}
        made.__dict__.update(own, _parameters={}, _is_replica=True)
        return made

    def __setstate__(self, state):
        self.__dict__.update(state)
        self.__dict__.pop(KEY, None)
        for name in (*_MEMBERS, *_HOOKS):
            self.__dict__.setdefault(name, {} if name in _MEMBERS else OrderedDict())
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
        self._parameters[name] = _registered(self, "parameter", name, param)
        tell(self, name)

    def register_buffer(self, name, tensor, persistent=True):
        """Adds a tensor to the module's state that is not learned."""
        self._check_name(name, "_buffers", "buffer")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{_typename(tensor)}' object to buffer '{name}' "
                "(torch Tensor or None required)"
            )
        self._buffers[name] = _registered(self, "buffer", name, tensor)
        unsaved = self._non_persistent_buffers_set
        (unsaved.discard if persistent else unsaved.add)(name)
        tell(self, name)

    def add_module(self, name, module):
        """Adds a child under `name`."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{_typename(module)} is not a Module subclass")
        self._check_name(name, "_modules", "module")
        self._modules[name] = _registered(self, "module", name, module)
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
        if (
            self._backward_hooks  # the error where `__init__` did not run is an attribute's
            or state["_forward_hooks"]
            or state["_forward_pre_hooks"]
            or state["_backward_pre_hooks"]
            or _global_forward_hooks
            or _global_forward_pre_hooks
            or _global_backward_hooks
            or _global_backward_pre_hooks
        ):
            forward, args, kwargs = _call, (self, args, kwargs), {}
        else:
            forward = self.forward
        # Memory reports name the module. Forward may leave scopes of its own open.
        named = (state.get(KEY) or handle_of(self))._h
        try:
            return _within(_clear_error, _push, named, forward, args, kwargs)
        except Exception as problem:
            place(problem, self)
            raise

    def _is_hooked(self):
        state = self.__dict__
        return bool(
            state["_forward_hooks"]
            or state["_forward_pre_hooks"]
            or state["_backward_hooks"]
            or state["_backward_pre_hooks"]
            or _global_forward_hooks
            or _global_forward_pre_hooks
            or _global_backward_hooks
            or _global_backward_pre_hooks
        )

    def _named(self, forward, *args):
        """Calls a function as this module's, for memory reports and errors."""
        try:
            return _within(_clear_error, _push, handle_of(self)._h, forward, args, {})
        except Exception as problem:
            place(problem, self)
            raise

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        """Calls `hook(module, args, output)` after forward; what it returns replaces the output."""
        marked = self._forward_hooks_with_kwargs, with_kwargs
        always = self._forward_hooks_always_called, always_call
        return register(self._forward_hooks, hook, prepend, kwargs=marked, always=always)

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
            raise RuntimeError(_MIXED.format("on a single Module"))
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


def _backward_hooks(module):
    """The hooks on the gradients of a call: full ones, regular ones, and those before both."""
    groups = {True: [], False: []}
    groups[_global_is_full_backward_hook is not False] += _global_backward_hooks.values()
    groups[module.__dict__.get("_is_full_backward_hook") is not False] += (
        module._backward_hooks.values()
    )
    before = [*_global_backward_pre_hooks.values(), *module._backward_pre_hooks.values()]
    return groups[True], groups[False], before


def _call(module, args, kwargs):
    """`module.forward` between all the hooks."""
    ran, result = set(), None
    try:
        args, kwargs = _before(module, args, kwargs)
        full, regular, first = _backward_hooks(module)
        backward = None
        if full or first:
            from ._backward_hooks import BackwardHooks

            backward = BackwardHooks(module, full, first)
            args = backward.watch_inputs(args)
        result = module.forward(*args, **kwargs)
        for key, hook, with_kwargs, _ in _after(module):
            ran.add(key)
            result = _applied(module, hook, with_kwargs, args, kwargs, result)
        if backward:
            result = backward.watch_outputs(result)
        if regular:
            from ._backward_hooks import watch_last

            watch_last(module, regular, args, result)
        return result
    except Exception:
        for key, hook, with_kwargs, always in _after(module):
            if always and key not in ran:
                try:
                    result = _applied(module, hook, with_kwargs, args, kwargs, result)
                except Exception as problem:
                    warn(
                        "module forward hook with ``always_call=True`` raised an exception that "
                        f"was silenced as another error was raised in forward: {problem}"
                    )
        raise


def _after(module):
    """The hooks after forward: number, function, whether with keywords, whether always."""
    for key, hook in list(_global_forward_hooks.items()):
        with_kwargs = key in _global_forward_hooks_with_kwargs
        yield key, hook, with_kwargs, key in _global_forward_hooks_always_called
    for key, hook in list(module._forward_hooks.items()):
        with_kwargs = key in module._forward_hooks_with_kwargs
        yield key, hook, with_kwargs, key in module._forward_hooks_always_called


def _applied(module, hook, with_kwargs, args, kwargs, result):
    changed = hook(module, args, kwargs, result) if with_kwargs else hook(module, args, result)
    return result if changed is None else changed


def _before(module, args, kwargs):
    hooks = [*_global_forward_pre_hooks.items(), *module._forward_pre_hooks.items()]
    for key, hook in hooks:
        if key in module._forward_pre_hooks_with_kwargs:
            changed = hook(module, args, kwargs)
            if changed is not None:
                if not isinstance(changed, tuple) or len(changed) != 2:
                    raise RuntimeError(
                        "forward pre-hook must return None or a tuple of (new_args, new_kwargs), "
                        f"but got {changed}."
                    )
                args, kwargs = changed
        else:
            changed = hook(module, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)
    return args, kwargs


def _typename(value):
    if isinstance(value, Tensor):
        return value.type()
    kind = type(value)
    name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
    return name.replace("flambeau.", "torch.", 1) if name.startswith("flambeau.") else name


def stored(*names, plain=""):
    """An `extra_repr` of attributes: those of `plain` by value, the others by name; of a bias
    whether there is one."""
    plain = plain.split()

    def extra_repr(self):
        held = {name: getattr(self, name) for name in (*plain, *names)}
        if "bias" in held:
            held["bias"] = held["bias"] is not None
        return ", ".join(f"{v}" if name in plain else f"{name}={v}" for name, v in held.items())

    return extra_repr


def unusual(module, **usual):
    """Options for `extra_repr`, those only that are not as usual."""
    held = {name: getattr(module, name) for name in usual}
    return [f"{name}={value}" for name, value in held.items() if value != usual[name]]


def _indent(text):
    first, *rest = text.split("\n")
    return "\n".join([first, *("  " + line for line in rest)])


for _part in StateMixin, WalkMixin:  # a method printed without its parentheses is Module's
    for _method in vars(_part).values():
        if type(_method) is type(_indent):
            _method.__qualname__ = f"Module.{_method.__name__}"
