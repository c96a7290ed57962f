"""`torch.nn.functional`: the generated functions, and the few that are compositions of them."""

from .._gen import ops as _ops

globals().update(_ops.FUNCTIONAL)


def softmin(input, dim=None, dtype=None):
    """`softmax(-input)`."""
    return _ops.FUNCTIONAL["softmax"](-input, dim, dtype=dtype)


def __getattr__(name):
    raise AttributeError(f"module 'torch.nn.functional' has no attribute '{name}' in flambeau")
