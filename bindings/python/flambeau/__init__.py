"""flambeau: PyTorch's interface over libflambeau. `import flambeau as torch`.

Functions, types and Tensor come from `_torch`; packages (`nn`, `optim`, `utils`, ...) are loaded on
first use, so that the import stays short. Nothing below imports this file."""

import gc as _gc
import os as _os
import sys as _sys

_collects = _gc.isenabled()
_gc.disable()  # thousands of functions are made and none is garbage: a tenth of the import
try:
    from . import _methods, _torch
    from ._functions import CHECKS as _checks
    from ._on_demand import by_name as _by_name
    from ._on_demand import loader as _loader
    from ._torch import _sample_dirichlet, _standard_gamma
    from .version import __version__
finally:
    if _collects:
        _gc.enable()

if "TORCHELASTIC_RUN_ID" in _os.environ:
    from ._lines import keep_whole as _keep_whole

    _keep_whole()

globals().update({name: v for name, v in vars(_torch).items() if not name.startswith("_")})
globals().update(_checks)
_torch._package = _sys.modules[__name__]

_PACKAGES = (
    "_C __config__ __future__ _dynamo _higher_order_ops _inductor _subclasses _utils accelerator "
    "amp ao as_torch autograd backends compiler cpu cuda distributed distributions fft foreach "
    "func functional futures fx hub jit library linalg masked multiprocessing nn onnx ops optim "
    "overrides profiler quasirandom random return_types safetensors serialization signal special "
    "storage testing types utils version"
)
_LAZY = {
    "_native": "affine_grid_generator batch_norm binary_cross_entropy_with_logits constant_pad_nd "
    "convolution embedding frobenius_norm grid_sampler grid_sampler_2d grid_sampler_3d group_norm "
    "instance_norm kl_div layer_norm native_batch_norm native_channel_shuffle native_group_norm "
    "native_layer_norm norm_except_dim nuclear_norm poisson_nll_loss",
    "_places": "get_include get_library",
    "_streams": "Event Stream",
    "_symbols": "SymBool SymFloat SymInt",
    "accelerator": "get_device_module",
    "amp": "GradScaler autocast",
    "amp.autocast_mode": "clear_autocast_cache get_autocast_cpu_dtype get_autocast_dtype "
    "get_autocast_gpu_dtype is_autocast_available is_autocast_cache_enabled "
    "is_autocast_cpu_enabled is_autocast_enabled set_autocast_cache_enabled set_autocast_cpu_dtype "
    "set_autocast_cpu_enabled set_autocast_dtype set_autocast_enabled set_autocast_gpu_dtype",
    "compiler": "compile",
    "futures": "Future",
    "func": "vmap",
    "nn.functional": "conv_tbc",
    "overrides": "DisableTorchFunction DisableTorchFunctionSubclass",
    "serialization": "load save",
    "utils.dlpack": "to_dlpack",
}
_load = _loader(globals(), _LAZY, _PACKAGES)
_OF_TORCH = _by_name(_torch._LAZY)


def __getattr__(name):
    if name.startswith("_foreach_"):
        from . import foreach

        if name[9:] in foreach.__all__:
            return getattr(foreach, name[9:])
    if name == "torch":  # packages write torch.torch.Tensor
        return _sys.modules[__name__]
    if name in _OF_TORCH:
        value = globals()[name] = getattr(_torch, name)
        return value
    return _load(name)


def __dir__():
    return sorted({*globals(), *_PACKAGES.split(), *_OF_TORCH, *_by_name(_LAZY)})
