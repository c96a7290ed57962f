"""`torch.distributed.fsdp`: modules whose parameters lie over the ranks."""

from ... import _refused
from ...nn.modules.module import Module
from ._fully_shard import FSDPModule, UnshardHandle, fully_shard, register_fsdp_forward_method
from ._policies import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy

__all__ = (
    "CPUOffloadPolicy FSDPModule MixedPrecisionPolicy OffloadPolicy UnshardHandle fully_shard "
    "register_fsdp_forward_method"
).split()
globals().update(
    _refused.names(
        "torch.distributed.fsdp",
        "CPUOffload FullyShardedDataParallel(Module) MixedPrecision ShardingStrategy StateDictType",
        "fully_shard does what FullyShardedDataParallel did, for the same module",
        Module=Module,
    )
)
