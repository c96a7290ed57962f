"""`torch.distributed.nn`: collectives that autograd sees. Modules on other ranks are
unsupported."""

from ... import _refused
from ...nn.modules.module import Module
from . import functional
from .functional import (
    all_gather,
    all_reduce,
    all_to_all,
    all_to_all_single,
    broadcast,
    gather,
    reduce,
    reduce_scatter,
    scatter,
)

globals().update(
    _refused.names(
        "torch.distributed.nn",
        "RemoteModule(Module)",
        "there is no RPC; nn.parallel.DistributedDataParallel trains a module on all ranks",
        Module=Module,
    )
)
