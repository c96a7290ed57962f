"""Weights in safetensors files, under the names of the `safetensors.torch` package.

The library reads and writes the format itself, so C, Rust and Python programs share these files.
Writing goes beside the destination and renames, so that a failure leaves what was there.
"""

import os

from ._gen import api

__all__ = ["load_file", "save_file"]


def save_file(tensors, filename):
    """Writes a dict of names and tensors; the name must end with `.safetensors`."""
    filename = os.fspath(filename)
    if not filename.endswith(".safetensors"):
        raise ValueError(f"save_file: {filename!r} does not end with .safetensors; use torch.save")
    state = api.state_new()
    for name, tensor in tensors.items():
        api.state_set(state, name, tensor)
    api.save(state, filename)


def load_file(filename, device="cpu"):
    """A dict of the names and tensors in a file, on a device."""
    state = api.load(os.fspath(filename), device)
    return {
        api.state_name(state, i): api.state_tensor(state, i) for i in range(api.state_size(state))
    }
