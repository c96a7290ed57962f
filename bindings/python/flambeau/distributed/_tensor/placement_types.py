"""`torch.distributed.tensor.placement_types` by its old name."""

from ..tensor.placement_types import *  # noqa: F403
