"""Switches of back ends, as programs set them; and those that flambeau does without, where programs
ask whether they are there, or switch them off: that is kept, and decides nothing."""

import sys as _sys
import types as _types

from .._on_demand import during as _during
from . import cuda, cudnn

__all__ = "cuda cudnn mha mkl mkldnn mps nnpack openmp opt_einsum".split()
_ONEDNN = {"enabled": True, "deterministic": False, "allow_tf32": None, "fp32_precision": "none"}
_ABSENT = {
    "mha": ("torch's fused attention of transformers: flambeau's is always fused.", {}),
    "mkl": ("Intel's MKL: flambeau multiplies with its own kernels.", {}),
    "mkldnn": ("oneDNN: flambeau convolves with its own kernels.", _ONEDNN),
    "mps": ("Apple's GPUs: flambeau has no such device.", {}),
    "nnpack": ("NNPACK: flambeau convolves with its own kernels.", {"enabled": True}),
    "openmp": ("OpenMP: flambeau has a pool of its own.", {}),
    "opt_einsum": (
        "opt_einsum: flambeau's `einsum` contracts from left to right.",
        {"enabled": False, "strategy": None},
    ),
}


def _never():
    """Whether it can be used: never."""
    return False


def _absent(name, why, switches):
    made = _types.ModuleType(f"{__name__}.{name}", why)

    def flags(enabled=False, **others):
        """Sets switches for a `with` block or a function."""
        if unknown := others.keys() - switches:
            raise TypeError(f"flags() got an unexpected keyword argument '{unknown.pop()}'")
        return _during(vars(made), enabled=enabled, **others)

    vars(made).update(switches, is_available=_never, **({"flags": flags} if switches else {}))
    globals()[name] = _sys.modules[made.__name__] = made


for _name, _about in _ABSENT.items():
    _absent(_name, *_about)
globals()["mps"].is_built = _never
globals()["opt_einsum"].get_opt_einsum = lambda: None
_enable, _is_enabled = cuda._switch("fused")
vars(globals()["mha"]).update(set_fastpath_enabled=_enable, get_fastpath_enabled=_is_enabled)
