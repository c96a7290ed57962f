"""Hooks of modules: how they are registered, those of all modules together, and the call of a
module that has any. A hook's number is the same in every dictionary that mentions it.

Order: hooks of all modules before the module's own; forward's with `always_call` run once more
where something raised, unless they did already."""

import warnings

from ..._tensor import Tensor
from ...utils.hooks import register

_home = {}  # module.py's names: there torch has its dictionaries, and programs replace them


def _all(kind):
    return _home["_global_" + kind]


def register_module_forward_hook(hook, *, with_kwargs=False, always_call=False):
    """A hook called after every module's forward."""
    return register(
        _all("forward_hooks"),
        hook,
        kwargs=(_all("forward_hooks_with_kwargs"), with_kwargs),
        always=(_all("forward_hooks_always_called"), always_call),
    )


def _register_backward(hook, full):
    if _all("is_full_backward_hook") is (not full):
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks as a global Module "
            "hook. Please use only one of them."
        )
    _home["_global_is_full_backward_hook"] = full
    return register(_all("backward_hooks"), hook)


def _everywhere(name, when, run):
    run.__name__ = run.__qualname__ = f"register_module_{name}"
    run.__doc__ = f"A hook called {when}."
    globals()[run.__name__] = run


for _name, _when in (
    ("forward_pre_hook", "before every module's forward"),
    ("buffer_registration_hook", "before any buffer is registered"),
    ("module_registration_hook", "before any child is registered"),
    ("parameter_registration_hook", "before any parameter is registered"),
):
    _everywhere(_name, _when, lambda hook, kind=_name + "s": register(_all(kind), hook))
_everywhere(
    "full_backward_pre_hook",
    "with the gradients of every module's outputs",
    lambda hook: register(_all("backward_pre_hooks"), hook),
)
_everywhere(
    "full_backward_hook",
    "with the gradients of every module's inputs and outputs",
    lambda hook: _register_backward(hook, True),
)
_everywhere(
    "backward_hook",
    "with the gradients of the last operation of every module",
    lambda hook: _register_backward(hook, False),
)


def registered(module, what, name, value):
    """The value to register under a name, as the hooks want it."""
    for hook in list(_all(what + "_registration_hooks").values()):
        changed = hook(module, name, value)
        value = value if changed is None else changed
    return value


def backward_hooks(module):
    """The hooks on the gradients of a call: full ones, regular ones, and those before both."""
    groups = {True: [], False: []}
    groups[_all("is_full_backward_hook") is not False] += _all("backward_hooks").values()
    groups[module.__dict__.get("_is_full_backward_hook") is not False] += (
        module._backward_hooks.values()
    )
    before = [*_all("backward_pre_hooks").values(), *module._backward_pre_hooks.values()]
    return groups[True], groups[False], before


def call(module, args, kwargs):
    """`module.forward` between all the hooks."""
    ran, result = set(), None
    try:
        args, kwargs = _before(module, args, kwargs)
        full, regular, first = backward_hooks(module)
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
            _watch_last(module, regular, result)
        return result
    except Exception:
        for key, hook, with_kwargs, always in _after(module):
            if always and key not in ran:
                try:
                    result = _applied(module, hook, with_kwargs, args, kwargs, result)
                except Exception as problem:
                    warnings.warn(
                        "module forward hook with ``always_call=True`` raised an exception that "
                        f"was silenced as another error was raised in forward: {problem}",
                        stacklevel=2,
                    )
        raise


def _after(module):
    """The hooks after forward: number, function, whether with keywords, whether always."""
    for key, hook in list(_all("forward_hooks").items()):
        with_kwargs = key in _all("forward_hooks_with_kwargs")
        yield key, hook, with_kwargs, key in _all("forward_hooks_always_called")
    for key, hook in list(module._forward_hooks.items()):
        with_kwargs = key in module._forward_hooks_with_kwargs
        yield key, hook, with_kwargs, key in module._forward_hooks_always_called


def _applied(module, hook, with_kwargs, args, kwargs, result):
    changed = hook(module, args, kwargs, result) if with_kwargs else hook(module, args, result)
    return result if changed is None else changed


def _before(module, args, kwargs):
    hooks = [*_all("forward_pre_hooks").items(), *module._forward_pre_hooks.items()]
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


def _watch_last(module, hooks, result):
    """Regular hooks see the gradients of the operation that made the (first) result."""
    first = result
    while not isinstance(first, Tensor):
        if isinstance(first, dict):
            first = next((v for v in first.values() if isinstance(v, Tensor)), None)
        else:
            first = first[0] if isinstance(first, (list, tuple)) and first else None
        if first is None:
            return
    if first.grad_fn is not None:
        for hook in hooks:
            first.grad_fn.register_hook(lambda given, seen, hook=hook: hook(module, given, seen))
