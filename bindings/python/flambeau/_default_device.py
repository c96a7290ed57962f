"""The device that creation functions take where none is named: set for good, or for a `with`
block."""

from ._gen import api
from ._types import device as device_type

_outer = []


def _enter(self):
    before = api.get_default_device()
    api.set_default_device(self)
    _outer.append(before)
    return self


def _exit(self, *exc):
    api.set_default_device(_outer.pop())


device_type.__enter__, device_type.__exit__ = _enter, _exit


def set_default_device(device):
    """The device for tensors made from here on; None means the cpu."""
    api.set_default_device("cpu" if device is None else device)


def get_default_device():
    """The device for tensors made where none is named."""
    return api.get_default_device()
