"""Switches of back ends, as programs set them; and those that flambeau does without, where programs
ask whether they are there."""

import sys as _sys
import types as _types

from . import cuda, cudnn

__all__ = ["cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp", "opt_einsum"]
_ABSENT = {
    "mkl": "Intel's MKL: flambeau multiplies with its own kernels.",
    "mkldnn": "oneDNN: flambeau convolves with its own kernels.",
    "mps": "Apple's GPUs: flambeau has no such device.",
    "openmp": "OpenMP: flambeau has a pool of its own.",
    "opt_einsum": "opt_einsum: flambeau's `einsum` contracts from left to right.",
}


def _never():
    """Whether it can be used: never."""
    return False


for _name, _why in _ABSENT.items():
    _full = f"{__name__}.{_name}"
    globals()[_name] = _sys.modules[_full] = _types.ModuleType(_full, _why)
    globals()[_name].is_available = _never
globals()["mps"].is_built = _never
