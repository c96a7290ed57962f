"""`torch.distributed.tensor.parallel`: layers whose weights lie over the ranks."""

from .... import _refused
from .api import parallelize_module
from .style import (
    ColwiseParallel,
    ParallelStyle,
    PrepareModuleInput,
    PrepareModuleOutput,
    RowwiseParallel,
    SequenceParallel,
)

__all__ = (
    "ColwiseParallel ParallelStyle PrepareModuleInput PrepareModuleOutput RowwiseParallel "
    "SequenceParallel parallelize_module"
).split()
globals().update(
    _refused.names(
        "torch.distributed.tensor.parallel",
        "PrepareModuleInputOutput loss_parallel",
        "full_tensor() gives a DTensor of logits whole to the loss",
    )
)
