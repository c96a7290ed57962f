"""Utilities; `data` is the one that programs use."""

import importlib as _importlib
import weakref as _weakref


def swap_tensors(t1, t2):
    """Two tensors exchange values, classes and attributes, and stay the objects they are."""
    if _weakref.getweakrefs(t1) or _weakref.getweakrefs(t2):
        which = "t1" if _weakref.getweakrefs(t1) else "t2"
        raise RuntimeError(f"Cannot swap {which} because it has weakref associated with it")
    for name in ("__class__", "__dict__", "_h"):
        kept = getattr(t1, name)
        setattr(t1, name, getattr(t2, name))
        setattr(t2, name, kept)


def __getattr__(name):
    if name in (
        "_pytree",
        "benchmark",
        "checkpoint",
        "collect_env",
        "data",
        "dlpack",
        "hooks",
        "model_zoo",
        "plot",
        "progress",
        "tensorboard",
    ):
        return _importlib.import_module("." + name, __name__)
    raise AttributeError(f"module 'torch.utils' has no attribute '{name}' in flambeau")
