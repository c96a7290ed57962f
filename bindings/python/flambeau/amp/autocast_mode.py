"""`autocast` as a `with` block and decorator, the thread's state of it, and decorators for
functions with a gradient of their own. The state itself and what it does to operations is the
library's."""

import functools
from collections.abc import Iterable, Mapping

from .._call import _fast
from .._deprecated import warn
from .._gen import api
from .._scope import Scope, opening
from .._tensor import Tensor
from .._types import bfloat16, device, float16, float32, float64

_DTYPES = (bfloat16, float16)
_AVAILABLE = ("cpu", "cuda", "sim")
_ELSEWHERE = frozenset("hpu ipu maia mps mtia xla xpu".split())  # torch's, where nothing is cast


def is_autocast_available(device_type):
    """Whether there is autocast for a kind of device."""
    return device(device_type).type in _AVAILABLE


def _known(name):
    if not is_autocast_available(name):
        raise RuntimeError(f"unknown device type for autocast in get_autocast_dtype: {name}")
    return device(name).type


def _gpu_missing():
    return not api.device_is_available("cuda")


def autocast_decorator(autocast_instance, func):
    """`func`, run inside the block."""

    @functools.wraps(func)
    def decorate_autocast(*args, **kwargs):
        with autocast_instance:
            return func(*args, **kwargs)

    return decorate_autocast


class autocast(Scope):
    """Inside, operations on a kind of device run in the dtype that suits them: products and
    convolutions in `dtype`, what needs range in float32, the rest in the dtypes they meet."""

    def __init__(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        kind = self.device = device(device_type).type
        if kind not in _AVAILABLE:
            raise RuntimeError(f"User specified an unsupported autocast device_type '{kind}'")
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        self._cache_enabled = (
            is_autocast_cache_enabled() if cache_enabled is None else bool(cache_enabled)
        )
        self._enabled = bool(enabled) and self._usable()
        super().__init__()

    def _usable(self):
        """Warns, as PyTorch does, where the block will do nothing."""
        if self.device == "cuda":
            if _gpu_missing():
                warn("CUDA is not available or torch_xla is imported. Disabling autocast.")
                return False
        elif self.fast_dtype not in _DTYPES:
            name = self.device.upper()
            warn(
                f"In {name} autocast, but the target dtype is not supported. Disabling autocast.\n"
                f"{name} Autocast only supports dtypes of "
                f"{', '.join(map(str, _DTYPES))} currently."
            )
            return False
        return True

    @property
    def _begin(self):
        kind = api._E_flam_device_type[self.device]
        dtype = self.fast_dtype._code if self.fast_dtype in (*_DTYPES, float32) else 0
        return opening(_fast.flam_autocast_push, kind, dtype, self._enabled, self._cache_enabled)

    def __call__(self, func):
        if not callable(func):
            raise TypeError(
                f"autocast()(func) requires a callable, but got {type(func).__name__}. Did you "
                "mean to use autocast as a context manager? For example:\n"
                "    with torch.autocast(device_type=...):\n"
                "        output = model(input)"
            )
        return autocast_decorator(self, func)


# ---- the thread's state --------------------------------------------------------------------------


def is_autocast_enabled(device_type="cuda"):
    """Whether autocast of a kind of device is on."""
    return device_type not in _ELSEWHERE and api.autocast_enabled(_known(device_type))


def get_autocast_dtype(device_type):
    """The dtype that autocast of a kind of device lowers to."""
    return api.autocast_dtype(_known(device_type))


def set_autocast_enabled(device_type, enabled=None):
    """Switches autocast of a kind of device; with one argument, that of GPUs."""
    if enabled is None:
        device_type, enabled = "cuda", device_type
    api.set_autocast_enabled(_known(device_type), enabled)


def set_autocast_dtype(device_type, dtype):
    """Sets the dtype that autocast of a kind of device lowers to."""
    api.set_autocast_dtype(_known(device_type), dtype)


def is_autocast_cpu_enabled():
    """Whether autocast of the cpu is on."""
    return is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled):
    """Switches autocast of the cpu."""
    set_autocast_enabled("cpu", enabled)


def get_autocast_cpu_dtype():
    """The dtype that autocast of the cpu lowers to."""
    return get_autocast_dtype("cpu")


def set_autocast_cpu_dtype(dtype):
    """Sets the dtype that autocast of the cpu lowers to."""
    set_autocast_dtype("cpu", dtype)


def get_autocast_gpu_dtype():
    """The dtype that autocast of GPUs lowers to."""
    return get_autocast_dtype("cuda")


def set_autocast_gpu_dtype(dtype):
    """Sets the dtype that autocast of GPUs lowers to."""
    set_autocast_dtype("cuda", dtype)


def is_autocast_cache_enabled():
    """Whether casts of parameters are kept."""
    return api.autocast_cache_enabled()


def set_autocast_cache_enabled(enabled):
    """Switches the keeping of casts."""
    api.set_autocast_cache_enabled(bool(enabled))


def clear_autocast_cache():
    """Drops the casts that are kept."""
    api.autocast_clear_cache()


# ---- functions with a gradient of their own ------------------------------------------------------


def _cast(value, device_type, dtype):
    """Floating tensors of the kind of device in another dtype, inside containers too."""
    if isinstance(value, Tensor):
        eligible = (
            value.is_floating_point()
            and value.device.type == device_type
            and value.dtype is not float64
        )
        return value.to(dtype) if eligible else value
    if isinstance(value, Mapping):
        return {
            _cast(k, device_type, dtype): _cast(v, device_type, dtype) for k, v in value.items()
        }
    if isinstance(value, (list, tuple)):
        return type(value)(_cast(v, device_type, dtype) for v in value)
    array = hasattr(value, "__array_interface__")
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)) and not array:
        return (_cast(v, device_type, dtype) for v in value)
    return value


def _check_type(device_type):
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")


def custom_fwd(fwd=None, *, device_type, cast_inputs=None):
    """For the forward of a `Function`: remembers autocast's state for its backward. With
    `cast_inputs`, operands are cast to that dtype and forward runs with autocast off."""
    _check_type(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorate_fwd(*args, **kwargs):
        ctx, on = args[0], is_autocast_enabled(device_type)
        ctx._dtype = get_autocast_dtype(device_type)
        ctx._fwd_used_autocast = on and cast_inputs is None
        if cast_inputs is None or not on:
            return fwd(*args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(
                *_cast(args, device_type, cast_inputs), **_cast(kwargs, device_type, cast_inputs)
            )

    return decorate_fwd


def custom_bwd(bwd=None, *, device_type):
    """For the backward of a `Function`: runs it in the state that forward found."""
    _check_type(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorate_bwd(*args, **kwargs):
        ctx = args[0]
        with autocast(device_type, dtype=ctx._dtype, enabled=ctx._fwd_used_autocast):
            return bwd(*args, **kwargs)

    return decorate_bwd
