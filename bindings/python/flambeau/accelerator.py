"""`torch.accelerator`: the GPU if there is one. Its memory functions take any device here, the cpu
and simulated ones too, so that a program reports memory in one way wherever it runs."""

from . import cuda
from ._gen import api
from ._types import device as _device


def is_available():
    """Whether there is a GPU."""
    return cuda.is_available()


def current_accelerator(check_available=False):
    """The kind of GPU that is there; None without one."""
    return _device("cuda") if cuda.is_available() else None


def device_count():
    """How many GPUs there are."""
    return cuda.device_count()


def current_device_index():
    """Number of the current GPU."""
    return cuda.current_device()


current_device_idx = current_device_index


def set_device_index(device, /):
    """Makes a GPU this thread's current one."""
    cuda.set_device(device)


set_device_idx = set_device_index
device_index = cuda.device


def current_stream(device=None, /):
    """The current stream of a GPU."""
    return cuda.current_stream(device)


def set_stream(stream):
    """Makes a stream the current one of its GPU."""
    cuda.set_stream(stream)


def get_memory_info(device=None, /):
    """(free, total) bytes of a GPU, as its driver says."""
    return cuda.mem_get_info(device)


def synchronize(device=None):
    """Waits for the work on a GPU."""
    cuda.synchronize(device)


def _any(device):
    """A device argument (None, number, string, device): numbers count GPUs, None is the current
    one."""
    return cuda._numbered(device) if device is None or isinstance(device, int) else _device(device)


def memory_allocated(device=None, /):
    """Bytes that tensors use."""
    return api.memory_allocated(_any(device))


def max_memory_allocated(device=None, /):
    """The most bytes that tensors used since the last reset."""
    return api.memory_max_allocated(_any(device))


def memory_reserved(device=None, /):
    """Bytes that the cache holds, in use or not."""
    return api.memory_reserved(_any(device))


def max_memory_reserved(device=None, /):
    """The most bytes that the cache held since the last reset."""
    return api.memory_max_reserved(_any(device))


def memory_timeline(path):
    """Writes an HTML page about the memory of every device: how much was in use over time, and who
    held it at the peak, by module, op and shape. What it shows was recorded since
    `torch.cuda.memory._record_memory_history()`."""
    import os

    api.memory_timeline(os.fspath(path))


def memory_stats(device=None, /):
    """Every statistic by its key, such as "allocated_bytes.all.peak"."""
    import json

    return json.loads(api.memory_stats(_any(device)) or "{}")


def memory_summary(device=None, /, abbreviated=False):
    """The statistics as a table for people."""
    return api.memory_summary(_any(device), abbreviated)


def reset_peak_memory_stats(device=None, /):
    """Lets the peaks start again from what is in use now."""
    api.memory_reset_peak_stats(_any(device))


def reset_accumulated_memory_stats(device=None, /):
    """Lets the totals start again from 0."""
    api.memory_reset_accumulated_stats(_any(device))


def empty_cache():
    """Gives cached memory that no tensor uses back to the devices."""
    cuda.empty_cache()
