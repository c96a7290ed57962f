"""`torch.nn.functional`: the generated functions, and the few that are compositions of them."""

from .._gen import ops as _ops

globals().update(_ops.FUNCTIONAL)


def softmin(input, dim=None, dtype=None):
    """`softmax(-input)`."""
    return _ops.FUNCTIONAL["softmax"](-input, dim, dtype=dtype)


def max_pool2d(
    input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False
):
    """Greatest element of each window; where it was (`return_indices`) is not computed."""
    if return_indices:
        raise NotImplementedError("max_pool2d: return_indices=True is not supported")
    pool = _ops.FUNCTIONAL["max_pool2d"]
    return pool(input, kernel_size, stride, padding, dilation, ceil_mode)


def __getattr__(name):
    raise AttributeError(f"module 'torch.nn.functional' has no attribute '{name}' in flambeau")
