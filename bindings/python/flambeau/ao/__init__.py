"""`torch.ao`: of it, the names of quantization that models mention."""

import importlib as _importlib


def __getattr__(name):
    if name == "quantization":
        return _importlib.import_module("." + name, __name__)
    raise AttributeError(f"module 'torch.ao' has no attribute '{name}' in flambeau")
