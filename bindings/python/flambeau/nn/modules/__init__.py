"""All module classes, under the names PyTorch gives them."""

import sys as _sys

from . import (
    _places,
    adaptive,
    batchnorm,
    container,
    conv,
    instancenorm,
    lazy,
    linear,
    loss,
    margin,
    multihead,
    padding,
    pooling,
    rnn,
    shape,
    simple,
    sparse,
    transformer,
    upsampling,
    utils,
    weighted,
)
from .module import Module

_PARTS = (
    adaptive,
    batchnorm,
    container,
    conv,
    instancenorm,
    lazy,
    linear,
    loss,
    margin,
    multihead,
    rnn,
    shape,
    sparse,
    transformer,
    upsampling,
    weighted,
)
_HIDDEN = {"NonDynamicallyQuantizableLinear"}  # torch does not show it in torch.nn either
_found = {"Module": Module}
for _part in _PARTS:
    _found |= {
        name: value
        for name, value in vars(_part).items()
        if isinstance(value, type)
        and issubclass(value, Module)
        and value.__module__ == _part.__name__
        and not name.startswith("_")
        and name not in _HIDDEN
    }
for _part in padding, pooling, simple:
    _found |= _part.CLASSES
globals().update(_found)

__all__ = sorted(_found)
_places.install(_sys.modules[__name__], _found)
