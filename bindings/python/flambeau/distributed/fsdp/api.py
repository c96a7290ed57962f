"""`torch.distributed.fsdp.api`: the options of FullyShardedDataParallel."""

from ._first_form import *  # noqa: F403
from ._first_form import __all__  # noqa: F401
