"""Modules on several devices: `DataParallel` in one process, `DistributedDataParallel` over a group
of processes, and the steps that both are made of."""

from . import comm  # noqa: F401, torch.nn.parallel.comm
from .data_parallel import DataParallel, data_parallel
from .distributed import DistributedDataParallel
from .parallel_apply import parallel_apply
from .replicate import replicate
from .scatter_gather import gather, scatter, scatter_kwargs

__all__ = (
    "DataParallel DistributedDataParallel data_parallel gather parallel_apply replicate scatter "
    "scatter_kwargs"
).split()
