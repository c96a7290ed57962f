"""`torch.distributed.constants`: how long calls may take where nobody says it."""

from ._group import _NCCL_TIMEOUT as default_pg_nccl_timeout
from ._group import default_pg_timeout

__all__ = ["default_pg_nccl_timeout", "default_pg_timeout"]
