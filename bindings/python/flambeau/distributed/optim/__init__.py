"""`torch.distributed.optim`: optimizers whose state is spread over the ranks."""

from ... import _refused
from .zero_redundancy_optimizer import ZeroRedundancyOptimizer

globals().update(
    _refused.names(
        "torch.distributed.optim",
        "DistributedOptimizer PostLocalSGDOptimizer",
        "parameters of other ranks are not reached by RPC; ZeroRedundancyOptimizer spreads the "
        "state of an optimizer over the ranks",
    )
)
