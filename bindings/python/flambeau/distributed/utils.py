"""`torch.distributed.utils`: small helpers that packages take from there, under torch's names,
which begin with an underscore."""

import dataclasses

from .._tensor import Tensor

__all__ = []


def _p_assert(cond, s, raise_assertion_error=True):
    """Raises AssertionError, or prints what is wrong, unless `cond`."""
    if cond:
        return
    if raise_assertion_error:
        raise AssertionError(s)
    print(s)


def _apply_to_tensors(fn, container):
    """A nest of lists, tuples, dictionaries, sets and data classes with `fn` of each tensor."""
    if isinstance(container, Tensor):
        return fn(container)
    if dataclasses.is_dataclass(container) and not isinstance(container, type):
        fields = [f.name for f in dataclasses.fields(container) if f.init]
        made = {name: _apply_to_tensors(fn, getattr(container, name)) for name in fields}
        return dataclasses.replace(container, **made)
    if isinstance(container, dict):
        made = container.copy()  # of its kind, with what its kind has besides
        made.update((key, _apply_to_tensors(fn, value)) for key, value in container.items())
        return made
    if isinstance(container, tuple) and hasattr(container, "_fields"):
        return type(container)(*(_apply_to_tensors(fn, value) for value in container))
    if isinstance(container, (list, tuple, set)):
        return type(container)(_apply_to_tensors(fn, value) for value in container)
    return container


def _cast_forward_inputs(dtype, *args, **kwargs):
    """Arguments with floating-point tensors in that dtype; None: as they are."""
    if dtype is None:
        return args, kwargs
    cast = lambda t: t.to(dtype) if t.is_floating_point() else t
    return _apply_to_tensors(cast, args), _apply_to_tensors(cast, kwargs)


def _replace_by_prefix(state_dict, old_prefix, new_prefix):
    """Gives keys that begin with one prefix the other."""
    if old_prefix == new_prefix:
        raise ValueError("old_prefix and new_prefix must be distinct")
    for key in [key for key in state_dict if key.startswith(old_prefix)]:
        state_dict[new_prefix + key[len(old_prefix) :]] = state_dict.pop(key)


def _get_root_modules(modules):
    """Those of the modules that are in no other of them."""
    below = {id(m) for outer in modules for m in outer.modules() if m is not outer}
    return [module for module in modules if id(module) not in below]
