"""`torch.distributed._composable`: functions that change a module and leave its class."""

from ..fsdp import fully_shard
from .replicate import replicate

__all__ = ["fully_shard", "replicate"]
