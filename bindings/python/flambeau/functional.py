"""`torch.functional`: functions of `torch` under the name of the module that PyTorch keeps them
in; programs import it, or a name from it."""

from . import _torch

__all__ = (
    "atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes broadcast_tensors cartesian_prod "
    "cdist chain_matmul einsum meshgrid norm split tensordot unique unique_consecutive"
).split()
globals().update({name: getattr(_torch, name) for name in __all__})
