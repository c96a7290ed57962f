"""`torch.distributed._tensor`: `torch.distributed.tensor` by its old name."""

from .. import tensor as _new
from ..tensor import *  # noqa: F403

__all__ = _new.__all__
