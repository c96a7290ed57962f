"""`torch.distributed.algorithms.ddp_comm_hooks.ddp_zero_hook`: steps of an optimizer inside of a
backward, unsupported, by name."""

from .... import _refused

_NAMES = "hook_with_zero_step hook_with_zero_step_interleaved"
__all__ = _NAMES.split()
globals().update(
    _refused.names(
        "torch.distributed.algorithms.ddp_comm_hooks.ddp_zero_hook",
        _NAMES,
        "ZeroRedundancyOptimizer steps when it is told to; fully_shard spreads gradients and "
        "parameters as well, while backward goes on",
    )
)
