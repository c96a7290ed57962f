"""`torch.distributed.fsdp`: modules whose parameters lie over the ranks."""

from ..._on_demand import loader as _loader
from ._first_form import (
    BackwardPrefetch,
    CPUOffload,
    FullOptimStateDictConfig,
    FullStateDictConfig,
    LocalOptimStateDictConfig,
    LocalStateDictConfig,
    MixedPrecision,
    OptimStateDictConfig,
    ShardedOptimStateDictConfig,
    ShardedStateDictConfig,
    ShardingStrategy,
    StateDictConfig,
    StateDictType,
)
from ._fully_shard import FSDPModule, UnshardHandle, fully_shard, register_fsdp_forward_method
from ._policies import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy
from .fully_sharded_data_parallel import FullyShardedDataParallel

__all__ = (
    "BackwardPrefetch CPUOffload CPUOffloadPolicy FSDPModule FullOptimStateDictConfig "
    "FullStateDictConfig FullyShardedDataParallel LocalOptimStateDictConfig LocalStateDictConfig "
    "MixedPrecision MixedPrecisionPolicy OffloadPolicy OptimStateDictConfig "
    "ShardedOptimStateDictConfig ShardedStateDictConfig ShardingStrategy StateDictConfig "
    "StateDictType UnshardHandle fully_shard register_fsdp_forward_method"
).split()
__getattr__ = _loader(globals(), {}, "wrap")
