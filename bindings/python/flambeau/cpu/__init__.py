"""The cpu as a kind of device: what programs ask of any of them."""

from .._on_demand import loader as _loader


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


__getattr__ = _loader(globals(), {}, "amp")
