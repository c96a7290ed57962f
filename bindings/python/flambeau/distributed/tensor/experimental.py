"""`torch.distributed.tensor.experimental`: plain tensors beside DTensors, and functions of
parts."""

from contextlib import contextmanager

from ... import _refused
from ._local_map import local_map
from ._rules import Implicit

globals().update(
    _refused.names(
        "torch.distributed.tensor.experimental",
        "context_parallel register_sharding",
        "which operations act on parts is fixed; local_map runs a function of parts",
    )
)
__all__ = ["implicit_replication", "local_map"]


@contextmanager
def implicit_replication():
    """Within, plain tensors beside DTensors count as whole and alike on every rank."""
    Implicit.depth += 1
    try:
        yield
    finally:
        Implicit.depth -= 1
