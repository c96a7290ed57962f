"""Gradients: `backward`, `grad`, modes, hooks and functions of one's own."""

from .._on_demand import loader as _loader
from ._backward import backward, detect_anomaly, grad, set_detect_anomaly
from .grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    is_multithreading_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)

__all__ = (
    "Function FunctionCtx Variable backward detect_anomaly enable_grad grad gradcheck "
    "gradgradcheck inference_mode is_grad_enabled is_inference_mode_enabled "
    "is_multithreading_enabled no_grad set_detect_anomaly set_grad_enabled "
    "set_multithreading_enabled"
).split()


_LAZY = {
    "function": "Function FunctionCtx once_differentiable",
    "gradcheck": "gradcheck gradgradcheck",  # the functions, as in torch, not the module
    "profiler": "kineto_available",
    "variable": "Variable",
}
__getattr__ = _loader(
    globals(),
    _LAZY,
    "anomaly_mode forward_ad function functional graph profiler profiler_util variable",
)
