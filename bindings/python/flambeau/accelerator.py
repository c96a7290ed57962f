"""`torch.accelerator`: the GPU if there is one."""

from . import cuda
from ._types import device


def is_available():
    """Whether there is a GPU."""
    return cuda.is_available()


def current_accelerator(check_available=False):
    """The kind of GPU that is there; None without one."""
    return device("cuda") if cuda.is_available() else None


def device_count():
    """How many GPUs there are."""
    return cuda.device_count()


def current_device_index():
    """Number of the current GPU."""
    return cuda.current_device()


def synchronize(device=None):
    """Waits for the work on a GPU."""
    cuda.synchronize(device)
