"""`torch.distributed.tensor.parallel`: layers whose weights lie over the ranks."""

from .... import _refused
from .api import parallelize_module
from .loss import loss_parallel
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
    "SequenceParallel loss_parallel parallelize_module"
).split()
globals().update(
    _refused.names(
        "torch.distributed.tensor.parallel",
        "PrepareModuleInputOutput",
        "PrepareModuleInput and PrepareModuleOutput lay a module's inputs and outputs",
    )
)
