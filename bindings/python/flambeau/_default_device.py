"""The device that creation functions take where none is named: set for good, or for a `with`
block."""

from ._gen import api

_outer = []


def push(device):
    """Enters `with device:`."""
    _outer.append(api.get_default_device())
    api.set_default_device(device)


def pop():
    """Leaves it."""
    api.set_default_device(_outer.pop())


def set_default_device(device):
    """The device for tensors made from here on; None means the cpu."""
    api.set_default_device("cpu" if device is None else device)


def get_default_device():
    """The device for tensors made where none is named."""
    return api.get_default_device()
