"""Modules whose parameters are not initialised, for programs that write them next."""

import inspect

from ..init import skipped
from ..modules import Module


def skip_init(module_cls, *args, **kwargs):
    """`module_cls(*args, **kwargs)` whose parameters and buffers hold whatever their memory held,
    so far as it uses `nn.init`."""
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    with skipped():
        return module_cls(*args, **kwargs)
