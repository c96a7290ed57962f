"""`torch.distributed.tensor.experimental` by its old name."""

from ..tensor.experimental import *  # noqa: F403
