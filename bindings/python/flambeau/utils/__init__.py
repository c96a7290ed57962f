"""Utilities; `data` is the one that programs use."""

import importlib as _importlib


def __getattr__(name):
    if name in (
        "_pytree",
        "checkpoint",
        "collect_env",
        "data",
        "dlpack",
        "hooks",
        "plot",
        "progress",
        "tensorboard",
    ):
        return _importlib.import_module("." + name, __name__)
    raise AttributeError(f"module 'torch.utils' has no attribute '{name}' in flambeau")
