"""Networks: modules, parameters, functional forms, initialisers."""
# ruff: noqa: F405

import importlib as _importlib

from . import functional, init, modules, parameter
from .modules import *  # noqa: F403
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

__all__ = [
    *modules.__all__,
    "Buffer",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "functional",
    "init",
    "modules",
    "parameter",
    "DataParallel",
    "LinearCrossEntropyOptions",
    "parallel",
    "utils",
]


def __getattr__(name):
    if name in ("attention", "common_types", "grad", "parallel", "utils"):
        return _importlib.import_module("." + name, __name__)
    if name == "DataParallel":
        from .parallel import DataParallel

        return DataParallel
    if name == "LinearCrossEntropyOptions":
        from ._linear_cross_entropy_options import LinearCrossEntropyOptions

        return LinearCrossEntropyOptions
    raise AttributeError(f"module 'torch.nn' has no attribute '{name}' in flambeau")
