"""flambeau: PyTorch's interface over libflambeau. `import flambeau as torch`.

What a program needs at once is imported here; packages (`nn`, `optim`, `utils`, ...) are loaded on
first use, so that the import stays under 100 ms."""

import importlib as _importlib

from . import _later, _methods, _old_forms, _types
from ._default_device import get_default_device, set_default_device
from ._errors import (
    DeviceError,
    DeviceMismatchError,
    DtypeError,
    Error,
    FileError,
    HostMemoryError,
    InvalidArgumentError,
    LibraryError,
    OutOfMemoryError,
    OutOfRangeError,
    ShapeError,
    UnsupportedError,
)
from ._factory import arange, as_tensor, asarray, from_numpy, frombuffer, tensor
from ._functions import (
    _assert,
    _check,
    broadcast_shapes,
    can_cast,
    get_default_dtype,
    get_device,
    get_device_module,
    get_float32_matmul_precision,
    get_num_interop_threads,
    is_complex,
    is_floating_point,
    is_signed,
    is_storage,
    is_tensor,
    numel,
    promote_types,
    result_type,
    set_default_dtype,
    set_default_tensor_type,
    set_float32_matmul_precision,
    set_flush_denormal,
    set_num_interop_threads,
    typename,
)
from ._gen import ops as _ops
from ._legacy import CPU as _CPU_TYPES
from ._printing import set_printoptions
from ._tensor import Tensor
from ._types import (
    Size,
    channels_last,
    channels_last_3d,
    contiguous_format,
    device,
    dtype,
    finfo,
    iinfo,
    layout,
    memory_format,
    preserve_format,
    strided,
)
from .autograd import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)

__version__ = "2.15.0+flambeau.0.1.0"  # programs compare it with torch's

globals().update(_types.NAMES)
globals().update(_CPU_TYPES)
globals().update(_old_forms.TORCH)
globals().update(_methods.FUNCTIONS)
for _name, _function in _ops.TORCH.items():
    globals().setdefault(_name, _function)
from math import e, inf, nan, pi  # noqa: E402

newaxis = None

_PACKAGES = {
    "_C",
    "_dynamo",
    "_higher_order_ops",
    "_utils",
    "accelerator",
    "amp",
    "ao",
    "as_torch",
    "autograd",
    "backends",
    "compiler",
    "cpu",
    "cuda",
    "distributed",
    "distributions",
    "fft",
    "func",
    "functional",
    "fx",
    "hub",
    "jit",
    "library",
    "multiprocessing",
    "linalg",
    "nn",
    "onnx",
    "ops",
    "optim",
    "overrides",
    "profiler",
    "random",
    "safetensors",
    "serialization",
    "special",
    "storage",
    "testing",
    "types",
    "utils",
    "version",
}
_NATIVE = (
    *("affine_grid_generator", "batch_norm", "binary_cross_entropy_with_logits", "convolution"),
    *("embedding", "frobenius_norm", "grid_sampler", "group_norm", "instance_norm", "kl_div"),
    *("layer_norm", "norm_except_dim", "nuclear_norm", "poisson_nll_loss", "constant_pad_nd"),
    *("grid_sampler_2d", "grid_sampler_3d", "native_batch_norm", "native_channel_shuffle"),
    *("native_group_norm", "native_layer_norm"),
)
_SWITCHES = (
    *("get_deterministic_debug_mode", "is_anomaly_check_nan_enabled", "is_anomaly_enabled"),
    *("is_warn_always_enabled", "set_anomaly_enabled", "set_deterministic_debug_mode"),
    "set_warn_always",
)
_LAZY = {
    **dict.fromkeys(_NATIVE, "_native"),
    **dict.fromkeys(_SWITCHES, "_switches"),
    **_later.FUNCTIONS,
    "save": "serialization",
    "load": "serialization",
    "manual_seed": "random",
    "seed": "random",
    "initial_seed": "random",
    "get_rng_state": "random",
    "set_rng_state": "random",
    "Generator": "random",
    "default_generator": "random",
    "randint": "random",
    "randint_like": "random",
    "normal": "random",
    "from_dlpack": "_dlpack",
    "to_dlpack": "utils.dlpack",
    "einsum": "_contract",
    "tensordot": "_contract",
    "unique": "_sets",
    "unique_consecutive": "_sets",
    "autocast": "amp",
    "GradScaler": "amp",
    "is_autocast_available": "amp.autocast_mode",
    "is_autocast_enabled": "amp.autocast_mode",
    "set_autocast_enabled": "amp.autocast_mode",
    "get_autocast_dtype": "amp.autocast_mode",
    "set_autocast_dtype": "amp.autocast_mode",
    "is_autocast_cpu_enabled": "amp.autocast_mode",
    "set_autocast_cpu_enabled": "amp.autocast_mode",
    "get_autocast_cpu_dtype": "amp.autocast_mode",
    "set_autocast_cpu_dtype": "amp.autocast_mode",
    "get_autocast_gpu_dtype": "amp.autocast_mode",
    "set_autocast_gpu_dtype": "amp.autocast_mode",
    "is_autocast_cache_enabled": "amp.autocast_mode",
    "set_autocast_cache_enabled": "amp.autocast_mode",
    "clear_autocast_cache": "amp.autocast_mode",
    "compile": "compiler",
    "vmap": "func",
    "DisableTorchFunction": "overrides",
    "DisableTorchFunctionSubclass": "overrides",
    "UntypedStorage": "_storage",
    "TypedStorage": "_storage",
    "from_file": "_storage",
    "Event": "_streams",
    "Stream": "_streams",
}


def __getattr__(name):
    if name in _PACKAGES:
        try:
            return _importlib.import_module("." + name, __name__)
        except ModuleNotFoundError as problem:
            if problem.name != f"{__name__}.{name}":
                raise
    elif name.startswith("_foreach_"):
        found = getattr(_importlib.import_module("._foreach", __name__), name, None)
        if found is not None:
            return found
    elif name in _LAZY:
        found = globals()[name] = getattr(
            _importlib.import_module("." + _LAZY[name], __name__), name
        )
        return found
    raise AttributeError(f"module 'torch' has no attribute '{name}' in flambeau {__version__}")


def __dir__():
    return sorted({*globals(), *_PACKAGES, *_LAZY})
