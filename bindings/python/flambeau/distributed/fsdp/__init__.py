"""`torch.distributed.fsdp`: modules whose parameters lie over the ranks."""

from ... import _refused
from ..._on_demand import loader as _loader
from ...nn.parameter import Parameter
from . import _first_form
from ._first_form import *  # noqa: F403
from ._fully_shard import fully_shard, register_fsdp_forward_method
from ._module import FSDPModule, UnshardHandle, share_comm_ctx
from ._optim_states import OptimStateKeyType
from ._policies import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy
from .fully_sharded_data_parallel import FullyShardedDataParallel

FlatParameter = _refused.kind(
    "torch.distributed.fsdp",
    "FlatParameter",
    "each parameter of FullyShardedDataParallel is a DTensor, none of them a part of a flat one",
    Parameter,
)
__all__ = [
    *_first_form.__all__,
    *"CPUOffloadPolicy FSDPModule FullyShardedDataParallel MixedPrecisionPolicy".split(),
    *"OffloadPolicy OptimStateKeyType UnshardHandle fully_shard".split(),
    *"register_fsdp_forward_method share_comm_ctx".split(),
]
__getattr__ = _loader(globals(), {}, "api sharded_grad_scaler wrap")
