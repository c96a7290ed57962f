"""`torch.accelerator`: the GPU if there is one. Its memory functions take any device here, the cpu
and simulated ones too, so that a program reports memory in one way wherever it runs."""

import os

from . import cpu, cuda
from ._gen import api
from ._memory import of_device as _of_device
from ._types import device as _device

is_available, device_count, synchronize = cuda.is_available, cuda.device_count, cuda.synchronize
current_device_index = current_device_idx = cuda.current_device
set_device_index = set_device_idx = cuda.set_device
current_stream, set_stream, device_index = cuda.current_stream, cuda.set_stream, cuda.device
get_memory_info, empty_cache = cuda.mem_get_info, cuda.empty_cache


def current_accelerator(check_available=False):
    """The kind of GPU that is there; None without one."""
    return _device("cuda") if cuda.is_available() else None


def get_device_module(device=None):
    """The module of a kind of device, such as `torch.cuda`; by default the GPU's where there is
    one."""
    kind = "cuda" if cuda.is_available() else "cpu"
    kind = kind if device is None else _device(device).type
    if kind not in ("cpu", "cuda"):
        raise RuntimeError(
            f"Device '{kind}' does not have a corresponding module registered as 'torch.{kind}'."
        )
    return cuda if kind == "cuda" else cpu


def _any(device):
    """A device argument (None, number, string, device): numbers count GPUs, None is the current
    one."""
    return cuda._numbered(device) if device is None or isinstance(device, int) else _device(device)


globals().update(_of_device(_any, __name__))


def memory_timeline(path):
    """Writes an HTML page about the memory of every device: how much was in use over time, and who
    held it at the peak, by module, op and shape. What it shows was recorded since
    `torch.cuda.memory._record_memory_history()`."""
    api.memory_timeline(os.fspath(path))
