"""Utilities; `data` is the one that programs use."""

import weakref as _weakref

from .._call import owner as _owner
from .._on_demand import loader as _loader
from .._places import cmake_prefix_path


def swap_tensors(t1, t2):
    """Two tensors exchange values, classes and attributes, and stay the objects they are."""
    for t in t1, t2:
        _owner.objects.pop(t._h, None)  # a reference of our own
    if _weakref.getweakrefs(t1) or _weakref.getweakrefs(t2):
        which = "t1" if _weakref.getweakrefs(t1) else "t2"
        raise RuntimeError(f"Cannot swap {which} because it has weakref associated with it")
    for name in ("__class__", "__dict__"):
        kept = getattr(t1, name)
        setattr(t1, name, getattr(t2, name))
        setattr(t2, name, kept)
    _owner.exchange(t1, t2)
    for t in t1, t2:
        _owner.remember(t)


__getattr__ = _loader(
    globals(),
    {},
    "_pytree benchmark checkpoint collect_env data deterministic dlpack hooks model_zoo plot "
    "progress tensorboard",
)
