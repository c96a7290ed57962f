"""`torch.distributed.optim`: optimizers whose state is spread over the ranks, or whose ranks train
apart for some steps."""

from ... import _refused
from .post_localSGD_optimizer import PostLocalSGDOptimizer
from .zero_redundancy_optimizer import ZeroRedundancyOptimizer

globals().update(
    _refused.names(
        "torch.distributed.optim",
        "DistributedOptimizer",
        "parameters of other ranks are not reached by RPC; ZeroRedundancyOptimizer spreads the "
        "state of an optimizer over the ranks",
    )
)
