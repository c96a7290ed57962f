"""`torch._subclasses.fake_tensor`, where packages import from."""

from . import FakeTensor, FakeTensorMode

__all__ = ["FakeTensor", "FakeTensorMode", "is_fake"]


def is_fake(x):
    """Whether a tensor stands for one without memory: none does."""
    return False
