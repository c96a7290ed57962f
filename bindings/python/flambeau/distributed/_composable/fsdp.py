"""`torch.distributed.fsdp` as far as it is functions, by its old name."""

from ..fsdp import *  # noqa: F403
