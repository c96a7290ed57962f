"""Networks: modules, parameters, functional forms, initialisers."""
# ruff: noqa: F405

from .._on_demand import loader as _loader
from . import functional, init, modules, parameter
from .modules import *  # noqa: F403
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

_OWN = (
    "Buffer Parameter UninitializedBuffer UninitializedParameter functional init modules parameter "
    "DataParallel LinearCrossEntropyOptions parallel utils"
).split()
__all__ = [*modules.__all__, *_OWN]
_LAZY = {"_linear_cross_entropy_options": "LinearCrossEntropyOptions", "parallel": "DataParallel"}
__getattr__ = _loader(globals(), _LAZY, "attention common_types grad parallel utils")
