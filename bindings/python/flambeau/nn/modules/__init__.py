"""All module classes, under the names PyTorch gives them."""

import importlib as _importlib
import sys as _sys

from ..._on_demand import own as _own
from . import _places, utils
from .module import Module

_PARTS = (
    "adaptive batchnorm container conv instancenorm lazy linear loss margin multihead padding "
    "pooling rnn shape simple sparse transformer upsampling weighted"
).split()
_HIDDEN = {"NonDynamicallyQuantizableLinear"}  # torch does not show it in torch.nn either
_found = {"Module": Module}
for _part in _PARTS:
    _part = _importlib.import_module("." + _part, __name__)
    _found |= {
        name: value
        for name, value in {**_own(_part), **getattr(_part, "CLASSES", {})}.items()
        if isinstance(value, type) and issubclass(value, Module) and name not in _HIDDEN
    }
globals().update(_found)

__all__ = sorted(_found)
_places.install(_sys.modules[__name__], _found)
