"""Switches of back ends, as programs set them; and those that flambeau does without, where programs
ask whether they are there, or switch them off: that is kept, and decides nothing."""

import sys as _sys
import types as _types

from .._on_demand import during as _during
from . import cuda, cudnn

__all__ = "cuda cudnn mha mkl mkldnn mps nnpack openmp opt_einsum".split()
_ABSENT = {
    "mha": "torch's fused attention of transformers: flambeau's is always fused.",
    "mkl": "Intel's MKL: flambeau multiplies with its own kernels.",
    "mkldnn": "oneDNN: flambeau convolves with its own kernels.",
    "mps": "Apple's GPUs: flambeau has no such device.",
    "nnpack": "NNPACK: flambeau convolves with its own kernels.",
    "openmp": "OpenMP: flambeau has a pool of its own.",
    "opt_einsum": "opt_einsum: flambeau's `einsum` contracts from left to right.",
}


def _never():
    """Whether it can be used: never."""
    return False


for _name, _why in _ABSENT.items():
    globals()[_name] = _made = _types.ModuleType(f"{__name__}.{_name}", _why)
    _sys.modules[_made.__name__], _made.is_available = _made, _never


def _switches(name, arguments, **initial):
    """`flags`, whose signature is that of `arguments`, and `set_flags`; None leaves a switch."""
    here, arguments.__qualname__ = vars(globals()[name]), "flags"

    def given(*args, **kwargs):
        return {k: v for k, v in arguments(*args, **kwargs).items() if v is not None}

    def set_flags(*args, **kwargs):
        """Sets switches, in the order of those of `flags`; returns what all of them were."""
        named = {k.removeprefix("_"): v for k, v in kwargs.items()}
        before = tuple(map(here.get, initial))
        here.update(given(*args, **dict.fromkeys([*initial][len(args) :]) | named))
        return before

    def flags(*args, **kwargs):
        """Sets switches for a `with` block or a function."""
        return _during(here, **given(*args, **kwargs))

    flags.__wrapped__ = arguments
    here.update(initial, flags=flags, set_flags=set_flags)


_switches(
    "mkldnn",
    lambda enabled=False, deterministic=False, allow_tf32=True, fp32_precision="none": locals(),
    **{"enabled": True, "deterministic": False, "allow_tf32": False, "fp32_precision": "none"},
)
_switches("nnpack", lambda enabled=False: locals(), enabled=True)
_switches("opt_einsum", lambda enabled=None, strategy=None: locals(), enabled=False, strategy=None)
globals()["mps"].is_built = _never
globals()["opt_einsum"].get_opt_einsum = lambda: None
_enable, _is_enabled = cuda._switch("fused")
vars(globals()["mha"]).update(set_fastpath_enabled=_enable, get_fastpath_enabled=_is_enabled)
