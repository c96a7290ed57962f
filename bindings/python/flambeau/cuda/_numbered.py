"""What a `device` argument of functions of GPUs means."""

from .._gen import api
from .._types import device as _device


def numbered(device):
    """A device argument (None, number, string, device) as a cuda device with its number."""
    found = _device("cuda") if device is None else _device(device)
    if found.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {found}")
    return api.device_current("cuda") if found.index is None else found
