"""What `FullyShardedDataParallel` is told: how parameters lie, in which dtypes, what a state dict
holds."""

import enum
from dataclasses import dataclass

from ... import _refused
from ..._types import dtype

__all__ = (
    "BackwardPrefetch CPUOffload FullOptimStateDictConfig FullStateDictConfig "
    "LocalOptimStateDictConfig LocalStateDictConfig MixedPrecision OptimStateDictConfig "
    "ShardedOptimStateDictConfig ShardedStateDictConfig ShardingStrategy StateDictConfig "
    "StateDictSettings StateDictType"
).split()


class ShardingStrategy(enum.Enum):
    """Parameters in parts between forward and backward, or whole there; copies of the parts."""

    FULL_SHARD = enum.auto()
    SHARD_GRAD_OP = enum.auto()
    NO_SHARD = enum.auto()
    HYBRID_SHARD = enum.auto()
    _HYBRID_SHARD_ZERO2 = enum.auto()


class BackwardPrefetch(enum.Enum):
    """When backward gathers the next parameters; either way they are ahead by one module."""

    BACKWARD_PRE = enum.auto()
    BACKWARD_POST = enum.auto()


@dataclass
class MixedPrecision:
    """Dtypes of gathered parameters, of the reduction (by default the same) and of buffers."""

    param_dtype: dtype | None = None
    reduce_dtype: dtype | None = None
    buffer_dtype: dtype | None = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True


@dataclass
class CPUOffload:
    """Whether the parts are in host memory."""

    offload_params: bool = False


class StateDictType(enum.Enum):
    """Whole tensors, or DTensors."""

    FULL_STATE_DICT = enum.auto()
    LOCAL_STATE_DICT = enum.auto()
    SHARDED_STATE_DICT = enum.auto()


@dataclass
class StateDictConfig:
    """Whether the tensors are moved to host memory."""

    offload_to_cpu: bool = False


@dataclass
class FullStateDictConfig(StateDictConfig):
    """Whole tensors, on rank 0 only where asked; the others' state dicts are empty."""

    rank0_only: bool = False


@dataclass
class ShardedStateDictConfig(StateDictConfig):
    """DTensors."""


@dataclass
class OptimStateDictConfig:
    """Whether an optimizer's tensors are moved to host memory."""

    offload_to_cpu: bool = True


@dataclass
class FullOptimStateDictConfig(OptimStateDictConfig):
    """Whole tensors, on rank 0 only where asked."""

    rank0_only: bool = False


@dataclass
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    """DTensors."""


@dataclass
class StateDictSettings:
    """What `set_state_dict_type` says of a wrapper's state dicts."""

    state_dict_type: StateDictType
    state_dict_config: StateDictConfig
    optim_state_dict_config: OptimStateDictConfig


WRAPPERS = "_fsdp_wrapped_module", "_checkpoint_wrapped_module"  # that states do not name
LOCAL_WHY = "parameters are DTensors; SHARDED_STATE_DICT and ShardedStateDictConfig have them"
_WORDS = "LocalStateDictConfig(StateDictConfig) LocalOptimStateDictConfig(OptimStateDictConfig)"
_BASES = {"StateDictConfig": StateDictConfig, "OptimStateDictConfig": OptimStateDictConfig}
globals().update(_refused.names("torch.distributed.fsdp", _WORDS, LOCAL_WHY, **_BASES))
