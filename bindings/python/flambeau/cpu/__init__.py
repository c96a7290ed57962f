"""The cpu as a kind of device: what programs ask of any of them."""

import importlib as _importlib


def is_available():
    """True."""
    return True


def device_count():
    """1: all cores together."""
    return 1


def synchronize(device=None):
    """Nothing: operations on the cpu are done when they return."""


def is_initialized():
    """True."""
    return True


def current_device():
    """Its name: there is one."""
    return "cpu"


def set_device(device):
    """Nothing: there is one."""


def __getattr__(name):
    if name == "amp":
        return _importlib.import_module(".amp", __name__)
    raise AttributeError(f"module 'torch.cpu' has no attribute '{name}' in flambeau")
